#include "support/quantize_models.h"

#include <fmt/format.h>

#include <fstream>
#include <mutex>

#include "core/error.h"
#include "core/random.h"
#include "io/gguf.h"
#include "io/gguf_writer.h"
#include "support/random_model.h"

namespace toy::test {
namespace {

/// How a model differs from a Llama of 4 layers.
struct Shape {
    std::string_view name, architecture;
    int64_t layers = 4, heads = 8, kv_heads = 4, experts = 0;
    int64_t width = 256, ffn = 512, rows = 2;
    bool is_tied = false, has_joint_qkv = false;
    DType type = DType::F32;
};

const std::vector<Shape>& shapes() {
    static const std::vector<Shape> all = {
        {"small", "llama", 3},
        {"deep", "llama", 16},
        {"shared", "llama", 9, 8, 2, 0, 256, 512, 2, true, false, DType::F16},
        {"70b", "llama", 80, 64, 8, 0, 256, 256, 1},
        {"qwen2-72b", "qwen2", 80, 64, 8, 0, 256, 256, 1},
        {"odd", "llama", 8, 8, 4, 0, 96, 50, 3},
        {"moe4", "llama", 8, 8, 2, 4},
        {"moe8", "qwen3moe", 16, 8, 4, 8, 256, 256, 2, false, false, DType::BF16},
        {"falcon", "falcon", 16, 8, 1, 0, 256, 512, 2, true, true},
        {"gemma2", "gemma2", 8, 8, 4, 0, 256, 512, 2, true},
        {"gpt2", "gpt2", 8, 8, 8, 0, 256, 512, 2, false, true},
        {"mamba", "mamba", 4, 0, 0, 0, 256, 0},
        {"deepseek2", "deepseek2", 8, 8, 1, 4},
        {"requantized", "llama", 4, 8, 4, 0, 256, 512, 2, false, false, DType::Q8_0},
    };
    return all;
}

const Shape& shape_of(std::string_view name) {
    for (const Shape& shape : shapes()) {
        if (shape.name == name) return shape;
    }
    bad_input("'{}' is no model of the quantiser's tests", name);
}

struct Writer {
    const Shape& s;
    GgufWriter w;
    std::string blk;

    void size(const char* key, int64_t n) {
        w.set(fmt::format("{}.{}", s.architecture, key), static_cast<uint32_t>(n));
    }
    void number(const char* key, float x) { w.set(fmt::format("{}.{}", s.architecture, key), x); }

    void add(const std::string& name, std::vector<int64_t> ne) {
        int64_t count = 1;
        for (const int64_t n : ne) count *= n;
        Random random(seed_of(fmt::format("quantize-{}", s.name)) ^ seed_of(name));
        std::vector<float> values;
        // A sum of three uniform values has tails, as weights have; one column in 64 is large.
        for (int64_t i = 0; i < count; ++i) {
            const double sum = random.uniform() + random.uniform() + random.uniform() - 1.5;
            values.push_back(static_cast<float>((i % 64 == 7 ? 0.5 : 0.05) * sum));
        }
        const bool stays_f32 = ne.size() == 1 || ne[0] % block_elements(s.type) != 0;
        w.add_f32(name, stays_f32 ? DType::F32 : s.type, std::move(ne), values);
    }
    void map(const char* name, int64_t inputs, int64_t outputs = 0) {
        add(fmt::format("{}{}.weight", blk, name), {inputs, outputs == 0 ? s.rows : outputs});
    }

    void keys() {
        w.set("general.architecture", std::string(s.architecture));
        w.set("general.file_type", uint32_t{0});
        w.set("general.name", fmt::format("quantize {}", s.name));
        size("block_count", s.layers);
        size("context_length", 128);
        size("embedding_length", s.width);
        size("feed_forward_length", s.ffn);
        size("attention.head_count", s.heads);
        size("attention.head_count_kv", s.kv_heads);
        size("vocab_size", 16);
        const bool has_layer_norm = s.architecture == "falcon" || s.architecture == "gpt2";
        number(has_layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon", 1e-5f);
        if (s.architecture == "gemma2") size("attention.sliding_window", 64);
        if (s.experts > 0) {
            size("expert_count", s.experts);
            size("expert_used_count", 2);
            size("expert_feed_forward_length", s.ffn);
        }
        if (s.architecture == "mamba") {
            for (const char* key : {"ssm.conv_kernel", "ssm.inner_size", "ssm.state_size", "ssm.time_step_rank"})
                size(key, 16);
        }
        if (s.architecture == "deepseek2") deepseek_keys();
        w.set("tokenizer.ggml.model", std::string("none"));
    }
    void deepseek_keys() {
        size("leading_dense_block_count", 1);
        size("expert_shared_count", 1);
        size("attention.kv_lora_rank", 256);
        size("attention.q_lora_rank", 256);
        size("rope.dimension_count", 32);
    }

    void tensors() {
        map("token_embd", s.width, 16);
        add("output_norm.weight", {s.width});
        if (!s.is_tied) map("output", s.width, 16);
        if (s.architecture == "gpt2") map("position_embd", s.width, 8);
        for (int64_t i = 0; i < s.layers; ++i) {
            blk = fmt::format("blk.{}.", i);
            add(blk + "attn_norm.weight", {s.width});
            if (s.architecture == "mamba") {
                state_space();
                continue;
            }
            attention();
            i == 0 && s.architecture == "deepseek2" ? dense("") : feed_forward();
        }
    }
    void attention() {
        if (s.architecture == "deepseek2") {
            map("attn_q_a", s.width);
            map("attn_q_b", 256);
            map("attn_kv_a_mqa", s.width);
            map("attn_kv_b", 256);
            add(blk + "attn_k_b.weight", {64, 2, 3});
        } else if (s.has_joint_qkv) {
            map("attn_qkv", s.width);
        } else {
            map("attn_q", s.width);
            map("attn_k", s.width);
            map("attn_v", s.width);
        }
        map("attn_output", s.width);
        if (s.architecture == "gpt2") add(blk + "attn_output.bias", {s.rows});
    }
    void dense(const std::string& suffix) {
        if (!s.has_joint_qkv) map(("ffn_gate" + suffix).c_str(), s.width);
        map(("ffn_up" + suffix).c_str(), s.width);
        map(("ffn_down" + suffix).c_str(), s.ffn);
    }
    void feed_forward() {
        if (s.experts == 0) return dense("");
        map("ffn_gate_inp", s.width, s.experts);
        for (const char* name : {"ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"}) {
            add(fmt::format("{}{}.weight", blk, name), {name[4] == 'd' ? s.ffn : s.width, s.rows, s.experts});
        }
        if (s.architecture == "deepseek2") dense("_shexp");
    }
    void state_space() {
        map("ssm_in", s.width);
        map("ssm_conv1d", 4, 256);
        map("ssm_x", 256);
        map("ssm_dt", 16);
        add(blk + "ssm_a", {16, 16});
        map("ssm_out", 256);
    }
};

template <class T>
void put(std::ofstream& out, T value) {
    out.write(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

std::vector<std::string> quantize_model_names() {
    std::vector<std::string> names;
    for (const Shape& shape : shapes()) names.emplace_back(shape.name);
    return names;
}

void write_quantize_model(std::string_view name, const std::filesystem::path& path) {
    Writer writer{shape_of(name), {}, {}};
    writer.keys();
    writer.tensors();
    writer.w.write(path);
}

const std::filesystem::path& quantize_model(std::string_view name) {
    static std::mutex mutex;
    static std::map<std::string, std::filesystem::path, std::less<>> made;
    const std::scoped_lock lock(mutex);
    const auto found = made.find(name);
    if (found != made.end()) return found->second;
    const std::filesystem::path path = models_folder() / fmt::format("quantize-{}.gguf", name);
    write_quantize_model(name, path);
    return made.emplace(name, path).first->second;
}

Importance random_importance(std::string_view model) {
    Importance weights;
    const Gguf file = Gguf::open_header(quantize_model(model));
    for (const GgufTensor& tensor : file.tensors()) {
        if (tensor.rank < 2 || (model == "odd" && tensor.name == "blk.2.ffn_up.weight")) continue;
        Random random(seed_of(tensor.name) ^ 77);
        std::vector<float>& values = weights[tensor.name];
        for (int64_t i = 0; i < tensor.ne[0] * tensor.ne[2]; ++i) {
            const double x = random.uniform();
            values.push_back(static_cast<float>(x * x));
        }
    }
    return weights;
}

void write_legacy_imatrix(const Importance& weights, const std::filesystem::path& path) {
    std::ofstream out(path, std::ios::binary);
    put(out, static_cast<int32_t>(weights.size()));
    for (const auto& [name, values] : weights) {
        put(out, static_cast<int32_t>(name.size()));
        out << name;
        put(out, int32_t{1});
        put(out, static_cast<int32_t>(values.size()));
        for (const float value : values) put(out, value);
    }
    put(out, int32_t{5});
    put(out, int32_t{5});
    out << "words";
}

void write_gguf_imatrix(const Importance& weights, const std::filesystem::path& path) {
    GgufWriter w;
    w.set("general.type", std::string("imatrix"));
    w.set("imatrix.datasets", Array(std::vector<std::string>{"words"}));
    w.set("imatrix.chunk_count", uint32_t{5});
    w.set("imatrix.chunk_size", uint32_t{512});
    for (const auto& [name, values] : weights) {
        std::vector<float> sums;
        for (const float value : values) sums.push_back(3.0f * value);
        const auto n = static_cast<int64_t>(sums.size());
        w.add_f32(name + ".in_sum2", DType::F32, {n, 1}, sums);
        const std::vector<float> counts{3.0f};
        w.add_f32(name + ".counts", DType::F32, {1, 1}, counts);
    }
    w.write(path);
}

}  // namespace toy::test
