// Files of the older toy (0.8): one tensor for each head, rows of Q and K not permuted, Llama 3's rope as numbers. The
// same weights under architecture qwen2, which rotates halves and has no more in it than they, must give the same bits.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/error.h"
#include "engine/full_sequence.h"
#include "io/gguf_writer.h"
#include "support/family_models.h"
#include "support/random_model.h"

namespace toy {
namespace {

struct File {
    GgufWriter writer;
    std::string architecture;
    std::vector<std::vector<float>> values;

    // Keys and tensors of the random model "qwen2", but for the biases, which the older toy's files need not have.
    File(std::string name, bool splits_heads) : architecture(std::move(name)) {
        const Gguf original = Gguf::open(test::family_file("qwen2:f32"));
        for (const auto& [key, value] : original.metadata().entries()) {
            if (key == "general.architecture") continue;
            const bool is_of_architecture = key.starts_with("qwen2.");
            writer.set(is_of_architecture ? architecture + key.substr(5) : key, value);
        }
        writer.set("general.architecture", architecture);
        for (const GgufTensor& tensor : original.tensors()) {
            if (tensor.name.ends_with(".bias")) continue;
            values.emplace_back(static_cast<size_t>(tensor.elements()));
            to_f32(tensor.type, tensor.bytes.data(), values.back().data(), tensor.elements());
            const bool is_head = tensor.name.find("attn_q.") != std::string::npos ||
                                 tensor.name.find("attn_k.") != std::string::npos ||
                                 tensor.name.find("attn_v.") != std::string::npos;
            if (is_head && splits_heads) {
                add_heads(tensor.name, tensor.ne[0], tensor.ne[1]);
            } else {
                writer.add_f32(tensor.name, DType::F32, {tensor.ne.begin(), tensor.ne.begin() + tensor.rank},
                               values.back());
            }
        }
    }

    void add_heads(const std::string& name, int64_t inputs, int64_t rows) {
        constexpr int64_t k_head = 64;
        const std::string stem = name.substr(0, name.rfind('.'));
        for (int64_t h = 0; h < rows / k_head; ++h) {
            const auto part =
                std::span(values.back())
                    .subspan(static_cast<size_t>(h * k_head * inputs), static_cast<size_t>(k_head * inputs));
            writer.add_f32(stem + ".head_" + std::to_string(h) + ".weight", DType::F32, {inputs, k_head}, part);
        }
    }

    std::filesystem::path write(const char* name) const {
        const std::filesystem::path path = test::models_folder() / name;
        writer.write(path);
        return path;
    }
};

std::vector<float> logits_of(const std::filesystem::path& path) {
    const auto model = Model::load(path, Device::cpu());
    Runner runner(Device::cpu(), 1);
    return full_logits(*model, runner, test::random_tokens(512, 40));
}

TEST(OlderToy, HeadsInTensorsOfTheirOwnAreOneMatrix) {
    File older("llama", true);
    older.writer.set("toy.ggml_native", true);
    const std::filesystem::path path = older.write("older.gguf");
    EXPECT_EQ(logits_of(path), logits_of(File("qwen2", false).write("newer.gguf")));
}

TEST(OlderToy, ItsLayoutKeyMeansRowsThatAreNotPermuted) {
    File older("llama", false), todays("llama", false);
    older.writer.set("toy.ggml_native", true);
    const std::vector<float> expected = logits_of(File("qwen2", false).write("newer.gguf"));
    EXPECT_EQ(logits_of(older.write("older.gguf")), expected);
    EXPECT_NE(logits_of(todays.write("todays.gguf")), expected);
}

// As Meta's code says it: three ranges of wavelengths.
float llama3_divisor(double base, int dims, int i) {
    constexpr double factor = 8, low = 1, high = 4, original = 128;
    const double frequency = std::pow(base, -2.0 * i / dims), wavelength = 2 * std::numbers::pi / frequency;
    if (wavelength < original / high) return 1.0f;
    if (wavelength > original / low) return static_cast<float>(factor);
    const double smooth = (original / wavelength - low) / (high - low);
    return static_cast<float>(frequency / ((1 - smooth) * frequency / factor + smooth * frequency));
}

TEST(OlderToy, Llama3ScalingIsReadAsNumbers) {
    File older("llama", true);
    older.writer.set("toy.ggml_native", true);
    older.writer.set("llama.rope.scaling.type", std::string("llama3"));
    older.writer.set("llama.rope.scaling.factor", 8.0f);
    older.writer.set("llama.rope.scaling.low_freq_factor", 1.0f);
    older.writer.set("llama.rope.scaling.high_freq_factor", 4.0f);
    older.writer.set("llama.rope.scaling.original_context_length", uint32_t{128});
    File newer("qwen2", false);
    std::vector<float> divisors;
    for (int i = 0; i < 32; ++i) divisors.push_back(llama3_divisor(50000.0, 64, i));
    newer.writer.add_f32("rope_freqs.weight", DType::F32, {32}, divisors);
    const std::vector<float> a = logits_of(older.write("older.gguf")), b = logits_of(newer.write("newer.gguf"));
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 2e-5) << i;
}

std::string refusal(const std::filesystem::path& path) {
    try {
        Model::load(path, Device::cpu());
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST(OlderToy, WhatItsFilesMayNotHaveIsRefused) {
    File transposed("llama", false);
    transposed.writer.set("toy.ggml_native", false);
    EXPECT_NE(refusal(transposed.write("transposed.gguf")).find("toy.ggml_native is false"), std::string::npos);
    // The numbers are the older toy's alone: elsewhere llama3 scaling is a tensor.
    File todays("llama", false);
    todays.writer.set("llama.rope.scaling.type", std::string("llama3"));
    EXPECT_NE(refusal(todays.write("todays.gguf")).find("'llama3'"), std::string::npos);
}

}  // namespace
}  // namespace toy
