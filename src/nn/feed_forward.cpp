#include "nn/feed_forward.h"

#include "tensor/graph.h"

namespace toy {
namespace {

using Activation = FeedForward::Activation;

Tensor activate(Activation activation, Operand x) {
    switch (activation) {
        case Activation::silu: return silu(x);
        case Activation::gelu: return gelu(x);
        case Activation::gelu_erf: break;
    }
    return gelu_erf(x);
}

Tensor inner(Operand x, const FeedForward& f) {
    if (f.gate == FeedForward::Gate::none)
        return named(activate(f.activation, linear(f.ffn_up, x)), "ffn_act");  // [T, F]
    if (f.gate == FeedForward::Gate::in_up) {
        const Tensor both = linear(f.ffn_up, x);  // [T, 2F]
        const int64_t width = both.dim(-1) / 2;
        return gated(f.activation, named(slice(both, -1, 0, width), "ffn_gate"), slice(both, -1, width, width));
    }
    const auto [gate, up] = project(x, {f.ffn_gate, f.ffn_up});  // [T, F], [T, F]
    return gated(f.activation, gate, up);
}

}  // namespace

Tensor gated(Activation activation, Operand gate, Tensor up) {
    if (gate.tensor.graph()->is_fusing() && activation == Activation::silu) return named(swiglu(gate, up), "ffn_gated");
    if (gate.tensor.graph()->is_fusing() && activation == Activation::gelu) return named(geglu(gate, up), "ffn_gated");
    return named(named(activate(activation, gate), "ffn_act") * up, "ffn_gated");
}

Tensor feed_forward(Operand x, const FeedForward& f) {
    const Scope scope(x.tensor, "feed_forward");
    return linear(f.ffn_down, inner(x, f));  // [T, D]
}

}  // namespace toy
