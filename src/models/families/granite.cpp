// Granite 3, dense and with experts.
//
// What is unusual about it: four multipliers, of the embeddings, of the attention scores (in place of 1/√d), of what
// each half adds, and of the logits, which are *divided* by logit_scale. rope.scaling.finetuned = false means that
// nothing is rotated. The weights of the chosen experts are normalised; a shared expert has no gate.

#include "models/family.h"

namespace toy {
namespace {

Spec read(const SpecKeys& keys) {
    Spec s = read_common(keys, Rope::Order::normal);
    read_norm(keys, Norm::Kind::rms, s);
    s.logit_scale = 1.0f / keys.positive("logit_scale");
    s.residual_scale = keys.positive_or("residual_scale", 1.0f);
    s.embed_scale = keys.positive_or("embedding_scale", 1.0f);
    if (!keys.flag_or("rope.scaling.finetuned", true)) {
        for (LayerSpec& layer : s.layer) layer.rope.order = Rope::Order::none;
    }
    return s;
}

Spec read_moe(const SpecKeys& keys) {
    Spec s = read(keys);
    read_experts(keys, {Routing::Gate::softmax, 0, true, 1.0f}, s);
    require_experts(keys, s);
    return s;
}

}  // namespace

extern const Family k_granite, k_granitemoe;
const Family k_granite{"granite", "Granite 3", read};
const Family k_granitemoe{"granitemoe", "Granite 3 MoE", read_moe};

}  // namespace toy
