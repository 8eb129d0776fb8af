#include "tensor/layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace toy {
namespace {

constexpr uint64_t k_most_bytes = uint64_t{1} << 62;

}  // namespace

int64_t Layout::dim(int i) const {
    if (i < -4 || i >= rank) failure("axis {} of a tensor of shape {}", i, describe_shape(*this));
    if (i < 0) return ne[static_cast<size_t>(-i - 1)];
    return ne[static_cast<size_t>(rank - 1 - i)];
}

size_t Layout::bytes() const {
    for (int64_t n : ne) {
        if (n == 0) return 0;
    }
    const int64_t block = block_elements(type);
    size_t total = block == 1 ? block_bytes(type) + static_cast<size_t>(ne[0] - 1) * nb[0]
                              : static_cast<size_t>(ne[0] / block) * nb[0];
    for (size_t i = 1; i < 4; ++i) total += static_cast<size_t>(ne[i] - 1) * nb[i];
    return total;
}

bool Layout::has_packed_rows() const { return nb[0] == block_bytes(type); }

bool Layout::is_contiguous_beyond_rows() const {
    return nb[2] == nb[1] * static_cast<size_t>(ne[1]) && nb[3] == nb[2] * static_cast<size_t>(ne[2]);
}

bool Layout::is_contiguous() const {
    // The stride of an axis of length 1 is never used, so it does not count (as in ggml).
    size_t expected = block_bytes(type);
    if (ne[0] != block_elements(type) && nb[0] != expected) return false;
    expected *= static_cast<size_t>(ne[0] / block_elements(type));
    for (size_t i = 1; i < 4; ++i) {
        if (ne[i] == 1) continue;
        if (nb[i] != expected) return false;
        expected *= static_cast<size_t>(ne[i]);
    }
    return true;
}

std::string describe_shape(const Layout& layout) {
    std::string text = "[";
    for (int i = 0; i < layout.rank; ++i) text += fmt::format("{}{}", i ? ", " : "", layout.dim(i));
    return text + "]";
}

std::string Layout::describe() const { return fmt::format("{} {}", name(type), describe_shape(*this)); }

bool Layout::overlaps_itself() const {
    std::array<std::pair<size_t, size_t>, 4> axes;  // stride, steps
    for (size_t i = 0; i < 4; ++i) {
        axes[i] = {nb[i], static_cast<size_t>(std::max<int64_t>(i == 0 ? ne[0] / block_elements(type) : ne[i], 1)) - 1};
    }
    std::sort(axes.begin(), axes.end());
    size_t reach = block_bytes(type);
    for (const auto& [stride, steps] : axes) {
        if (steps == 0) continue;
        if (stride < reach) return true;
        reach += stride * steps;
    }
    return false;
}

Layout packed(DType type, std::initializer_list<int64_t> dims) {
    const int rank = static_cast<int>(dims.size());
    if (rank < 1 || rank > 4) failure("a tensor has 1 to 4 axes, not {}", rank);
    std::array<int64_t, 4> ne{1, 1, 1, 1};
    size_t axis = dims.size();
    for (int64_t n : dims) ne[--axis] = n;
    return packed_ne(type, rank, ne);
}

Layout packed_ne(DType type, int rank, std::array<int64_t, 4> ne) {
    Layout layout{type, rank, ne, {}};
    const int64_t block = block_elements(type);
    for (int64_t n : ne) {
        if (n < 0) bad_input("a tensor cannot have the shape {}", describe_shape(layout));
    }
    if (ne[0] % block != 0) {
        bad_input("a row of {} elements is not a whole number of {} blocks of {}", ne[0], name(type), block);
    }
    uint64_t stride = block_bytes(type);
    layout.nb[0] = stride;
    uint64_t size = stride * static_cast<uint64_t>(block);  // at least the bytes and at least the elements
    for (size_t i = 0; i < 4; ++i) {
        // Axes of length 0 count as 1, so that no product of some of the axes overflows either.
        const auto extent = static_cast<uint64_t>(std::max<int64_t>(ne[i], 1));
        if (__builtin_mul_overflow(size, extent, &size) || size > k_most_bytes) {
            bad_input("a tensor of type {} and shape {} is larger than memory", name(type), describe_shape(layout));
        }
        if (i == 3) break;
        stride *= static_cast<uint64_t>(i == 0 ? ne[0] / block : ne[i]);
        layout.nb[i + 1] = stride;
    }
    return layout;
}

Layout with_plain_strides(Layout layout) {
    if (layout.ne[0] == block_elements(layout.type)) layout.nb[0] = block_bytes(layout.type);
    size_t stride = layout.nb[0] * static_cast<size_t>(layout.ne[0] / block_elements(layout.type));
    for (size_t i = 1; i < 4; ++i) {
        if (layout.ne[i] == 1) layout.nb[i] = stride;
        stride = layout.nb[i] * static_cast<size_t>(layout.ne[i]);
    }
    return layout;
}

size_t add_bytes(size_t total, const Layout& layout) {
    const size_t bytes = layout.bytes();
    if (total > k_most_bytes || bytes > k_most_bytes - total) bad_input("the tensors are larger than memory");
    return total + bytes;
}

Layout packed_like(const Layout& layout, DType type) { return packed_ne(type, layout.rank, layout.ne); }

}  // namespace toy
