// Phi-3, Phi-3.5-mini, Phi-4-mini, Phi-4.
//
// What is unusual about it: one matrix holds Q, K and V, and ffn_up the gate's rows before its own. Long-context models
// have two sets of rope divisors, for sequences within the original context and beyond it (LongRoPE), and a magnitude
// for both. Phi-4-mini rotates three quarters of each head.

#include "models/family.h"

namespace toy {
namespace {

Spec read(const SpecKeys& keys) {
    Spec s = read_common(keys, Rope::Order::neox);
    read_norm(keys, Norm::Kind::rms, s);
    read_windows(keys, 0, 0, s);
    s.gate = FeedForward::Gate::in_up;
    return s;
}

}  // namespace

extern const Family k_phi3;
const Family k_phi3{"phi3", "Phi-3, Phi-3.5-mini, Phi-4-mini, Phi-4", read};

}  // namespace toy
