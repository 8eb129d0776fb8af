#pragma once
#include "nn/linear.h"

namespace toy {

/// A gated feed-forward (arXiv 2002.05202).
struct FeedForward {
    enum class Activation { silu, gelu };
    Linear ffn_gate;  ///< [F, D]
    Linear ffn_up;    ///< [F, D]
    Linear ffn_down;  ///< [D, F]
    Activation activation = Activation::silu;
};

/// down(act(gate·x) ⊙ up·x): [T, D] -> [T, D].
Tensor feed_forward(Operand x, const FeedForward& f);

}  // namespace toy
