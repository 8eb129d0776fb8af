#include "models/spec_rows.h"

#include <algorithm>
#include <cmath>

namespace toy {
namespace {

using When = SpecRow::When;

struct Rows {
    std::vector<SpecRow> all;

    void size(std::string_view key, int64_t n, When when = When::read) {
        all.push_back({key, static_cast<uint32_t>(n), when});
    }
    void number(std::string_view key, float x, When when = When::read) { all.push_back({key, x, when}); }
    void flag(std::string_view key, bool is_on, When when = When::read) { all.push_back({key, is_on, when}); }
    void text(std::string_view key, std::string words, When when = When::read) {
        all.push_back({key, std::move(words), when});
    }
};

/// The float x near `guess` for which f(x) is exactly `wanted`; the guess where there is none, which reading back
/// shows.
template <class F>
float solve(float guess, float wanted, const F& f) {
    constexpr int k_neighbours = 64;
    float below = guess, above = guess;
    for (int i = 0; i < k_neighbours; ++i) {
        if (f(below) == wanted) return below;
        if (f(above) == wanted) return above;
        below = std::nextafter(below, 0.0f);
        above = std::nextafter(above, 2.0f * above);
    }
    return guess;
}

float inverse(float x) {
    return solve(1.0f / x, x, [](float y) { return 1.0f / y; });
}

void add_sizes(Rows& r, const Spec& s) {
    r.size("context_length", s.context);
    r.size("embedding_length", s.width);
    r.size("block_count", s.layers);
    r.number(s.norm == Norm::Kind::rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon", s.eps);
    if (s.ffn_width > 0) r.size("feed_forward_length", s.ffn_width);
    if (s.is_recurrent()) {
        r.size("feed_forward_length", 0, When::always);
        r.size("attention.head_count", 0, When::always);
    }
}

void add_attention(Rows& r, const Spec& s) {
    if (s.heads == 0) return;
    r.size("attention.head_count", s.heads);
    r.size("attention.head_count_kv", s.kv_heads, When::always);
    // llama.cpp takes D/H for either where it is not stated.
    if (s.latent.rank == 0 && (s.head_size * s.heads != s.width || s.value_size != s.head_size)) {
        r.size("attention.key_length", s.head_size);
        r.size("attention.value_length", s.value_size);
    }
    r.number("attention.scale", s.attention_scale, When::needed);
    r.flag("attention.causal", s.is_causal);
    const When unless_zero = s.attention_softcap > 0.0f ? When::read : When::needed;
    r.number("attn_logit_softcapping", s.attention_softcap, unless_zero);
}

// To llama.cpp a layer with latent attention has one key head, the latent row with the rotated part behind it.
void add_latent(Rows& r, const Spec& s) {
    if (s.latent.rank == 0) return;
    const int64_t rotated = s.layer.front().rope.dims;
    r.size("vocab_size", s.vocabulary, When::always);
    r.size("attention.kv_lora_rank", s.latent.rank);
    if (s.latent.query_rank > 0) r.size("attention.q_lora_rank", s.latent.query_rank);
    r.size("attention.key_length", s.latent.rank + rotated, When::always);
    r.size("attention.value_length", s.latent.rank, When::always);
    r.size("attention.key_length_mla", s.head_size);
    r.size("attention.value_length_mla", s.value_size);
}

// What read_scale of deepseek2.cpp takes: the magnitude m of scores, of which the rotation's own is taken back.
void add_latent_scale(Rows& r, const Spec& s, const Rope& rope) {
    const float usual = 1.0f / std::sqrt(static_cast<float>(s.head_size));
    const float log_factor = std::log(1.0f / rope.frequency_scale);
    if (log_factor == 0.0f) return r.number("rope.scaling.attn_factor", rope.attn_factor, When::needed);
    const float m = std::sqrt(s.attention_scale / usual);
    const float multiplier = solve((m - 1.0f) / log_factor, s.attention_scale, [&](float x) {
        const float magnitude = 1.0f + x * log_factor;
        return usual * (magnitude * magnitude);
    });
    r.number("rope.scaling.yarn_log_multiplier", multiplier, When::needed);
    const float taken_back = 1.0f + 0.1f * log_factor;
    const float attn_factor =
        solve(rope.attn_factor * taken_back, rope.attn_factor, [&](float x) { return x / taken_back; });
    r.number("rope.scaling.attn_factor", multiplier == 0.0f ? rope.attn_factor : attn_factor, When::needed);
}

void add_scaling(Rows& r, const Spec& s, const Rope& rope) {
    const bool is_yarn = rope.ext_factor != 0.0f;
    if (is_yarn || rope.frequency_scale != 1.0f) {
        r.text("rope.scaling.type", is_yarn ? "yarn" : "linear");
        r.number("rope.scaling.factor", inverse(rope.frequency_scale));
    }
    r.size("rope.scaling.original_context_length", rope.original_context, When::needed);
    r.number("rope.scaling.yarn_ext_factor", rope.ext_factor, When::needed);
    r.number("rope.scaling.yarn_beta_fast", rope.beta_fast, When::needed);
    r.number("rope.scaling.yarn_beta_slow", rope.beta_slow, When::needed);
    if (is_yarn && s.latent.rank > 0) return add_latent_scale(r, s, rope);
    r.number("rope.scaling.attn_factor", rope.attn_factor, When::needed);
}

// The keys tell the rope of layers that see the whole text; those with a window may have a base of their own.
void add_layers(Rows& r, const Spec& s) {
    const auto has_window = [](const LayerSpec& layer) { return layer.window > 0; };
    const auto windowed = std::find_if(s.layer.begin(), s.layer.end(), has_window);
    const auto whole = std::find_if_not(s.layer.begin(), s.layer.end(), has_window);
    const Rope& rope = (whole == s.layer.end() ? windowed : whole)->rope;
    if (rope.dims > 0) {
        r.size("rope.dimension_count", rope.dims);
        r.number("rope.freq_base", rope.base);
        add_scaling(r, s, rope);
        const bool is_rotated = std::any_of(s.layer.begin(), s.layer.end(), [](const LayerSpec& layer) {
            return layer.rope.order != Rope::Order::none;
        });
        r.flag("rope.scaling.finetuned", is_rotated, When::needed);
    }
    if (windowed == s.layer.end()) {
        r.size("attention.sliding_window", 0, When::needed);
        return;
    }
    r.size("attention.sliding_window", windowed->window);
    r.number("rope.freq_base_swa", windowed->rope.base, When::needed);
    std::vector<bool> pattern;
    for (const LayerSpec& layer : s.layer) pattern.push_back(has_window(layer));
    r.all.push_back({"attention.sliding_window_pattern", Array(std::move(pattern)), When::needed});
}

void add_experts(Rows& r, const Spec& s) {
    const ExpertsSpec& e = s.experts;
    if (e.count == 0) return;
    r.size("expert_count", e.count);
    r.size("expert_used_count", e.routing.used);
    r.size("expert_feed_forward_length", e.width);
    r.size("leading_dense_block_count", e.leading_dense);
    r.number("expert_weights_scale", e.routing.scale, When::needed);
    r.flag("expert_weights_norm", e.routing.is_normalised, When::needed);
    const bool is_sigmoid = e.routing.gate == Routing::Gate::sigmoid;
    r.size("expert_gating_func", is_sigmoid ? 2 : 1, When::needed);
    if (e.width > 0) r.size("expert_shared_count", e.shared_width / e.width);
    const When when = s.latent.rank > 0 ? When::needed : When::read;
    if (e.shared_width > 0) r.size("expert_shared_feed_forward_length", e.shared_width, when);
}

void add_state_space(Rows& r, const Spec& s) {
    const StateSpaceSpec& n = s.state_space;
    if (n.version == 0) return;
    r.size("ssm.conv_kernel", n.kernel);
    r.size("ssm.inner_size", n.inner);
    r.size("ssm.state_size", n.state);
    r.size("ssm.time_step_rank", n.version == 1 ? n.dt_rank : n.heads);
    r.size("ssm.group_count", n.groups);
    r.flag("ssm.dt_b_c_rms", n.has_weightless_norms, When::needed);
}

int64_t code_of(Pooling pooling) {
    switch (pooling) {
        case Pooling::none: return 0;
        case Pooling::mean: return 1;
        case Pooling::first: return 2;
        case Pooling::last: return 3;
    }
    return 0;
}

void add_ends(Rows& r, const Spec& s) {
    r.number("embedding_scale", s.embed_scale);
    r.number("residual_scale", s.residual_scale);
    r.number("logit_scale", inverse(s.logit_scale));
    r.number("final_logit_softcapping", s.final_softcap, s.final_softcap > 0.0f ? When::read : When::needed);
    r.flag("use_parallel_residual", s.residual == Residual::parallel);
    r.size("pooling_type", code_of(s.pooling));
}

}  // namespace

std::vector<SpecRow> spec_rows(const Spec& spec) {
    Rows r;
    add_sizes(r, spec);
    add_attention(r, spec);
    add_latent(r, spec);
    add_layers(r, spec);
    add_experts(r, spec);
    add_state_space(r, spec);
    add_ends(r, spec);
    return std::move(r.all);
}

}  // namespace toy
