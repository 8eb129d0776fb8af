#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

struct ggml_tensor;

/// Sums over repeated axes, over rows that share a number, and slices joined, for custom CPU nodes. Operands are f32
/// and packed; every element of a result is summed by one thread in a fixed order.
namespace toy::kernels {

/// out (+)= x summed over the axes along which out is shorter.
void sum_repeated(ggml_tensor* out, const ggml_tensor* x, bool adds, int ith, int nth);

/// Rows of x [.., T, D] added at ids i32 [.., T] of out [.., V, D], which is zeroed before unless `adds`.
void add_rows(ggml_tensor* out, const ggml_tensor* x, const ggml_tensor* ids, bool adds, int ith, int nth);

/// Slices put along one axis (ggml's) of out, zeros where there are none: in[i] starts at starts[i], ascending.
void join(ggml_tensor* out, size_t axis, std::span<const int64_t> starts, int ith, int nth);

/// out = 0 but for what x adds at the byte offsets that the strides give it; places may coincide. One thread.
void add_view(ggml_tensor* out, const ggml_tensor* x, const std::array<size_t, 4>& strides, size_t offset);

}  // namespace toy::kernels
