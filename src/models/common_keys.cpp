#include "models/common_keys.h"

#include <cmath>

#include "core/error.h"

namespace toy {
namespace {

constexpr int64_t k_most_layers = 4096;

void check_heads(const Spec& s, const SpecKeys& keys) {
    if (s.kv_heads > s.heads || s.heads % s.kv_heads != 0) {
        bad_input("{}: {} query heads cannot share {} key heads ({}, {})", keys.origin(), s.heads, s.kv_heads,
                  keys.full("attention.head_count"), keys.full("attention.head_count_kv"));
    }
}

int64_t default_head_size(const SpecKeys& keys, int64_t width, int64_t heads) {
    if (width % heads != 0) {
        bad_input("{}: {} = {} is not divisible by {} = {}", keys.origin(), keys.full("embedding_length"), width,
                  keys.full("attention.head_count"), heads);
    }
    return width / heads;
}

// rope() multiplies by 1 + 0.1·ln(factor) where it extrapolates, the magnitude of arXiv 2309.00071 (equation 22). A
// file that states another (yarn_attn_factor, Hugging Face's attention_factor) means it in place of that.
void read_yarn(const SpecKeys& keys, Rope& rope) {
    const float factor = keys.positive_or("rope.scaling.factor", 1.0f);
    const float usual = 1.0f + 0.1f * std::log(factor);
    rope.frequency_scale = 1.0f / factor;
    rope.ext_factor = keys.number_or("rope.scaling.yarn_ext_factor", 1.0f);
    rope.attn_factor = keys.positive_or("rope.scaling.yarn_attn_factor", usual) / usual;
    rope.beta_fast = keys.positive_or("rope.scaling.yarn_beta_fast", 32.0f);
    rope.beta_slow = keys.positive_or("rope.scaling.yarn_beta_slow", 1.0f);
}

}  // namespace

bool is_of_older_toy(const SpecKeys& keys) {
    return keys.metadata().has("toy.ggml_native") || keys.has_tensor("blk.0.attn_q.head_0.weight");
}

Rope read_rope(const SpecKeys& keys, Rope::Order order, int64_t head_size, int64_t context) {
    Rope rope;
    rope.order = order;
    if (order == Rope::Order::none) return rope;
    rope.dims = static_cast<int>(keys.size_or("rope.dimension_count", head_size));
    if (rope.dims % 2 != 0 || rope.dims > head_size) {
        bad_input("{}: {} = {} must be even and at most the head size {}", keys.origin(),
                  keys.full("rope.dimension_count"), rope.dims, head_size);
    }
    rope.base = keys.positive_or("rope.freq_base", 10000.0f);
    rope.original_context = static_cast<int>(keys.size_or("rope.scaling.original_context_length", context));
    const std::string scaling = keys.text_or("rope.scaling.type", "linear");
    if (scaling == "linear") {
        // rope.scale_linear is what older converters wrote; 0 stands for none.
        const float legacy = keys.number_or("rope.scale_linear", 1.0f);
        const float factor = keys.number_or("rope.scaling.factor", legacy);
        if (factor < 0.0f) bad_input("{}: {} is {}", keys.origin(), keys.full("rope.scaling.factor"), factor);
        rope.frequency_scale = factor == 0.0f ? 1.0f : 1.0f / factor;
    } else if (scaling == "yarn") {
        read_yarn(keys, rope);
    } else if (scaling != "none" && scaling != "longrope" && !(scaling == "llama3" && is_of_older_toy(keys))) {
        bad_input("{}: {} is '{}'; none, linear, yarn and longrope are supported", keys.origin(),
                  keys.full("rope.scaling.type"), scaling);
    }
    rope.attn_factor *= keys.positive_or("rope.scaling.attn_factor", 1.0f);
    return rope;
}

Spec read_sizes(const SpecKeys& keys) {
    Spec s;
    s.architecture = keys.architecture();
    if (const std::string* name = keys.metadata().find_string("general.name")) s.name = *name;
    s.vocabulary = keys.vocabulary();
    s.width = keys.size("embedding_length");
    s.layers = keys.size("block_count");
    if (s.layers > k_most_layers) {
        bad_input("{}: {} is {}, more than {}", keys.origin(), keys.full("block_count"), s.layers, k_most_layers);
    }
    s.context = keys.size("context_length");
    s.layer.resize(static_cast<size_t>(s.layers));
    s.is_tied = !keys.has_tensor("output.weight");
    s.has_head_bias = keys.has_tensor("output.bias");
    return s;
}

Spec read_common(const SpecKeys& keys, Rope::Order order) {
    Spec s = read_sizes(keys);
    s.heads = keys.uniform_size("attention.head_count");
    s.kv_heads = keys.uniform_size_or("attention.head_count_kv", s.heads);
    check_heads(s, keys);
    s.head_size = keys.has("attention.key_length") ? keys.size("attention.key_length")
                                                   : default_head_size(keys, s.width, s.heads);
    s.value_size = keys.size_or("attention.value_length", s.head_size);
    s.ffn_width = keys.uniform_size_or("feed_forward_length", 0);
    s.attention_scale = keys.positive_or("attention.scale", 1.0f / std::sqrt(static_cast<float>(s.head_size)));
    s.has_joint_qkv = keys.has_tensor("blk.0.attn_qkv.weight");
    s.has_qkv_bias = keys.has_tensor(s.has_joint_qkv ? "blk.0.attn_qkv.bias" : "blk.0.attn_q.bias");
    s.has_output_bias = keys.has_tensor("blk.0.attn_output.bias");
    s.has_ffn_bias = keys.has_tensor("blk.0.ffn_down.bias");
    s.has_rope_factors = keys.has_tensor("rope_freqs.weight");
    s.has_long_rope_factors =
        keys.has_tensor("rope_factors_long.weight") || keys.has_tensor("rope_factors_short.weight");
    for (LayerSpec& layer : s.layer) layer.rope = read_rope(keys, order, s.head_size, s.context);
    return s;
}

void read_norm(const SpecKeys& keys, Norm::Kind kind, Spec& s) {
    s.norm = kind;
    s.eps =
        keys.positive(kind == Norm::Kind::rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon");
}

void read_windows(const SpecKeys& keys, int64_t period, int64_t default_window, Spec& s) {
    const int64_t window = keys.count_or("attention.sliding_window", default_window);
    const std::optional<std::vector<bool>> pattern = keys.flags("attention.sliding_window_pattern", s.layers);
    const int64_t stated = pattern ? period : keys.count_or("attention.sliding_window_pattern", period);
    for (size_t i = 0; i < s.layer.size(); ++i) {
        const auto n = static_cast<int64_t>(i);
        const bool is_windowed = pattern ? (*pattern)[i] : stated == 0 || n % stated < stated - 1;
        s.layer[i].window = is_windowed ? window : 0;
    }
}

void read_experts(const SpecKeys& keys, const Routing& routing, Spec& s) {
    ExpertsSpec& e = s.experts;
    e.count = keys.count_or("expert_count", 0);
    if (e.count == 0) return;
    e.routing = routing;
    e.routing.used = keys.size("expert_used_count");
    if (e.routing.used > e.count) {
        bad_input("{}: {} = {} is more than {} = {}", keys.origin(), keys.full("expert_used_count"), e.routing.used,
                  keys.full("expert_count"), e.count);
    }
    if (keys.count_or("expert_group_count", 0) > 1) {
        bad_input("{}: {} = {}: experts in groups are not supported", keys.origin(), keys.full("expert_group_count"),
                  keys.count_or("expert_group_count", 0));
    }
    e.routing.scale = keys.number_or("expert_weights_scale", 0.0f);
    if (e.routing.scale == 0.0f) e.routing.scale = 1.0f;  // as converters write where there is none
    e.width = keys.uniform_size_or("expert_feed_forward_length", s.ffn_width);
    e.shared_width = keys.count_or("expert_shared_feed_forward_length", 0);
    if (e.width == 0) keys.size("feed_forward_length");  // which throws that the key is missing
}

void require_experts(const SpecKeys& keys, const Spec& s) {
    if (s.experts.count == 0) keys.size("expert_count");  // which throws that the key is missing or 0
}

}  // namespace toy
