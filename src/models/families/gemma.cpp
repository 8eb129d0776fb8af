// Gemma 1, 2 and 3 (text).
//
// What is unusual about it: embeddings are multiplied by √D, the feed-forward's gate is GELU (tanh form), the head is
// always token_embd. The norms' weights are stored with 1 added, so they are used as they are. Gemma 2 adds norms
// before the residual sums, soft-caps of scores and logits, and a window in every other layer. Gemma 3 drops the caps,
// normalises queries and keys head by head, has a window in five of six layers, and rotates those with a base of their
// own and without scaling. The 27B models scale scores by 1/√(D/H); files do not say so, and as llama.cpp does we know
// them by their number of layers.

#include <cmath>

#include "models/family.h"

namespace toy {
namespace {

float inverse_root(int64_t n) { return 1.0f / std::sqrt(static_cast<float>(n)); }

Spec read(const SpecKeys& keys) {
    Spec s = read_common(keys, Rope::Order::neox);
    read_norm(keys, Norm::Kind::rms, s);
    s.embed_scale = std::sqrt(static_cast<float>(s.width));
    s.activation = FeedForward::Activation::gelu;
    return s;
}

Spec read_2(const SpecKeys& keys) {
    constexpr int64_t k_layers_of_27b = 46, k_default_window = 4096, k_period = 2;
    Spec s = read(keys);
    s.has_post_norms = true;
    s.attention_softcap = keys.number_or("attn_logit_softcapping", 50.0f);
    s.final_softcap = keys.number_or("final_logit_softcapping", 30.0f);
    read_windows(keys, k_period, k_default_window, s);
    for (LayerSpec& layer : s.layer) {
        if (layer.window > 0) layer.rope.base = keys.positive_or("rope.freq_base_swa", layer.rope.base);
    }
    if (s.layers == k_layers_of_27b) s.attention_scale = inverse_root(s.width / s.heads);
    return s;
}

Spec read_3(const SpecKeys& keys) {
    constexpr int64_t k_layers_of_27b = 62, k_period = 6;
    Spec s = read(keys);
    s.has_post_norms = true;
    s.qk_norm = QkNorm::per_head;
    s.final_softcap = keys.number_or("final_logit_softcapping", 0.0f);
    read_windows(keys, k_period, 0, s);
    const float local_base = keys.positive_or("rope.freq_base_swa", 10000.0f);
    for (LayerSpec& layer : s.layer) {
        if (layer.window == 0) continue;
        layer.rope.base = local_base;
        layer.rope.frequency_scale = 1.0f;
    }
    if (s.layers == k_layers_of_27b) s.attention_scale = inverse_root(s.width / s.heads);
    return s;
}

}  // namespace

extern const Family k_gemma, k_gemma2, k_gemma3;
const Family k_gemma{"gemma", "Gemma", read};
const Family k_gemma2{"gemma2", "Gemma 2", read_2};
const Family k_gemma3{"gemma3", "Gemma 3 (text)", read_3};

}  // namespace toy
