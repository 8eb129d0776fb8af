// StarCoder2.
//
// What is unusual about it: layer norms and biases everywhere, and a feed-forward without gate, as GPT-2, but rope and
// grouped heads, as Llama. Files do not state the window of 4096 that the models were trained with.

#include "models/family.h"

namespace toy {
namespace {

Spec read(const SpecKeys& keys) {
    Spec s = read_common(keys, Rope::Order::neox);
    read_norm(keys, Norm::Kind::layer, s);
    read_windows(keys, 0, 0, s);
    s.activation = FeedForward::Activation::gelu;
    s.gate = FeedForward::Gate::none;
    return s;
}

}  // namespace

extern const Family k_starcoder2;
const Family k_starcoder2{"starcoder2", "StarCoder2", read};

}  // namespace toy
