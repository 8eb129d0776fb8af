// Qwen3-MoE.
//
// What is unusual about it: Qwen3's attention with routed experts, whose weights are normalised; no shared expert.

#include "models/family.h"

namespace toy {
namespace {

Spec read(const SpecKeys& keys) {
    Spec s = read_common(keys, Rope::Order::neox);
    read_norm(keys, Norm::Kind::rms, s);
    s.qk_norm = QkNorm::per_head;
    read_experts(keys, {Routing::Gate::softmax, 0, true, 1.0f}, s);
    require_experts(keys, s);
    if (!keys.has("expert_feed_forward_length")) s.experts.width = s.ffn_width / s.experts.routing.used;
    return s;
}

}  // namespace

extern const Family k_qwen3moe;
const Family k_qwen3moe{"qwen3moe", "Qwen3-30B-A3B, Qwen3-235B-A22B", read};

}  // namespace toy
