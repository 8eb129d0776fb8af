#pragma once
#include <cstdint>
#include <vector>

struct ggml_tensor;

/// Products of gradients with weights of any type, which are widened to float32 piece by piece, and the products of
/// routed experts, for custom CPU nodes.
namespace toy::kernels {

/// out [.., T, K] = dy [.., T, N]·w [.., N, K].
void multiply_widened(ggml_tensor* out, const ggml_tensor* dy, const ggml_tensor* w, int ith, int nth);

/// out [T, U, K]: row (t, u) is dy[t, u]·w[ids[t, u]].
void experts_input(ggml_tensor* out, const ggml_tensor* w, const ggml_tensor* dy, const ggml_tensor* ids, int ith,
                   int nth);

/// out [E, N, K]: for each expert the sum of dy[t, u]ᵀ·x[t, u] over the rows that chose it; x [T, 1 or U, K].
void experts_weight(ggml_tensor* out, const ggml_tensor* dy, const ggml_tensor* x, const ggml_tensor* ids, int ith,
                    int nth);

}  // namespace toy::kernels
