#pragma once
#include "nn/linear.h"

namespace toy {

/// A feed-forward, gated (arXiv 2002.05202) or plain.
struct FeedForward {
    enum class Activation {
        silu,
        gelu,      ///< tanh form
        gelu_erf,  ///< the exact one
    };
    enum class Gate {
        none,
        separate,
        in_up,  ///< ffn_up holds the gate's rows, then its own: [2F, D] (Phi-3)
    };
    Linear ffn_gate;  ///< [F, D], or absent
    Linear ffn_up;    ///< [F, D]
    Linear ffn_down;  ///< [D, F]
    Activation activation = Activation::silu;
    Gate gate = Gate::separate;
};

/// act(gate)·up elementwise.
Tensor gated(FeedForward::Activation activation, Operand gate, Tensor up);

/// down(act(gate·x) ⊙ up·x), or down(act(up·x)) without a gate: [T, D] -> [T, D].
Tensor feed_forward(Operand x, const FeedForward& f);

}  // namespace toy
