// Falcon 7B.
//
// What is unusual about it: attention and feed-forward read the same layer norm of x, and both results are added to it;
// all heads share one key and value head; no map has a bias. In Falcon 40B attention has a norm of its own
// (attn_norm_2). The original uses GELU's erf form; GGUF files mean the tanh form, as llama.cpp computes it.

#include "models/family.h"

namespace toy {
namespace {

Spec read(const SpecKeys& keys) {
    Spec s = read_common(keys, Rope::Order::neox);
    read_norm(keys, Norm::Kind::layer, s);
    s.activation = FeedForward::Activation::gelu;
    s.gate = FeedForward::Gate::none;
    s.has_ffn_norm = false;
    s.residual = Residual::parallel_shared;
    return s;
}

}  // namespace

extern const Family k_falcon;
const Family k_falcon{"falcon", "Falcon 7B", read};

}  // namespace toy
