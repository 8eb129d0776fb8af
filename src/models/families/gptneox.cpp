// GPT-NeoX and Pythia.
//
// What is unusual about it: attention and feed-forward each read a layer norm of x (not of x plus attention), and both
// are added to it, unless use_parallel_residual is false; a quarter of each head is rotated; one matrix holds Q, K and
// V. The original uses GELU's erf form; GGUF files mean the tanh form, as llama.cpp computes it.

#include "models/family.h"

namespace toy {
namespace {

Spec read(const SpecKeys& keys) {
    Spec s = read_common(keys, Rope::Order::neox);
    read_norm(keys, Norm::Kind::layer, s);
    s.activation = FeedForward::Activation::gelu;
    s.gate = FeedForward::Gate::none;
    s.residual = keys.flag("use_parallel_residual") ? Residual::parallel : Residual::sequential;
    return s;
}

}  // namespace

extern const Family k_gptneox;
const Family k_gptneox{"gptneox", "GPT-NeoX-20B, Pythia", read};

}  // namespace toy
