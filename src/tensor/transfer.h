#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace toy {

/// Copies bytes into a parameter or an input, or a packed view of one, from byte `offset` of it on. Throws Error where
/// the tensor has no storage yet, is read-only or not packed, where the bytes do not fit, or where a row index is out
/// of range.
void write(Tensor target, std::span<const std::byte> bytes, size_t offset = 0);
/// Values of the tensor's own type.
void write(Tensor target, std::span<const float> values);
void write(Tensor target, std::span<const int32_t> values);
void write(Tensor target, std::span<const int64_t> values);
/// float32 values converted to the tensor's type, from row `first_row` on (rows numbered over all slower axes), in
/// chunks of rows. The tensor may be any view.
void write_f32(Tensor target, std::span<const float> values, int64_t first_row = 0);

/// Sets all bytes of a packed parameter or input to zero.
void clear(Tensor target);

/// Throws Error where present values of a tensor that serve as row indices are out of range.
void check_indices(Tensor tensor);

/// Copies `bytes.size()` bytes out of a packed tensor, from byte `offset` on.
void read(Tensor source, std::span<std::byte> bytes, size_t offset = 0);
/// All values as float32 in row-major order; the tensor may be any view. Integer types convert exactly up to 2^24.
std::vector<float> read_f32(Tensor source);
/// `count` rows from `first_row` on (rows numbered over all slower axes).
std::vector<float> read_rows_f32(Tensor source, int64_t first_row, int64_t count);
/// All values of an i32 tensor in row-major order.
std::vector<int32_t> read_i32(Tensor source);

/// Minimum, maximum, mean, mean of absolute values, L2 norm and the counts of NaN and of infinite values, over the
/// finite values, of a tensor's present values.
struct Statistics {
    int64_t count = 0, nan_count = 0, infinite_count = 0;
    double min = 0, max = 0, mean = 0, abs_mean = 0, l2 = 0;
};
Statistics statistics(Tensor source);

}  // namespace toy
