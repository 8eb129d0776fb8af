// Qwen1.5-MoE and Qwen2-MoE.
//
// What is unusual about it: beside the routed experts every token goes through a shared one, scaled by a sigmoid gate
// of its own. The weights of the chosen experts are not normalised: they sum to less than 1.

#include "models/family.h"

namespace toy {
namespace {

Spec read(const SpecKeys& keys) {
    Spec s = read_common(keys, Rope::Order::neox);
    read_norm(keys, Norm::Kind::rms, s);
    read_experts(keys, {Routing::Gate::softmax, 0, false, 1.0f}, s);
    require_experts(keys, s);
    s.experts.has_shared_gate = true;
    if (s.experts.shared_width == 0) s.experts.shared_width = s.ffn_width;
    if (!keys.has("expert_feed_forward_length")) s.experts.width = s.ffn_width / s.experts.routing.used;
    return s;
}

}  // namespace

extern const Family k_qwen2moe;
const Family k_qwen2moe{"qwen2moe", "Qwen1.5-MoE, Qwen2-57B-A14B", read};

}  // namespace toy
