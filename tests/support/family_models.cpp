#include "support/family_models.h"

#include "core/error.h"
#include "support/family_builder.h"

namespace toy::test {
namespace {

using Make = FamilyModel (*)(Builder b, const std::string& name);

bool has(const std::string& name, std::string_view part) { return name.find(part) != name.npos; }

// Llama and its likes: one uniform block, variants by keys.
FamilyModel llama(Builder b, const std::string& name) {
    const std::string architecture = name.substr(0, name.find('-'));
    const bool is_granite = architecture == "granite";
    b.rms(name, architecture == "mistral" || architecture == "mixtral" ? "llama" : architecture);
    b.set("rope.dimension_count", k_head);
    if (architecture == "smollm3") b.layers = 5;
    if (architecture == "mistral") b.set("attention.sliding_window", k_window);
    if (architecture == "mixtral") b.expert_keys();
    if (is_granite) {
        b.set("logit_scale", 0.5);
        b.set("residual_scale", 0.22);
        b.set("embedding_scale", 12.0);
        b.set("attention.scale", 0.0625);
    }
    if (has(name, "-norope")) b.flag("rope.scaling.finetuned", false);
    if (has(name, "-yarn") || has(name, "-linear")) {
        b.set("rope.scaling.type", has(name, "-yarn") ? "yarn" : "linear");
        b.set("rope.scaling.factor", 4.0);
        b.set("rope.scaling.original_context_length", k_original_context);
    }
    if (has(name, "-llama3")) b.add("rope_freqs.weight", {k_head / 2});
    b.blocks([&](int64_t) {
        b.norm(b.blk + "attn_norm");
        b.attention(k_kv_heads, k_head, architecture == "qwen2");
        b.norm(b.blk + "ffn_norm");
        architecture == "mixtral" ? b.experts(k_ffn) : b.gated_ffn();
    });
    return b.end(architecture == "smollm3");
}

FamilyModel gpt2(Builder b, const std::string& name) {
    b.layer_norm(name, "gpt2");
    b.set("attention.head_count_kv", k_heads);
    b.add("position_embd.weight", {k_context, k_width});
    b.blocks([&](int64_t) {
        b.norm(b.blk + "attn_norm");
        b.joint_attention(k_heads, true);
        b.norm(b.blk + "ffn_norm");
        b.plain_ffn(true);
    });
    return b.end(!has(name, "-untied"));
}

FamilyModel qwen3(Builder b, const std::string& name) {
    constexpr int64_t head = 128;
    const bool is_moe = name == "qwen3moe";
    b.rms(name, name);
    b.set("attention.key_length", head);
    b.set("attention.value_length", head);
    if (is_moe) b.expert_keys();
    if (is_moe) b.set("expert_feed_forward_length", k_expert_ffn);
    b.blocks([&](int64_t) {
        b.norm(b.blk + "attn_norm");
        b.attention(k_kv_heads, head);
        b.qk_norms({head}, {head});
        b.norm(b.blk + "ffn_norm");
        is_moe ? b.experts() : b.gated_ffn();
    });
    return b.end(!is_moe);
}

FamilyModel qwen2moe(Builder b, const std::string& name) {
    b.rms(name, name);
    b.expert_keys();
    b.set("expert_feed_forward_length", k_expert_ffn);
    b.set("expert_shared_feed_forward_length", k_ffn);
    b.blocks([&](int64_t) {
        b.norm(b.blk + "attn_norm");
        b.attention(k_kv_heads, k_head, true);
        b.norm(b.blk + "ffn_norm");
        b.experts();
        b.add(b.blk + "ffn_gate_inp_shexp.weight", {k_width});
        b.gated_ffn(k_ffn, "_shexp");
    });
    return b.end(false);
}

FamilyModel olmo2(Builder b, const std::string& name) {
    b.rms(name, "olmo2");
    if (has(name, "-olmo3")) b.layers = 5;
    if (has(name, "-olmo3")) b.set("attention.sliding_window", k_window);
    b.blocks([&](int64_t) {
        b.attention();
        b.qk_norms({k_heads * k_head}, {k_kv_heads * k_head});
        b.norm(b.blk + "post_attention_norm");
        b.gated_ffn();
        b.norm(b.blk + "post_ffw_norm");
    });
    return b.end(false);
}

FamilyModel olmoe(Builder b, const std::string& name) {
    b.rms(name, name);
    b.expert_keys();
    b.set("feed_forward_length", k_expert_ffn);
    b.set("attention.head_count_kv", k_heads);
    b.blocks([&](int64_t) {
        b.norm(b.blk + "attn_norm");
        b.attention(k_heads);
        b.qk_norms({k_heads * k_head}, {k_heads * k_head});
        b.norm(b.blk + "ffn_norm");
        b.experts();
    });
    return b.end(false);
}

FamilyModel granitemoe(Builder b, const std::string& name) {
    b.rms(name, "granitemoe");
    b.expert_keys();
    b.set("feed_forward_length", k_expert_ffn);
    b.set("rope.dimension_count", k_head);
    b.set("logit_scale", 0.5);
    b.set("residual_scale", 0.22);
    b.set("embedding_scale", 12.0);
    b.set("attention.scale", 0.0625);
    const bool has_shared = has(name, "-shared");
    if (has_shared) b.set("expert_shared_feed_forward_length", k_ffn);
    b.blocks([&](int64_t) {
        b.norm(b.blk + "attn_norm");
        b.attention();
        b.norm(b.blk + "ffn_norm");
        b.experts();
        if (has_shared) b.gated_ffn(k_ffn, "_shexp");
    });
    return b.end(false);
}

// The 27B models are known by their number of layers.
FamilyModel gemma(Builder b, const std::string& name) {
    constexpr int64_t head = 128;
    const std::string architecture = name.substr(0, name.find('-'));
    const bool is_27b = has(name, "-27b");
    const int64_t ffn = is_27b ? k_expert_ffn : k_ffn;
    b.rms(name, architecture);
    b.layers = architecture == "gemma2" ? (is_27b ? 46 : 3) : architecture == "gemma3" ? (is_27b ? 62 : 7) : 2;
    b.set("feed_forward_length", ffn);
    b.set("attention.key_length", head);
    b.set("attention.value_length", head);
    if (architecture != "gemma") b.set("attention.sliding_window", k_window);
    // Which layers have the window, where it is not every other one.
    if (has(name, "-pattern")) b.put("attention.sliding_window_pattern", Array(std::vector<bool>{false, true, true}));
    if (architecture == "gemma2") b.set("attn_logit_softcapping", 10.0);
    if (architecture == "gemma2") b.set("final_logit_softcapping", 15.0);
    if (architecture == "gemma3") {
        b.set("rope.freq_base", 1e6);
        b.set("rope.scaling.type", "linear");
        b.set("rope.scaling.factor", 8.0);
    }
    b.blocks([&](int64_t) {
        b.norm(b.blk + "attn_norm");
        b.attention(k_kv_heads, head);
        if (architecture == "gemma3") b.qk_norms({head}, {head});
        if (architecture != "gemma") b.norm(b.blk + "post_attention_norm");
        b.norm(b.blk + "ffn_norm");
        b.gated_ffn(ffn);
        if (architecture != "gemma") b.norm(b.blk + "post_ffw_norm");
    });
    return b.end(true);
}

FamilyModel phi3(Builder b, const std::string& name) {
    const bool is_4_mini = has(name, "-4mini");
    const int64_t rotated = is_4_mini ? 48 : k_head;
    b.rms(name, "phi3");
    b.set("rope.dimension_count", rotated);
    if (has(name, "-window")) b.set("attention.sliding_window", k_window);
    if (has(name, "-longrope")) {
        // Of which llama.cpp's contexts are multiples.
        b.set("rope.scaling.original_context_length", int64_t{256});
        b.set("rope.scaling.attn_factor", 1.19);
        b.add("rope_factors_long.weight", {rotated / 2});
        b.add("rope_factors_short.weight", {rotated / 2});
    }
    b.blocks([&](int64_t) {
        b.norm(b.blk + "attn_norm");
        b.joint_attention(k_kv_heads, false);
        b.norm(b.blk + "ffn_norm");
        b.map("ffn_up", 2 * k_ffn, k_width);
        b.map("ffn_down", k_width, k_ffn);
    });
    return b.end(is_4_mini);
}

FamilyModel starcoder2(Builder b, const std::string& name) {
    b.layer_norm(name, name);
    b.blocks([&](int64_t) {
        b.norm(b.blk + "attn_norm");
        b.attention(k_kv_heads, k_head, true, true);
        b.norm(b.blk + "ffn_norm");
        b.plain_ffn(true);
    });
    return b.end(false);
}

FamilyModel stablelm(Builder b, const std::string& name) {
    const bool is_12b = has(name, "-12b");
    b.layer_norm(name, "stablelm");
    b.set("rope.dimension_count", k_head / 4);
    b.blocks([&](int64_t) {
        b.norm(b.blk + "attn_norm");
        b.attention(k_kv_heads, k_head, !is_12b);
        if (is_12b) b.qk_norms({k_heads, k_head}, {k_kv_heads, k_head});
        if (!is_12b) b.norm(b.blk + "ffn_norm");
        b.gated_ffn();
    });
    return b.end(false);
}

FamilyModel falcon(Builder b, const std::string& name) {
    b.layer_norm(name, name);
    b.set("attention.head_count_kv", int64_t{1});
    b.blocks([&](int64_t) {
        b.norm(b.blk + "attn_norm");
        b.map("attn_qkv", (k_heads + 2) * k_head, k_width);
        b.map("attn_output", k_width, k_heads * k_head);
        b.plain_ffn(false);
    });
    return b.end(true);
}

FamilyModel gptneox(Builder b, const std::string& name) {
    b.layer_norm(name, "gptneox");
    b.set("attention.head_count_kv", k_heads);
    b.set("rope.dimension_count", k_head / 4);
    b.flag("use_parallel_residual", !has(name, "-sequential"));
    b.blocks([&](int64_t) {
        b.norm(b.blk + "attn_norm");
        b.joint_attention(k_heads, true);
        b.norm(b.blk + "ffn_norm");
        b.plain_ffn(true);
    });
    return b.end(false);
}

// V2-Lite is known by its 27 layers. The older layout holds attn_kv_b, the newer its two halves.
FamilyModel deepseek2(Builder b, const std::string& name) {
    constexpr int64_t rank = 256, plain = 64, rotated = 32, value = 64;
    const bool is_joint = has(name, "-joint");
    b.rms(name, "deepseek2");
    b.layers = 27;
    b.expert_keys();
    b.set("expert_feed_forward_length", k_expert_ffn);
    b.set("expert_shared_count", int64_t{2});  // side by side in one matrix
    b.set("expert_weights_scale", 1.5);
    b.set("leading_dense_block_count", int64_t{1});
    b.set("vocab_size", k_vocabulary);
    b.set("attention.kv_lora_rank", rank);
    b.set("rope.dimension_count", rotated);
    b.set("attention.head_count_kv", is_joint ? k_heads : 1);
    b.set("attention.key_length", is_joint ? plain + rotated : rank + rotated);
    b.set("attention.value_length", is_joint ? value : rank);
    if (!is_joint) b.set("attention.key_length_mla", plain + rotated);
    if (!is_joint) b.set("attention.value_length_mla", value);
    b.set("rope.scaling.type", "yarn");
    b.set("rope.scaling.factor", 40.0);
    b.set("rope.scaling.original_context_length", k_original_context);
    b.set("rope.scaling.yarn_log_multiplier", 0.0707);
    b.blocks([&](int64_t i) {
        b.norm(b.blk + "attn_norm");
        b.map("attn_q", k_heads * (plain + rotated), k_width);
        b.map("attn_kv_a_mqa", rank + rotated, k_width);
        b.norm(b.blk + "attn_kv_a_norm", {rank});
        if (is_joint) {
            b.map("attn_kv_b", k_heads * (plain + value), rank);
        } else {
            b.add(b.blk + "attn_k_b.weight", {k_heads, rank, plain});
            b.add(b.blk + "attn_v_b.weight", {k_heads, value, rank});
        }
        b.map("attn_output", k_width, k_heads * value);
        b.norm(b.blk + "ffn_norm");
        i == 0 ? b.gated_ffn() : b.experts();
        if (i > 0) b.gated_ffn(2 * k_expert_ffn, "_shexp");
    });
    return b.end(false);
}

FamilyModel mamba(Builder b, const std::string& name) {
    constexpr int64_t inner = 2 * k_width, state = 16, rank = 16, kernel = 4;
    b.rms(name, "mamba");
    b.set("attention.head_count", int64_t{0});
    b.set("attention.head_count_kv", int64_t{0});
    b.set("feed_forward_length", int64_t{0});
    b.set("ssm.conv_kernel", kernel);
    b.set("ssm.inner_size", inner);
    b.set("ssm.state_size", state);
    b.set("ssm.time_step_rank", rank);
    if (has(name, "-norms")) b.flag("ssm.dt_b_c_rms", true);
    b.blocks([&](int64_t) {
        b.norm(b.blk + "attn_norm");
        b.map("ssm_in", 2 * inner, k_width);
        b.add(b.blk + "ssm_conv1d.weight", {inner, kernel});
        b.add(b.blk + "ssm_conv1d.bias", {inner});
        b.map("ssm_x", rank + 2 * state, inner);
        b.map("ssm_dt", inner, rank, true);
        b.add(b.blk + "ssm_a", {inner, state});
        b.add(b.blk + "ssm_d", {inner});
        b.map("ssm_out", k_width, inner);
    });
    return b.end(false);
}

FamilyModel mamba2(Builder b, const std::string& name) {
    constexpr int64_t inner = 2 * k_width, state = 32, heads = 8, groups = 2, kernel = 4;
    constexpr int64_t channels = inner + 2 * groups * state;
    b.rms(name, "mamba2");
    b.set("attention.head_count", int64_t{0});
    b.set("attention.head_count_kv", int64_t{0});
    b.set("feed_forward_length", int64_t{0});
    b.set("ssm.conv_kernel", kernel);
    b.set("ssm.inner_size", inner);
    b.set("ssm.state_size", state);
    b.set("ssm.time_step_rank", heads);
    b.set("ssm.group_count", groups);
    b.blocks([&](int64_t) {
        b.norm(b.blk + "attn_norm");
        b.map("ssm_in", inner + channels + heads, k_width);
        b.add(b.blk + "ssm_conv1d.weight", {channels, kernel});
        b.add(b.blk + "ssm_conv1d.bias", {channels});
        b.add(b.blk + "ssm_dt.bias", {heads});
        b.add(b.blk + "ssm_a", {heads, 1});
        b.add(b.blk + "ssm_d", {heads, 1});
        b.add(b.blk + "ssm_norm.weight", {groups, inner / groups});
        b.map("ssm_out", k_width, inner);
    });
    return b.end(true);
}

FamilyModel bert(Builder b, const std::string& name) {
    const bool is_nomic = has(name, "nomic");
    b.layer_norm(name, is_nomic ? "nomic-bert" : "bert");
    b.m.is_encoder = true;
    b.set("attention.head_count_kv", k_heads);
    b.flag("attention.causal", false);
    b.set("pooling_type", int64_t{has(name, "-cls") ? 2 : 1});
    b.add("token_types.weight", {2, k_width});
    if (!is_nomic) b.add("position_embd.weight", {k_context, k_width});
    b.norm("token_embd_norm");
    b.blocks([&](int64_t) {
        if (is_nomic) {
            b.joint_attention(k_heads, false);
        } else {
            b.attention(k_heads, k_head, true, true);
        }
        b.norm(b.blk + "attn_output_norm");
        is_nomic ? b.gated_ffn() : b.plain_ffn(true);
        b.norm(b.blk + "layer_output_norm");
    });
    return std::move(b.m);
}

const std::vector<std::pair<const char*, Make>>& makers() {
    static const std::vector<std::pair<const char*, Make>> all = {
        {"gpt2", gpt2},
        {"gpt2-untied", gpt2},
        {"llama", llama},
        {"llama-llama3", llama},
        {"llama-yarn", llama},
        {"llama-linear", llama},
        {"mistral", llama},
        {"smollm3", llama},
        {"qwen2", llama},
        {"qwen2-yarn", llama},
        {"qwen3", qwen3},
        {"qwen2moe", qwen2moe},
        {"qwen3moe", qwen3},
        {"mixtral", llama},
        {"olmo2", olmo2},
        {"olmo2-olmo3", olmo2},
        {"olmoe", olmoe},
        {"granite", llama},
        {"granite-norope", llama},
        {"granitemoe", granitemoe},
        {"granitemoe-shared", granitemoe},
        {"gemma", gemma},
        {"gemma2", gemma},
        {"gemma2-pattern", gemma},
        {"gemma2-27b", gemma},
        {"gemma3", gemma},
        {"gemma3-27b", gemma},
        {"phi3", phi3},
        {"phi3-window", phi3},
        {"phi3-longrope", phi3},
        {"phi3-4mini", phi3},
        {"starcoder2", starcoder2},
        {"stablelm", stablelm},
        {"stablelm-12b", stablelm},
        {"falcon", falcon},
        {"gptneox", gptneox},
        {"gptneox-sequential", gptneox},
        {"deepseek2", deepseek2},
        {"deepseek2-joint", deepseek2},
        {"mamba", mamba},
        {"mamba-norms", mamba},
        {"mamba2", mamba2},
        {"bert", bert},
        {"bert-cls", bert},
        {"nomic-bert", bert},
    };
    return all;
}

}  // namespace

std::vector<std::string> family_model_names() {
    std::vector<std::string> names;
    for (const auto& [name, make] : makers()) names.emplace_back(name);
    return names;
}

FamilyModel family_model(std::string_view name) {
    for (const auto& [known, make] : makers()) {
        if (known == name) return make(Builder(), std::string(name));
    }
    bad_input("'{}' is no family", name);
}

bool is_slow_family(std::string_view name) {
    return name.starts_with("deepseek2") || name.find("27b") != std::string_view::npos;
}

FamilyModel with_two_blocks(FamilyModel model) {
    for (auto& [key, value] : model.keys) {
        if (key == "block_count") value = uint32_t{2};
    }
    std::erase_if(model.weights, [](const FamilyModel::Weight& w) {
        return w.name.starts_with("blk.") && !w.name.starts_with("blk.0.") && !w.name.starts_with("blk.1.");
    });
    return model;
}

}  // namespace toy::test
