#pragma once
#include "nn/feed_forward.h"

namespace toy {

/// How a router turns its scores into a choice of experts and their weights.
struct Routing {
    enum class Gate {
        softmax,            ///< over all experts, then the choice
        sigmoid,            ///< of each score (DeepSeek-V3)
        softmax_of_chosen,  ///< the choice by score, then softmax over the chosen
    };
    Gate gate = Gate::softmax;
    int64_t used = 0;            ///< U, experts for each token
    bool is_normalised = false;  ///< the weights of the chosen are divided by their sum
    float scale = 1.0f;          ///< of the weights
    bool operator==(const Routing&) const = default;
};

/// A mixture of E experts (arXiv 1701.06538), each a gated feed-forward, of which every token uses U; and a shared one
/// that all use (arXiv 2401.06066).
struct Experts {
    Linear ffn_gate_inp;   ///< the router, [E, D]
    Tensor exp_probs_b;    ///< [E] added to the gates for the choice alone, or absent (arXiv 2408.15664)
    Linear ffn_gate_exps;  ///< [E, F, D]
    Linear ffn_up_exps;    ///< [E, F, D]
    Linear ffn_down_exps;  ///< [E, D, F]
    Routing routing;
    FeedForward::Activation activation = FeedForward::Activation::silu;
    FeedForward shared;         ///< ffn_*_shexp, or absent
    Linear ffn_gate_inp_shexp;  ///< [D]: sigmoid of its product with x scales the shared expert (Qwen2-MoE), or absent
};

/// Σ weight·expert(x) over the chosen experts, plus the shared one: [T, D] -> [T, D].
Tensor experts(Operand x, const Experts& e);

}  // namespace toy
