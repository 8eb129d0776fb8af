// DeepSeek-V2 and V2-Lite.
//
// What is unusual about it: latent attention (arXiv 2405.04434): a token leaves one latent row and one rotated key for
// all heads. Its files come in two layouts, with the two halves of the expansion apart (attn_k_b, attn_v_b) or in one
// (attn_kv_b). Rope is YaRN's, whose magnitude goes into the scale of the scores, squared, instead of into the
// rotation. The first block is dense, the others have routed and shared experts.

#include <cmath>

#include "core/error.h"
#include "models/family.h"

namespace toy {
namespace {

// Sizes of a head: n that is not rotated, r that is, dv of values.
void read_latent(const SpecKeys& keys, Spec& s) {
    s.latent.rank = keys.size("attention.kv_lora_rank");
    s.latent.query_rank = keys.has_tensor("blk.0.attn_q_a.weight") ? keys.size("attention.q_lora_rank") : 0;
    s.head_size = keys.has("attention.key_length_mla") ? keys.size("attention.key_length_mla")
                                                       : keys.size("attention.key_length");
    s.value_size = keys.has("attention.value_length_mla") ? keys.size("attention.value_length_mla")
                                                          : keys.size("attention.value_length");
    const Rope rope = read_rope(keys, Rope::Order::normal, s.head_size, s.context);
    for (LayerSpec& layer : s.layer) layer.rope = rope;
    s.latent.plain_size = s.head_size - rope.dims;
    if (s.latent.plain_size < 1) {
        bad_input("{}: heads of {} elements are rotated as a whole ({}), which leaves nothing for the latent part",
                  keys.origin(), s.head_size, keys.full("rope.dimension_count"));
    }
}

// m = 1 + 0.1·mscale_all_dim·ln(factor), squared; the file holds 0.1·mscale_all_dim. rope() would multiply by
// 1 + 0.1·ln(factor), which is taken back.
void read_scale(const SpecKeys& keys, Spec& s) {
    s.attention_scale = 1.0f / std::sqrt(static_cast<float>(s.head_size));
    const float multiplier = keys.number_or("rope.scaling.yarn_log_multiplier", 0.0f);
    const Rope& rope = s.layer.front().rope;
    if (rope.ext_factor == 0.0f) return;
    const float log_factor = std::log(1.0f / rope.frequency_scale);
    const float m = 1.0f + multiplier * log_factor;
    s.attention_scale *= m * m;
    if (multiplier == 0.0f) return;
    for (LayerSpec& layer : s.layer) layer.rope.attn_factor /= 1.0f + 0.1f * log_factor;
}

Spec read(const SpecKeys& keys) {
    Spec s = read_sizes(keys);
    read_norm(keys, Norm::Kind::rms, s);
    s.heads = keys.uniform_size("attention.head_count");
    s.kv_heads = 1;
    s.ffn_width = keys.uniform_size_or("feed_forward_length", 0);
    read_latent(keys, s);
    read_scale(keys, s);
    const int64_t gate = keys.count_or("expert_gating_func", 1);
    if (gate != 1 && gate != 2) {
        bad_input("{}: {} is {}; 1 (softmax) and 2 (sigmoid) are known", keys.origin(), keys.full("expert_gating_func"),
                  gate);
    }
    read_experts(keys,
                 {gate == 2 ? Routing::Gate::sigmoid : Routing::Gate::softmax, 0,
                  keys.flag_or("expert_weights_norm", false), 1.0f},
                 s);
    s.experts.leading_dense = keys.count_or("leading_dense_block_count", 0);
    s.experts.shared_width = keys.count_or("expert_shared_count", 0) * s.experts.width;
    const int64_t first_routed = s.experts.leading_dense;
    s.experts.has_selection_bias = keys.has_tensor("blk." + std::to_string(first_routed) + ".exp_probs_b.bias");
    return s;
}

}  // namespace

extern const Family k_deepseek2;
const Family k_deepseek2{"deepseek2", "DeepSeek-V2, DeepSeek-V2-Lite", read};

}  // namespace toy
