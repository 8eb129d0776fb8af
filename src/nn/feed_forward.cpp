#include "nn/feed_forward.h"

#include "tensor/graph.h"

namespace toy {

Tensor feed_forward(Operand x, const FeedForward& f) {
    const Scope scope(x.tensor, "feed_forward");
    const auto [gate, up] = project(x, {f.ffn_gate, f.ffn_up});  // [T, F], [T, F]
    const bool is_silu = f.activation == FeedForward::Activation::silu;
    return linear(f.ffn_down, is_silu ? swiglu(gate, up) : geglu(gate, up));  // [T, D]
}

}  // namespace toy
