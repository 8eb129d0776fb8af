// OLMoE.
//
// What is unusual about it: routed experts whose weights are not normalised; queries and keys are normalised over all
// heads at once.

#include "models/family.h"

namespace toy {
namespace {

Spec read(const SpecKeys& keys) {
    Spec s = read_common(keys, Rope::Order::neox);
    read_norm(keys, Norm::Kind::rms, s);
    s.qk_norm = QkNorm::full;
    read_experts(keys, {Routing::Gate::softmax, 0, false, 1.0f}, s);
    require_experts(keys, s);
    return s;
}

}  // namespace

extern const Family k_olmoe;
const Family k_olmoe{"olmoe", "OLMoE-1B-7B", read};

}  // namespace toy
