#pragma once
#include <string>

#include "models/spec.h"

namespace toy {

namespace detail {

template <class E, class Visit>
void experts_fields(E& e, const Visit& visit) {
    auto& [count, width, shared_width, has_shared_gate, has_selection_bias, leading_dense, routing] = e;
    auto& [gate, used, is_normalised, scale] = routing;
    visit("experts.count", count);
    visit("experts.width", width);
    visit("experts.shared_width", shared_width);
    visit("experts.has_shared_gate", has_shared_gate);
    visit("experts.has_selection_bias", has_selection_bias);
    visit("experts.leading_dense", leading_dense);
    visit("experts.routing.gate", gate);
    visit("experts.routing.used", used);
    visit("experts.routing.is_normalised", is_normalised);
    visit("experts.routing.scale", scale);
}

template <class N, class Visit>
void state_space_fields(N& n, const Visit& visit) {
    auto& [version, inner, state, kernel, heads, groups, dt_rank, has_weightless_norms] = n;
    visit("state_space.version", version);
    visit("state_space.inner", inner);
    visit("state_space.state", state);
    visit("state_space.kernel", kernel);
    visit("state_space.heads", heads);
    visit("state_space.groups", groups);
    visit("state_space.dt_rank", dt_rank);
    visit("state_space.has_weightless_norms", has_weightless_norms);
}

template <class L, class Visit>
void layer_fields(L& layer, const std::string& prefix, const Visit& visit) {
    auto& [window, rope] = layer;
    auto& [order, dims, base, frequency_scale, ext_factor, attn_factor, beta_fast, beta_slow, original_context] = rope;
    visit(prefix + "window", window);
    visit(prefix + "rope.order", order);
    visit(prefix + "rope.dims", dims);
    visit(prefix + "rope.base", base);
    visit(prefix + "rope.frequency_scale", frequency_scale);
    visit(prefix + "rope.ext_factor", ext_factor);
    visit(prefix + "rope.attn_factor", attn_factor);
    visit(prefix + "rope.beta_fast", beta_fast);
    visit(prefix + "rope.beta_slow", beta_slow);
    visit(prefix + "rope.original_context", original_context);
}

}  // namespace detail

/// Calls visit(name, field) for every field of a Spec, those of its parts too ("experts.width", "layer[0].window"). The
/// decompositions name all of them, so a field that is missing here does not compile. S is Spec or const Spec.
template <class S, class Visit>
void for_each_field(S& s, const Visit& visit) {
    auto& [architecture, name, vocabulary, width, layers, heads, kv_heads, head_size, value_size, ffn_width, context,
           norm, eps, is_causal, token_types, has_position_embd, has_embd_norm, has_attn_norm, has_ffn_norm,
           has_post_norms, has_sum_norms, residual, has_joint_qkv, has_qkv_bias, has_output_bias, qk_norm,
           attention_scale, attention_softcap, layer, latent, state_space, activation, gate, has_ffn_bias, experts,
           has_rope_factors, has_long_rope_factors, has_output_norm, has_head, is_tied, has_head_bias, pooling,
           embed_scale, residual_scale, logit_scale, final_softcap] = s;
    visit("architecture", architecture);
    visit("name", name);
    visit("vocabulary", vocabulary);
    visit("width", width);
    visit("layers", layers);
    visit("heads", heads);
    visit("kv_heads", kv_heads);
    visit("head_size", head_size);
    visit("value_size", value_size);
    visit("ffn_width", ffn_width);
    visit("context", context);
    visit("norm", norm);
    visit("eps", eps);
    visit("is_causal", is_causal);
    visit("token_types", token_types);
    visit("has_position_embd", has_position_embd);
    visit("has_embd_norm", has_embd_norm);
    visit("has_attn_norm", has_attn_norm);
    visit("has_ffn_norm", has_ffn_norm);
    visit("has_post_norms", has_post_norms);
    visit("has_sum_norms", has_sum_norms);
    visit("residual", residual);
    visit("has_joint_qkv", has_joint_qkv);
    visit("has_qkv_bias", has_qkv_bias);
    visit("has_output_bias", has_output_bias);
    visit("qk_norm", qk_norm);
    visit("attention_scale", attention_scale);
    visit("attention_softcap", attention_softcap);
    visit("activation", activation);
    visit("gate", gate);
    visit("has_ffn_bias", has_ffn_bias);
    visit("has_rope_factors", has_rope_factors);
    visit("has_long_rope_factors", has_long_rope_factors);
    visit("has_output_norm", has_output_norm);
    visit("has_head", has_head);
    visit("is_tied", is_tied);
    visit("has_head_bias", has_head_bias);
    visit("pooling", pooling);
    visit("embed_scale", embed_scale);
    visit("residual_scale", residual_scale);
    visit("logit_scale", logit_scale);
    visit("final_softcap", final_softcap);
    auto& [rank, query_rank, plain_size] = latent;
    visit("latent.rank", rank);
    visit("latent.query_rank", query_rank);
    visit("latent.plain_size", plain_size);
    detail::experts_fields(experts, visit);
    detail::state_space_fields(state_space, visit);
    for (size_t i = 0; i < layer.size(); ++i) {
        detail::layer_fields(layer[i], "layer[" + std::to_string(i) + "].", visit);
    }
}

}  // namespace toy
