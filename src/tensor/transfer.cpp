#include "tensor/transfer.h"

#include <ggml-backend.h>
#include <ggml.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "tensor/graph.h"
#include "tensor/params.h"

namespace toy {
namespace {

constexpr size_t k_chunk_bytes = size_t{1} << 20;  // conversions go through buffers of about this size

std::string label(Tensor tensor) { return tensor.name().empty() ? "a tensor" : "'" + tensor.name() + "'"; }

ggml_tensor* stored(Tensor tensor) {
    ggml_tensor* storage = tensor.storage();
    if (storage == nullptr ||
        (storage->data == nullptr && storage->buffer == nullptr && tensor.layout().elements() > 0)) {
        failure("{} has no memory yet: allocate first", label(tensor));
    }
    return storage;
}

// What is to be known of the leaf in whose memory a tensor lies.
struct Leaf {
    bool is_one = true;  // not the result of an operation
    bool read_only = false;
    int64_t index_limit = 0;
};

Leaf leaf_of(Tensor tensor) {
    const Parameter* parameter = tensor.parameter();
    Leaf leaf;
    if (tensor.graph() != nullptr) {
        const Node* node = &tensor.graph()->node(tensor);
        if (node->base >= 0) node = &tensor.graph()->nodes()[static_cast<size_t>(node->base)];
        leaf.is_one = node->kind != Node::Kind::operation;
        leaf.index_limit = node->index_limit;
        parameter = node->parameter;
    }
    if (parameter != nullptr) {
        leaf.read_only = parameter->read_only;
        leaf.index_limit = parameter->index_limit;
    }
    return leaf;
}

ggml_tensor* writable(Tensor tensor, const Leaf& leaf) {
    if (leaf.read_only) bad_input("{} lies in a mapped file and cannot be written", label(tensor));
    ggml_tensor* storage = stored(tensor);
    if (!leaf.is_one) failure("{} is computed: only inputs and parameters can be written", label(tensor));
    return storage;
}

void check_size(Tensor tensor, size_t bytes, size_t offset) {
    const size_t size = tensor.layout().bytes();
    if (offset > size || bytes > size - offset) {
        bad_input("{} bytes at offset {} do not fit {} of {} bytes", bytes, offset, label(tensor), size);
    }
}

template <class Integer>
void check_values(Tensor tensor, std::span<const std::byte> bytes, int64_t first, int64_t limit) {
    for (size_t i = 0; i < bytes.size() / sizeof(Integer); ++i) {
        Integer value = 0;
        std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
        if (value < 0 || value >= limit) {
            bad_input("{}[{}] is {}, but indices must lie in 0..{}", label(tensor), first + static_cast<int64_t>(i),
                      value, limit - 1);
        }
    }
}

// Bytes that are about to become row indices, or are some.
void check_index_bytes(Tensor tensor, std::span<const std::byte> bytes, size_t offset, int64_t limit) {
    const size_t size = block_bytes(tensor.dtype());
    if (offset % size != 0 || bytes.size() % size != 0) {
        bad_input("{} holds row indices, which are written whole", label(tensor));
    }
    const auto first = static_cast<int64_t>(offset / size);
    if (tensor.dtype() == DType::I64) {
        check_values<int64_t>(tensor, bytes, first, limit);
    } else {
        check_values<int32_t>(tensor, bytes, first, limit);
    }
}

template <class Value>
void write_typed(Tensor target, std::span<const Value> values, DType type) {
    if (target.dtype() != type) {
        bad_input("{} holds {}, not {}", label(target), toy::name(target.dtype()), toy::name(type));
    }
    if (static_cast<int64_t>(values.size()) != target.layout().elements()) {
        bad_input("{} holds {} values, not {}", label(target), target.layout().elements(), values.size());
    }
    write(target, std::as_bytes(values));
}

void row_to_f32(DType type, const std::byte* source, float* target, int64_t n) {
    switch (type) {
        case DType::I32:
            for (int64_t i = 0; i < n; ++i) {
                int32_t value = 0;
                std::memcpy(&value, source + static_cast<size_t>(i) * sizeof value, sizeof value);
                target[i] = static_cast<float>(value);
            }
            break;
        case DType::I64:
            for (int64_t i = 0; i < n; ++i) {
                int64_t value = 0;
                std::memcpy(&value, source + static_cast<size_t>(i) * sizeof value, sizeof value);
                target[i] = static_cast<float>(value);
            }
            break;
        default: to_f32(type, source, target, n);
    }
}

// Calls piece(place in the row's bytes, place in the storage, size) for what lies together of row `row`, numbered over
// the slower axes.
template <class Piece>
void for_row(const Layout& layout, int64_t row, Piece piece) {
    const auto i1 = static_cast<size_t>(row % layout.ne[1]);
    const auto i2 = static_cast<size_t>(row / layout.ne[1] % layout.ne[2]);
    const auto i3 = static_cast<size_t>(row / layout.ne[1] / layout.ne[2]);
    const size_t start = i1 * layout.nb[1] + i2 * layout.nb[2] + i3 * layout.nb[3];
    if (layout.has_packed_rows()) {
        piece(size_t{0}, start, row_bytes(layout.type, layout.ne[0]));
        return;
    }
    const size_t size = block_bytes(layout.type);
    for (size_t i = 0; i < static_cast<size_t>(layout.ne[0]); ++i) piece(i * size, start + i * layout.nb[0], size);
}

void fetch_row(const ggml_tensor* storage, const Layout& layout, int64_t row, std::vector<std::byte>& bytes) {
    for_row(layout, row, [&](size_t at, size_t stored_at, size_t size) {
        ggml_backend_tensor_get(storage, bytes.data() + at, stored_at, size);
    });
}

void store_row(ggml_tensor* storage, const Layout& layout, int64_t row, const std::vector<uint8_t>& bytes) {
    for_row(layout, row, [&](size_t at, size_t stored_at, size_t size) {
        ggml_backend_tensor_set(storage, bytes.data() + at, stored_at, size);
    });
}

void check_rows(Tensor tensor, int64_t first, int64_t count) {
    const int64_t rows = tensor.layout().rows();
    if (first < 0 || count < 0 || count > rows || first > rows - count) {
        bad_input("{} has {} rows: there are no {} from row {} on", label(tensor), rows, count, first);
    }
}

}  // namespace

void write(Tensor target, std::span<const std::byte> bytes, size_t offset) {
    const Leaf leaf = leaf_of(target);
    ggml_tensor* storage = writable(target, leaf);
    if (!target.layout().is_contiguous()) failure("{} is not packed: write it by rows", label(target));
    check_size(target, bytes.size(), offset);
    if (leaf.index_limit != 0) check_index_bytes(target, bytes, offset, leaf.index_limit);
    if (!bytes.empty()) ggml_backend_tensor_set(storage, bytes.data(), offset, bytes.size());
}

void write(Tensor target, std::span<const float> values) { write_typed(target, values, DType::F32); }
void write(Tensor target, std::span<const int32_t> values) { write_typed(target, values, DType::I32); }
void write(Tensor target, std::span<const int64_t> values) { write_typed(target, values, DType::I64); }

void write_f32(Tensor target, std::span<const float> values, int64_t first_row) {
    const Layout& layout = target.layout();
    const int64_t columns = layout.ne[0];
    if (columns == 0 || static_cast<int64_t>(values.size()) % columns != 0) {
        bad_input("{} values are not whole rows of {}", values.size(), columns);
    }
    const auto count = static_cast<int64_t>(values.size()) / columns;
    check_rows(target, first_row, count);
    ggml_tensor* storage = writable(target, leaf_of(target));
    const bool packed = layout.is_contiguous();
    const auto fit = static_cast<int64_t>(k_chunk_bytes / sizeof(float)) / columns;
    const int64_t at_once = packed ? std::max<int64_t>(1, fit) : 1;
    for (int64_t done = 0; done < count; done += at_once) {
        const int64_t rows = std::min(at_once, count - done);
        const auto part = values.subspan(static_cast<size_t>(done * columns), static_cast<size_t>(rows * columns));
        const std::vector<uint8_t> bytes = from_f32(layout.type, part, columns);
        if (packed) {
            const size_t row = row_bytes(layout.type, columns);
            ggml_backend_tensor_set(storage, bytes.data(), static_cast<size_t>(first_row + done) * row, bytes.size());
        } else {
            store_row(storage, layout, first_row + done, bytes);
        }
    }
}

void clear(Tensor target) {
    ggml_tensor* storage = writable(target, leaf_of(target));
    if (!target.layout().is_contiguous()) failure("{} is a view with holes: it cannot be cleared", label(target));
    if (target.layout().elements() > 0) ggml_backend_tensor_memset(storage, 0, 0, target.layout().bytes());
}

void check_indices(Tensor tensor) {
    const Leaf leaf = leaf_of(tensor);
    if (leaf.index_limit == 0) return;
    std::vector<std::byte> bytes(tensor.layout().bytes());
    read(tensor, bytes);
    check_index_bytes(tensor, bytes, 0, leaf.index_limit);
}

void read(Tensor source, std::span<std::byte> bytes, size_t offset) {
    ggml_tensor* storage = stored(source);
    if (!source.layout().is_contiguous()) failure("{} is not packed: read it by rows", label(source));
    check_size(source, bytes.size(), offset);
    if (!bytes.empty()) ggml_backend_tensor_get(storage, bytes.data(), offset, bytes.size());
}

std::vector<float> read_f32(Tensor source) { return read_rows_f32(source, 0, source.layout().rows()); }

std::vector<float> read_rows_f32(Tensor source, int64_t first_row, int64_t count) {
    const Layout& layout = source.layout();
    const ggml_tensor* storage = stored(source);
    check_rows(source, first_row, count);
    std::vector<float> values(static_cast<size_t>(count * layout.ne[0]));
    if (values.empty()) return values;
    if (layout.type == DType::F32 && layout.is_contiguous()) {
        ggml_backend_tensor_get(storage, values.data(), static_cast<size_t>(first_row) * layout.nb[1],
                                values.size() * sizeof(float));
        return values;
    }
    std::vector<std::byte> bytes(row_bytes(layout.type, layout.ne[0]));
    for (int64_t i = 0; i < count; ++i) {
        fetch_row(storage, layout, first_row + i, bytes);
        row_to_f32(layout.type, bytes.data(), values.data() + i * layout.ne[0], layout.ne[0]);
    }
    return values;
}

std::vector<int32_t> read_i32(Tensor source) {
    if (source.dtype() != DType::I32) bad_input("{} holds {}, not i32", label(source), toy::name(source.dtype()));
    const Layout& layout = source.layout();
    std::vector<int32_t> values(static_cast<size_t>(layout.elements()));
    std::vector<std::byte> bytes(row_bytes(layout.type, layout.ne[0]));
    const ggml_tensor* storage = stored(source);
    for (int64_t row = 0; row < layout.rows() && !values.empty(); ++row) {
        fetch_row(storage, layout, row, bytes);
        std::memcpy(values.data() + row * layout.ne[0], bytes.data(), bytes.size());
    }
    return values;
}

Statistics statistics(Tensor source) {
    Statistics result;
    double sum = 0;
    double sum_abs = 0;
    double sum_squares = 0;
    int64_t finite = 0;
    for (float value : read_f32(source)) {
        ++result.count;
        if (std::isnan(value)) {
            ++result.nan_count;
        } else if (std::isinf(value)) {
            ++result.infinite_count;
        } else {
            result.min = finite == 0 ? value : std::min<double>(result.min, value);
            result.max = finite == 0 ? value : std::max<double>(result.max, value);
            ++finite;
            sum += value;
            sum_abs += std::abs(value);
            sum_squares += static_cast<double>(value) * value;
        }
    }
    if (finite > 0) {
        result.mean = sum / static_cast<double>(finite);
        result.abs_mean = sum_abs / static_cast<double>(finite);
    }
    result.l2 = std::sqrt(sum_squares);
    return result;
}

}  // namespace toy
