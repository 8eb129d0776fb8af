// GPT-2 and DistilGPT-2.
//
// What is unusual about it: positions are learned (position_embd.weight), nothing is rotated; layer norms and all
// linear maps have biases; one matrix holds Q, K and V; the feed-forward has no gate, and GELU in its tanh form.

#include "models/family.h"

namespace toy {
namespace {

Spec read(const SpecKeys& keys) {
    Spec s = read_common(keys, Rope::Order::none);
    read_norm(keys, Norm::Kind::layer, s);
    s.has_position_embd = true;
    s.activation = FeedForward::Activation::gelu;
    s.gate = FeedForward::Gate::none;
    return s;
}

}  // namespace

extern const Family k_gpt2;
const Family k_gpt2{"gpt2", "GPT-2, DistilGPT-2", read};

}  // namespace toy
