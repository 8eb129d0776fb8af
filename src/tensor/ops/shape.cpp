#include <fmt/ranges.h>
#include <ggml.h>

#include <algorithm>

#include "tensor/backward.h"
#include "tensor/gradient_ops.h"
#include "tensor/ops.h"
#include "tensor/ops/record.h"

namespace toy {
namespace {

// A gradient under the shape of what it is the gradient of.
Tensor shaped(Tensor x, const Layout& like);

struct Reshape : Op {
    Layout target;  // packed; only its shape counts
    explicit Reshape(const Layout& t) : target(t) {}

    std::string_view name() const override { return "reshape"; }
    Layout infer(std::span<const Layout> in) const override {
        require_packed(in[0], "x");
        if (in[0].elements() != target.elements()) {
            bad_input("{} has {} elements, {} has {}", describe_shape(in[0]), in[0].elements(), describe_shape(target),
                      target.elements());
        }
        return packed_ne(in[0].type, target.rank, target.ne);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_reshape_4d(to.context, in[0], target.ne[0], target.ne[1], target.ne[2], target.ne[3]);
    }
    int aliases() const override { return 0; }
    void pull_back(const Pullback& p) const override { p.give(0, shaped(p.dy(), p.in(0).layout())); }
};

// end += count·stride, or false where that wraps.
bool extend(uint64_t& end, uint64_t count, uint64_t stride) {
    uint64_t distance = 0;
    return !__builtin_mul_overflow(count, stride, &distance) && !__builtin_add_overflow(end, distance, &end);
}

// A view with given extents and strides (of axes 1, 2, 3) from a byte offset on; the element stride stays the source's.
struct View : Op {
    const char* label;
    int rank;
    std::array<int64_t, 4> ne;
    std::array<size_t, 4> nb;
    size_t offset;
    View(const char* l, int r, std::array<int64_t, 4> extents, std::array<size_t, 4> strides, size_t at)
        : label(l), rank(r), ne(extents), nb(strides), offset(at) {}

    std::string_view name() const override { return label; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout& x = in[0];
        Layout view{x.type, rank, ne, nb};
        const auto block = block_elements(x.type);
        if (std::any_of(ne.begin(), ne.end(), [](int64_t n) { return n < 1; })) {
            bad_input("a view cannot have the shape {}", describe_shape(view));
        }
        const size_t size = block_bytes(x.type);
        const bool whole = std::all_of(nb.begin(), nb.end(), [&](size_t stride) { return stride % size == 0; });
        if (ne[0] % block != 0 || offset % size != 0 || !whole) {
            bad_input("a view cannot cut through the blocks of {} elements in {} bytes of {}", block, size,
                      toy::name(x.type));
        }
        uint64_t end = offset;
        const bool fits =
            block == 1 ? extend(end, static_cast<uint64_t>(ne[0] - 1), nb[0]) && extend(end, 1, block_bytes(x.type))
                       : extend(end, static_cast<uint64_t>(ne[0] / block), nb[0]);
        bool inside = fits;
        for (size_t i = 1; i < 4; ++i) inside = inside && extend(end, static_cast<uint64_t>(ne[i] - 1), nb[i]);
        // Rows that overlap in part, which ggml's matrix product does not take.
        const size_t row = row_bytes(x.type, ne[0]);
        for (size_t i = 1; i < 4; ++i) inside = inside && (nb[0] != size || ne[i] == 1 || nb[i] >= row);
        // ggml compares the size that the view would have if it were packed, so rows that overlap need as much room.
        inside = inside && end <= x.bytes() && packed_ne(x.type, rank, ne).bytes() <= x.bytes() - offset;
        if (!inside)
            bad_input("a view of shape {} overlaps itself or reaches beyond {}", describe_shape(view), x.describe());
        return with_plain_strides(view);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_view_4d(to.context, in[0], ne[0], ne[1], ne[2], ne[3], nb[1], nb[2], nb[3], offset);
    }
    int aliases() const override { return 0; }
    // A slice along one axis, heads of a whole row, or any view of a packed tensor, whose elements may occur twice.
    void pull_back(const Pullback& p) const override {
        const Layout& x = p.in(0).layout();
        const Layout view = p.y().layout();
        if (is_slice_of(x)) {
            size_t axis = 0;
            while (axis < 3 && ne[axis] == x.ne[axis]) ++axis;
            p.give_slice(0, p.dy(), axis, static_cast<int64_t>(offset / x.nb[axis]));
        } else if (view.elements() == x.elements() && offset == 0 && has_order_of(x)) {
            p.give(0, shaped(p.dy(), x));
        } else {
            if (!x.is_contiguous())
                bad_input("the gradient of a view of a view is not there; make it contiguous first");
            p.give(0, view_back(contiguous(p.dy()), packed_like(x, DType::F32), {nb[0], nb[1], nb[2], nb[3]}, offset));
        }
    }
    // The same strides, and one axis that is shorter.
    bool is_slice_of(const Layout& x) const {
        int shorter = 0;
        size_t axis = 0;
        for (size_t i = 0; i < 4; ++i) {
            if (ne[i] == x.ne[i]) continue;
            ++shorter;
            axis = i;
        }
        for (size_t i = 0; i < 4; ++i) {
            if (ne[i] > 1 && nb[i] != x.nb[i]) return false;
        }
        return shorter == 1 && offset % x.nb[axis] == 0;
    }
    // Heads: rows cut into parts, whatever lies between rows.
    bool has_order_of(const Layout& x) const {
        return nb[0] == x.nb[0] && ne[0] * ne[1] == x.ne[0] && ne[2] == x.ne[1] && x.ne[2] == 1 && x.ne[3] == 1 &&
               nb[1] == nb[0] * static_cast<size_t>(ne[0]) && nb[2] == x.nb[1];
    }
};

struct Permute : Op {
    int rank;
    std::array<int, 4> target;  // ggml's: axis i of the source becomes axis target[i] of the result
    Permute(int r, std::array<int, 4> t) : rank(r), target(t) {}

    std::string_view name() const override { return "permute"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout& x = in[0];
        if (block_elements(x.type) > 1 && target[0] != 0) {
            bad_input("the last axis of {} holds blocks and must stay last", x.describe());
        }
        Layout result{x.type, rank, {}, {}};
        for (size_t i = 0; i < 4; ++i) {
            result.ne[static_cast<size_t>(target[i])] = x.ne[i];
            result.nb[static_cast<size_t>(target[i])] = x.nb[i];
        }
        return with_plain_strides(result);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_permute(to.context, in[0], target[0], target[1], target[2], target[3]);
    }
    int aliases() const override { return 0; }
    void pull_back(const Pullback& p) const override {
        std::array<int, 4> back{};
        for (size_t i = 0; i < 4; ++i) back[static_cast<size_t>(target[i])] = static_cast<int>(i);
        p.give(0, record(Permute(rank, back), {p.dy()}, std::source_location::current()));
    }
};

struct Contiguous : Op {
    std::string_view name() const override { return "contiguous"; }
    Layout infer(std::span<const Layout> in) const override {
        const DType type = in[0].type;
        const bool copyable = type == DType::F32 || type == DType::F16 || type == DType::BF16 || type == DType::I32 ||
                              in[0].has_packed_rows();
        if (!copyable) bad_input("{} cannot be copied element by element", in[0].describe());
        return packed_like(in[0], type);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_cont(to.context, in[0]);
    }
    void pull_back(const Pullback& p) const override { p.give(0, p.dy()); }
};

struct Concat : Op {
    size_t axis;  // ggml's
    explicit Concat(size_t a) : axis(a) {}

    std::string_view name() const override { return "concat"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout& x = in[0];
        const Layout& y = in[1];
        if (x.type != y.type) bad_input("cannot join {} with {}", x.describe(), y.describe());
        require_packed_rows(x, "x");
        require_packed_rows(y, "y");
        std::array<int64_t, 4> ne = x.ne;
        for (size_t i = 0; i < 4; ++i) {
            if (i != axis && x.ne[i] != y.ne[i]) {
                bad_input("{} and {} differ in another axis", describe_shape(x), describe_shape(y));
            }
        }
        ne[axis] += y.ne[axis];
        return packed_ne(x.type, std::max({x.rank, y.rank, static_cast<int>(axis) + 1}), ne);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_concat(to.context, in[0], in[1], static_cast<int>(axis));
    }
    void pull_back(const Pullback& p) const override {
        const int from_end = -static_cast<int>(axis) - 1;
        const int64_t first = p.in(0).layout().ne[axis], second = p.in(1).layout().ne[axis];
        if (p.wants(0)) p.give(0, slice(p.dy(), from_end, 0, first));
        if (p.wants(1)) p.give(1, slice(p.dy(), from_end, first, second));
    }
};

struct Repeat : Op {
    std::string_view name() const override { return "repeat"; }
    Layout infer(std::span<const Layout> in) const override {
        const DType type = in[0].type;
        if (type != DType::F32 && type != DType::I32 && type != DType::F16 && type != DType::BF16) {
            bad_input("x cannot be {}", in[0].describe());
        }
        require_packed_rows(in[0], "x");
        if (!repeats_into(in[0], in[1])) {
            bad_input("{} cannot be repeated to {}", describe_shape(in[0]), describe_shape(in[1]));
        }
        return packed_like(in[1], type);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_repeat(to.context, in[0], in[1]);
    }
    bool is_smooth(int source) const override { return source == 0; }
    void pull_back(const Pullback& p) const override { p.give_repeated(0, p.dy()); }
};

Tensor shaped(Tensor x, const Layout& like) {
    if (x.layout().same_shape(like)) return x;
    Layout target = packed_ne(DType::I8, like.rank, like.ne);
    return record(Reshape(target), {contiguous(x)}, std::source_location::current());
}

size_t ggml_axis(const Layout& layout, int axis) {
    const int from_end = axis < 0 ? -(axis + 1) : layout.rank - 1 - axis;
    if (from_end < 0 || from_end > 3) bad_input("{} has no axis {}", describe_shape(layout), axis);
    return static_cast<size_t>(from_end);
}

// One dimension of -1 stands for what is left.
Layout shape_for(const Layout& x, std::initializer_list<int64_t> dims) {
    std::array<int64_t, 4> ne{1, 1, 1, 1};
    int64_t known = 1;
    if (dims.size() < 1 || dims.size() > 4) bad_input("a shape has 1 to 4 axes, not {}", dims.size());
    for (int64_t n : dims) {
        if (n < -1 || (n > 0 && known > x.elements() / n)) bad_input("{} cannot take that shape", describe_shape(x));
        if (n > 0) known *= n;
    }
    size_t axis = dims.size();
    for (int64_t n : dims) ne[--axis] = n == -1 ? (known > 0 ? x.elements() / known : 0) : n;
    // Only the shape is used; i8 stands for any type, so that blocks do not matter here.
    return packed_ne(DType::I8, static_cast<int>(dims.size()), ne);
}

}  // namespace

Tensor reshape(Operand x, std::initializer_list<int64_t> dims) {
    return record(Reshape(shape_for(x.tensor.layout(), dims)), {x.tensor}, x.where);
}

Tensor heads(Operand x, int64_t n) {
    const Layout& in = x.tensor.layout();
    if (n < 1 || in.ne[0] % n != 0) bad_input("rows of {} cannot be cut into {} heads", in.ne[0], n);
    if (in.ne[2] != 1 || in.ne[3] != 1) bad_input("heads are cut from [T, n·d], not {}", describe_shape(in));
    const int64_t d = in.ne[0] / n;
    if (d % block_elements(in.type) != 0) bad_input("heads of {} cut through blocks of {}", d, name(in.type));
    const size_t head = row_bytes(in.type, d);
    return record(
        View("heads", 3, {d, n, in.ne[1], 1}, {in.nb[0], head, in.nb[1], in.nb[1] * static_cast<size_t>(in.ne[1])}, 0),
        {x.tensor}, x.where);
}

Tensor merge_heads(Operand x) {
    const Layout& in = x.tensor.layout();
    return reshape(x, {in.ne[2] * in.ne[3], in.ne[0] * in.ne[1]});
}

Tensor permute(Operand x, std::initializer_list<int> order) {
    const Layout& in = x.tensor.layout();
    const int rank = static_cast<int>(order.size());
    std::array<int, 4> target{0, 1, 2, 3};
    std::array<bool, 4> seen{};
    if (rank < in.rank || rank > 4) bad_input("{} axes given for {}", rank, describe_shape(in));
    int position = 0;
    for (int axis : order) {
        if (axis < 0 || axis >= rank || seen[static_cast<size_t>(axis)]) bad_input("the axes are no permutation");
        seen[static_cast<size_t>(axis)] = true;
        target[static_cast<size_t>(rank - 1 - axis)] = rank - 1 - position++;
    }
    return record(Permute(rank, target), {x.tensor}, x.where);
}

Tensor transpose(Operand x) {
    const int rank = std::max(2, x.tensor.rank());
    const Tensor turned = record(Permute(rank, {1, 0, 2, 3}), {x.tensor}, x.where);
    return contiguous({turned, x.where});
}

Tensor contiguous(Operand x) {
    // A row of one element counts as contiguous whatever its stride, but operators want packed rows all the same.
    if (x.tensor.layout().is_contiguous() && x.tensor.layout().has_packed_rows()) return x.tensor;
    return record(Contiguous(), {x.tensor}, x.where);
}

Tensor slice(Operand x, int axis, int64_t start, int64_t length) {
    const Layout& in = x.tensor.layout();
    const size_t cut = ggml_axis(in, axis);
    if (start < 0 || length < 1 || start > in.ne[cut] - length) {
        bad_input("{} has no {} elements from {} on along axis {}", describe_shape(in), length, start, axis);
    }
    if (start == 0 && length == in.ne[cut]) return x.tensor;
    const int64_t block = cut == 0 ? block_elements(in.type) : 1;
    if (start % block != 0) bad_input("a slice from {} cuts through a block of {}", start, name(in.type));
    std::array<int64_t, 4> ne = in.ne;
    ne[cut] = length;
    return record(View("slice", in.rank, ne, in.nb, static_cast<size_t>(start / block) * in.nb[cut]), {x.tensor},
                  x.where);
}

std::vector<Tensor> split(Operand x, const std::vector<int64_t>& sizes) {
    const int64_t whole = x.tensor.dim(-1);
    int64_t left = whole;
    for (int64_t size : sizes) {
        if (size < 1 || size > left) bad_input("a row of {} has no parts of {}", whole, fmt::join(sizes, ", "));
        left -= size;
    }
    if (left != 0) bad_input("parts of {} leave {} of the {} in a row", fmt::join(sizes, ", "), left, whole);
    std::vector<Tensor> parts;
    int64_t start = 0;
    for (int64_t size : sizes) {
        parts.push_back(slice(x, -1, start, size));
        start += size;
    }
    return parts;
}

Tensor concat(Operand x, Tensor y, int axis) {
    return record(Concat(ggml_axis(x.tensor.layout(), axis)), {x.tensor, y}, x.where);
}

Tensor repeat(Operand x, Tensor like) { return record(Repeat(), {x.tensor, like}, x.where); }

Tensor byte_view(Operand x, const std::vector<int64_t>& ne, const std::vector<size_t>& strides, size_t offset) {
    if (ne.empty() || ne.size() > 4 || strides.size() != ne.size() - 1) {
        bad_input("{} axes and {} strides make no view", ne.size(), strides.size());
    }
    const Layout& in = x.tensor.layout();
    std::array<int64_t, 4> extents{1, 1, 1, 1};
    std::copy(ne.begin(), ne.end(), extents.begin());
    if (ne[0] < 1 || ne[0] % block_elements(in.type) != 0) {
        bad_input("rows of {} cannot be cut from {}", ne[0], name(in.type));
    }
    std::array<size_t, 4> nb{in.nb[0], row_bytes(in.type, ne[0]), 0, 0};
    for (size_t i = 1; i < 4; ++i) {
        nb[i] = i <= strides.size() ? strides[i - 1]
                                    : nb[i - 1] * static_cast<size_t>(std::max<int64_t>(extents[i - 1], 1));
        if (i == 1 && strides.empty()) nb[1] = row_bytes(in.type, ne[0]);
    }
    return record(View("view", static_cast<int>(ne.size()), extents, nb, offset), {x.tensor}, x.where);
}

}  // namespace toy
