#include "models/weights.h"

#include <fmt/format.h>

namespace toy {
namespace {

using Shape = std::vector<int64_t>;
using Use = WeightEntry::Use;

struct Table {
    std::vector<WeightEntry> entries;
    std::string prefix;  ///< "blk.3."

    void add(const std::string& name, Shape shape, Tensor& slot, Use use) {
        entries.push_back({prefix + name, std::move(shape), &slot, use, nullptr});
    }
    void add(const std::string& name, Shape shape, Linear& map, bool has_bias) {
        Shape bias = shape;
        bias.pop_back();
        add(name + ".weight", std::move(shape), map.weight, Use::matrix);
        entries.back().map = &map;
        if (has_bias) add(name + ".bias", std::move(bias), map.bias, Use::raw);
    }
    void add(const std::string& name, Shape shape, Norm& n, bool has_bias) {
        add(name + ".weight", shape, n.weight, Use::raw);
        if (has_bias) add(name + ".bias", std::move(shape), n.bias, Use::raw);
    }
};

void add_qk_norms(Table& t, const Spec& s, Attention& a) {
    switch (s.qk_norm) {
        case QkNorm::none: return;
        case QkNorm::per_head:
            t.add("attn_q_norm", {s.head_size}, a.attn_q_norm, false);
            return t.add("attn_k_norm", {s.head_size}, a.attn_k_norm, false);
        case QkNorm::per_head_own:
            t.add("attn_q_norm", {s.heads, s.head_size}, a.attn_q_norm, false);
            return t.add("attn_k_norm", {s.kv_heads, s.head_size}, a.attn_k_norm, false);
        case QkNorm::full:
            t.add("attn_q_norm", {s.heads * s.head_size}, a.attn_q_norm, false);
            return t.add("attn_k_norm", {s.kv_heads * s.head_size}, a.attn_k_norm, false);
    }
}

void add_mixer(Table& t, const Spec& s, Attention& a) {
    const int64_t q = s.heads * s.head_size, k = s.kv_heads * s.head_size, v = s.kv_heads * s.value_size;
    if (s.has_joint_qkv) {
        t.add("attn_qkv", {q + k + v, s.width}, a.attn_qkv, s.has_qkv_bias);
    } else {
        t.add("attn_q", {q, s.width}, a.attn_q, s.has_qkv_bias);
        t.add("attn_k", {k, s.width}, a.attn_k, s.has_qkv_bias);
        t.add("attn_v", {v, s.width}, a.attn_v, s.has_qkv_bias);
    }
    add_qk_norms(t, s, a);
    t.add("attn_output", {s.width, s.heads * s.value_size}, a.attn_output, s.has_output_bias);
}

void add_mixer(Table& t, const Spec& s, LatentAttention& a) {
    const int64_t heads = s.heads, plain = s.latent.plain_size, rotated = a.rotated_size, rank = s.latent.rank;
    if (s.latent.query_rank > 0) {
        t.add("attn_q_a", {s.latent.query_rank, s.width}, a.attn_q_a, false);
        t.add("attn_q_a_norm", {s.latent.query_rank}, a.attn_q_a_norm, false);
        t.add("attn_q_b", {heads * (plain + rotated), s.latent.query_rank}, a.attn_q_b, false);
    } else {
        t.add("attn_q", {heads * (plain + rotated), s.width}, a.attn_q, false);
    }
    t.add("attn_kv_a_mqa", {rank + rotated, s.width}, a.attn_kv_a_mqa, false);
    t.add("attn_kv_a_norm", {rank}, a.attn_kv_a_norm, false);
    t.add("attn_k_b.weight", {heads, rank, plain}, a.attn_k_b, Use::batch);
    t.add("attn_v_b.weight", {heads, s.value_size, rank}, a.attn_v_b, Use::batch);
    t.add("attn_output", {s.width, heads * s.value_size}, a.attn_output, false);
}

void add_mixer(Table& t, const Spec& s, StateSpace& m) {
    const StateSpaceSpec& n = s.state_space;
    if (n.version == 1) {
        t.add("ssm_in", {2 * n.inner, s.width}, m.ssm_in, false);
        t.add("ssm_x", {n.dt_rank + 2 * n.state, n.inner}, m.ssm_x, false);
        t.add("ssm_dt", {n.inner, n.dt_rank}, m.ssm_dt, true);
        t.add("ssm_a", {n.inner, n.state}, m.ssm_a, Use::raw);
        t.add("ssm_d", {n.inner}, m.ssm_d, Use::raw);
    } else {
        t.add("ssm_in", {n.inner + n.channels() + n.heads, s.width}, m.ssm_in, false);
        t.add("ssm_dt.bias", {n.heads}, m.ssm_dt.bias, Use::raw);
        t.add("ssm_a", {n.heads, 1}, m.ssm_a, Use::raw);
        t.add("ssm_d", {n.heads, 1}, m.ssm_d, Use::raw);
        t.add("ssm_norm", {n.groups, n.inner / n.groups}, m.ssm_norm, false);
    }
    t.add("ssm_conv1d.weight", {n.channels(), n.kernel}, m.ssm_conv1d.weight, Use::raw);
    t.add("ssm_conv1d.bias", {n.channels()}, m.ssm_conv1d.bias, Use::raw);
    t.add("ssm_out", {s.width, n.inner}, m.ssm_out, false);
}

void add_ffn(Table& t, const Spec& s, FeedForward& f, const std::string& suffix, int64_t width) {
    const bool has_bias = s.has_ffn_bias;
    const int64_t up = f.gate == FeedForward::Gate::in_up ? 2 * width : width;
    if (f.gate == FeedForward::Gate::separate) t.add("ffn_gate" + suffix, {width, s.width}, f.ffn_gate, has_bias);
    t.add("ffn_up" + suffix, {up, s.width}, f.ffn_up, has_bias);
    t.add("ffn_down" + suffix, {s.width, width}, f.ffn_down, has_bias);
}

void add_experts(Table& t, const Spec& s, Experts& e) {
    const ExpertsSpec& n = s.experts;
    t.add("ffn_gate_inp", {n.count, s.width}, e.ffn_gate_inp, false);
    if (n.has_selection_bias) t.add("exp_probs_b.bias", {n.count}, e.exp_probs_b, Use::raw);
    t.add("ffn_gate_exps", {n.count, n.width, s.width}, e.ffn_gate_exps, false);
    t.add("ffn_up_exps", {n.count, n.width, s.width}, e.ffn_up_exps, false);
    t.add("ffn_down_exps", {n.count, s.width, n.width}, e.ffn_down_exps, false);
    if (n.shared_width == 0) return;
    if (n.has_shared_gate) t.add("ffn_gate_inp_shexp.weight", {s.width}, e.ffn_gate_inp_shexp.weight, Use::matrix);
    add_ffn(t, s, e.shared, "_shexp", n.shared_width);
}

void add_block(Table& t, const Spec& s, Block& b) {
    t.prefix = fmt::format("blk.{}.", b.layer);
    const bool has_bias = s.norm == Norm::Kind::layer;
    if (s.has_attn_norm) t.add("attn_norm", {s.width}, b.attn_norm, has_bias);
    std::visit([&](auto& mixer) { add_mixer(t, s, mixer); }, b.mixer);
    if (s.has_post_norms) t.add("post_attention_norm", {s.width}, b.post_attention_norm, has_bias);
    if (s.has_sum_norms) t.add("attn_output_norm", {s.width}, b.attn_output_norm, has_bias);
    if (std::holds_alternative<std::monostate>(b.ffn)) return;
    if (s.has_ffn_norm) t.add("ffn_norm", {s.width}, b.ffn_norm, has_bias);
    if (auto* e = std::get_if<Experts>(&b.ffn)) add_experts(t, s, *e);
    if (auto* f = std::get_if<FeedForward>(&b.ffn)) add_ffn(t, s, *f, "", s.ffn_width);
    if (s.has_post_norms) t.add("post_ffw_norm", {s.width}, b.post_ffw_norm, has_bias);
    if (s.has_sum_norms) t.add("layer_output_norm", {s.width}, b.layer_output_norm, has_bias);
}

void add_rope_factors(Table& t, const Spec& s, Decoder& m) {
    const int64_t pairs = s.layer.front().rope.dims / 2;
    if (s.has_rope_factors) t.add("rope_freqs.weight", {pairs}, m.rope_freqs, Use::raw);
    if (s.has_long_rope_factors) {
        t.add("rope_factors_long.weight", {pairs}, m.rope_factors_long, Use::raw);
        t.add("rope_factors_short.weight", {pairs}, m.rope_factors_short, Use::raw);
    }
}

}  // namespace

std::vector<WeightEntry> weight_table(Decoder& m) {
    const Spec& s = m.spec;
    const bool has_bias = s.norm == Norm::Kind::layer;
    Table t;
    t.add("token_embd.weight", {s.vocabulary, s.width}, m.token_embd, Use::table);
    if (s.token_types > 0) t.add("token_types.weight", {s.token_types, s.width}, m.token_types, Use::raw);
    if (s.has_position_embd) t.add("position_embd.weight", {s.context, s.width}, m.position_embd, Use::table);
    if (s.has_embd_norm) t.add("token_embd_norm", {s.width}, m.token_embd_norm, has_bias);
    add_rope_factors(t, s, m);
    for (Block& b : m.blk) add_block(t, s, b);
    t.prefix.clear();
    if (s.has_output_norm) t.add("output_norm", {s.width}, m.output_norm, has_bias);
    if (s.has_head && !s.is_tied) t.add("output.weight", {s.vocabulary, s.width}, m.output.weight, Use::matrix);
    if (s.has_head && !s.is_tied) t.entries.back().map = &m.output;
    if (s.has_head_bias) t.add("output.bias", {s.vocabulary}, m.output.bias, Use::raw);
    return std::move(t.entries);
}

void share_weights(Decoder& m) {
    if (m.spec.has_head && m.spec.is_tied) m.output.weight = m.token_embd;
    for (Block& b : m.blk) {
        auto* a = std::get_if<Attention>(&b.mixer);
        if (a == nullptr) continue;
        a->rope_factors = m.rope_freqs ? m.rope_freqs : m.rope_factors_short;
        a->rope_factors_long = m.rope_factors_long;
    }
}

}  // namespace toy
