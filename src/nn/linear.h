#pragma once
#include <array>
#include <cstddef>
#include <vector>

#include "tensor/ops.h"

namespace toy {

/// A low-rank addition scale·B·A to a weight (LoRA, arXiv 2106.09685).
struct Adapter {
    Tensor a;  ///< [r, K]; of experts [E, r, K]
    Tensor b;  ///< [N, r]; of experts [E, N, r]
    float scale = 1.0f;
};

/// A linear map as GGUF stores it: weight [N, K] of any type, bias [N] or absent. Of experts: weight [E, N, K], bias
/// [E, N].
struct Linear {
    Tensor weight;
    Tensor bias;
    std::vector<Adapter> adapters;
    explicit operator bool() const { return static_cast<bool>(weight); }
};

/// x·(W + Σ scale·B·A)ᵀ + b: [T, K] -> [T, N]. With `project` and `linear_id` the only place where a Linear is applied.
Tensor linear(const Linear& w, Operand x);

/// The same by the experts that each token chose: x [T, 1 or U, K], ids i32 [T, U] -> [T, U, N].
Tensor linear_id(const Linear& w, Operand x, Tensor ids);

/// Several linear maps of one input, which is read once: x [T, K] -> {[T, N₁], [T, N₂], …}.
template <size_t N>
std::array<Tensor, N> project(Operand x, const Linear (&weights)[N]) {
    std::array<Tensor, N> results;
    for (size_t i = 0; i < N; ++i) results[i] = linear(weights[i], x);
    return results;
}

}  // namespace toy
