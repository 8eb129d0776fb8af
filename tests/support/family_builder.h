#pragma once
#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "support/family_models.h"

namespace toy::test {

// D, V, H, K, d, F of all models but where a family's proportions ask for others.
inline constexpr int64_t k_width = 256, k_vocabulary = 512, k_heads = 4, k_kv_heads = 2, k_head = 64, k_ffn = 512;
inline constexpr int64_t k_context = 1024, k_window = 32, k_original_context = 128;
inline constexpr int64_t k_experts = 4, k_used = 2, k_expert_ffn = 256;

/// Collects keys and tensors.
struct Builder {
    FamilyModel m;
    int64_t layers = 2;
    bool has_bias = false;  // of norms
    std::string blk;        // "blk.0."

    void set(const char* key, int64_t value) { put(key, static_cast<uint32_t>(value)); }
    void set(const char* key, double value) { put(key, static_cast<float>(value)); }
    void set(const char* key, const char* value) { put(key, std::string(value)); }
    void flag(const char* key, bool value) { put(key, value); }
    void put(const char* key, Value value) {
        for (auto& [name, held] : m.keys) {
            if (name == key) {
                held = std::move(value);
                return;
            }
        }
        m.keys.emplace_back(key, std::move(value));
    }
    void add(const std::string& name, std::vector<int64_t> shape) { m.weights.push_back({name, std::move(shape)}); }
    void norm(const std::string& name, std::vector<int64_t> shape = {k_width}) {
        add(name + ".weight", shape);
        if (has_bias) add(name + ".bias", std::move(shape));
    }
    void map(const std::string& name, int64_t outputs, int64_t inputs, bool with_bias = false) {
        add(blk + name + ".weight", {outputs, inputs});
        if (with_bias) add(blk + name + ".bias", {outputs});
    }

    void begin(std::string_view name, std::string_view architecture, const char* eps) {
        m.name = name;
        m.architecture = architecture;
        has_bias = std::string_view(eps) == "attention.layer_norm_epsilon";
        set("context_length", k_context);
        set("embedding_length", k_width);
        set("feed_forward_length", k_ffn);
        set("attention.head_count", k_heads);
        set("attention.head_count_kv", k_kv_heads);
        // Large, and no default: a reader that takes another number is seen in the results.
        set(eps, 1e-2);
        set("rope.freq_base", 50000.0);  // which the few without rope do not read
        add("token_embd.weight", {k_vocabulary, k_width});
    }
    void rms(std::string_view name, std::string_view architecture) {
        begin(name, architecture, "attention.layer_norm_rms_epsilon");
    }
    void layer_norm(std::string_view name, std::string_view architecture) {
        begin(name, architecture, "attention.layer_norm_epsilon");
    }
    void blocks(const std::function<void(int64_t)>& each) {
        set("block_count", layers);
        for (int64_t i = 0; i < layers; ++i) {
            blk = fmt::format("blk.{}.", i);
            each(i);
        }
        blk.clear();
    }
    FamilyModel end(bool is_tied) {
        norm("output_norm");
        if (!is_tied) add("output.weight", {k_vocabulary, k_width});
        return std::move(m);
    }

    void attention(int64_t kv_heads = k_kv_heads, int64_t head = k_head, bool bias = false, bool output_bias = false) {
        map("attn_q", k_heads * head, k_width, bias);
        map("attn_k", kv_heads * head, k_width, bias);
        map("attn_v", kv_heads * head, k_width, bias);
        map("attn_output", k_width, k_heads * head, output_bias);
    }
    void joint_attention(int64_t kv_heads, bool bias) {
        map("attn_qkv", (k_heads + 2 * kv_heads) * k_head, k_width, bias);
        map("attn_output", k_width, k_heads * k_head, bias);
    }
    void qk_norms(std::vector<int64_t> q, std::vector<int64_t> k) {
        add(blk + "attn_q_norm.weight", std::move(q));
        add(blk + "attn_k_norm.weight", std::move(k));
    }
    void gated_ffn(int64_t width = k_ffn, const char* suffix = "") {
        map(std::string("ffn_gate") + suffix, width, k_width);
        map(std::string("ffn_up") + suffix, width, k_width);
        map(std::string("ffn_down") + suffix, k_width, width);
    }
    void plain_ffn(bool bias, int64_t width = k_ffn) {
        map("ffn_up", width, k_width, bias);
        map("ffn_down", k_width, width, bias);
    }
    void experts(int64_t width = k_expert_ffn) {
        add(blk + "ffn_gate_inp.weight", {k_experts, k_width});
        add(blk + "ffn_gate_exps.weight", {k_experts, width, k_width});
        add(blk + "ffn_up_exps.weight", {k_experts, width, k_width});
        add(blk + "ffn_down_exps.weight", {k_experts, k_width, width});
    }
    void expert_keys() {
        set("expert_count", k_experts);
        set("expert_used_count", k_used);
    }
};

}  // namespace toy::test
