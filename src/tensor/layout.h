#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "tensor/dtype.h"

namespace toy {

/// Shape, type and strides of a tensor of 1 to 4 axes. toy speaks of shapes in row-major order, [T, D] being T rows of
/// D values; `ne` and `nb` hold the same in ggml's order, fastest axis first, padded with 1 to four axes.
struct Layout {
    DType type = DType::F32;
    int rank = 1;
    std::array<int64_t, 4> ne{1, 1, 1, 1};  ///< elements along each axis, ne[0] fastest
    std::array<size_t, 4> nb{};             ///< bytes from one index to the next along each axis

    /// Length of axis i in row-major order; negative counts from the end: dim(-1) is the fastest axis.
    /// Axes before the first are 1. Throws Error outside -4..rank-1.
    int64_t dim(int i) const;
    int64_t elements() const { return ne[0] * ne[1] * ne[2] * ne[3]; }
    int64_t rows() const { return ne[1] * ne[2] * ne[3]; }
    /// Bytes from the first element to the end of the last, holes of a view included.
    size_t bytes() const;

    bool is_contiguous() const;
    /// Each row (axis ne[0]) is packed, whatever lies between rows.
    bool has_packed_rows() const;
    /// Packed in the three slowest axes: a reshape that keeps ne[0] is possible.
    bool is_contiguous_beyond_rows() const;
    /// A fast axis slower than a slow one, as after a permutation.
    bool is_transposed() const { return nb[0] > nb[1]; }
    bool is_permuted() const { return nb[0] > nb[1] || nb[1] > nb[2] || nb[2] > nb[3]; }
    /// Whether two elements may lie at one place: some axis steps less than the axes with smaller strides reach.
    bool overlaps_itself() const;
    bool same_shape(const Layout& other) const { return ne == other.ne; }

    /// "f32 [2, 64]", row-major.
    std::string describe() const;
};

/// "[2, 64]", row-major, of the rank given.
std::string describe_shape(const Layout& layout);

/// total + layout.bytes(). Throws Error near the end of 64 bits, where ggml's allocator would wrap as it pads sizes.
size_t add_bytes(size_t total, const Layout& layout);

/// A packed layout; `dims` in row-major order, 1 to 4 of them. Throws Error where a dimension is negative, the last one
/// is no multiple of the type's block, or the byte size or the number of elements does not fit 62 bits.
Layout packed(DType type, std::initializer_list<int64_t> dims);
/// The same in ggml's order.
Layout packed_ne(DType type, int rank, std::array<int64_t, 4> ne);
/// The same layout, the strides that nothing uses (of axes of length 1) counted as if packed.
Layout with_plain_strides(Layout layout);
/// The same shape packed, with another type.
Layout packed_like(const Layout& layout, DType type);

}  // namespace toy
