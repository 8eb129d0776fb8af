#pragma once
#include <cstdint>

struct ggml_tensor;

/// Optimizer steps and what they need, as custom CPU nodes over f32, packed tensors.
namespace toy::kernels {

/// AdamW (arXiv 1711.05101): numbers of one step.
struct AdamW {
    float rate, beta1, beta2, eps, decay;
    float correction1, correction2;  ///< 1/(1 − β₁ᵗ), 1/(1 − β₂ᵗ)
    float gradient_scale;            ///< the gradient is multiplied by it first
};

/// Steps w, m and v in place.
void adamw(ggml_tensor* w, const ggml_tensor* gradient, ggml_tensor* m, ggml_tensor* v, const AdamW& how, int ith,
           int nth);

/// Elements whose squares are summed together: a number of its own for each, so that sums do not depend on threads.
constexpr int64_t k_squares_block = 1 << 16;
/// out [blocks] = Σ x² over each block.
void sum_squares(ggml_tensor* out, const ggml_tensor* x, int ith, int nth);

}  // namespace toy::kernels
