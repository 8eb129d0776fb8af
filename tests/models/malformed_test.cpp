// Files that are sound GGUF, and no sound model: each is refused with one sentence that names the key or the tensor.
// (traps.md E2, "ours to add"; B5.)
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "core/error.h"
#include "io/gguf_writer.h"
#include "models/model.h"
#include "support/random_model.h"

namespace toy {
namespace {

struct Change {
    const char* name;
    std::function<void(Metadata&)> keys = [](Metadata&) {};
    /// May rename (to "" for leaving out) or reshape a tensor.
    std::function<void(std::string& name, std::vector<int64_t>& ne)> tensors = [](std::string&, std::vector<int64_t>&) {
    };
    const char* sentence;
};

// The random model with a change, written anew.
std::filesystem::path write_changed(const Change& change) {
    const Gguf original = Gguf::open(test::random_model("f32-d32-g1"));
    Metadata metadata = original.metadata();
    change.keys(metadata);
    GgufWriter writer;
    for (const auto& [key, value] : metadata.entries()) writer.set(key, value);
    std::vector<std::vector<float>> values;
    for (const GgufTensor& tensor : original.tensors()) {
        std::string name = tensor.name;
        std::vector<int64_t> ne(tensor.ne.begin(), tensor.ne.begin() + tensor.rank);
        change.tensors(name, ne);
        if (name.empty()) continue;
        int64_t count = 1;
        for (int64_t n : ne) count *= n;
        values.emplace_back(static_cast<size_t>(count), 0.5f);
        writer.add_f32(name, DType::F32, ne, values.back());
    }
    const std::filesystem::path path =
        test::random_model("f32-d32-g1").parent_path() / (std::string(change.name) + ".gguf");
    writer.write(path);
    return path;
}

auto set(const char* key, Value value) {
    return [=](Metadata& m) { m.set(key, value); };
}
auto without(const char* key) {
    return [=](Metadata& m) { m.erase(key); };
}
auto reshaped(const char* tensor, std::vector<int64_t> to) {
    return [=](std::string& name, std::vector<int64_t>& ne) {
        if (name == tensor) ne = to;
    };
}
auto renamed(const char* tensor, const char* to) {
    return [=](std::string& name, std::vector<int64_t>&) {
        if (name == tensor) name = to;
    };
}
const auto k_same = [](std::string&, std::vector<int64_t>&) {};
const auto k_as_is = [](Metadata&) {};

void PrintTo(const Change& change, std::ostream* out) { *out << change.name; }

class Malformed : public testing::TestWithParam<Change> {};

TEST_P(Malformed, IsRefusedWithOneSentence) {
    const std::filesystem::path path = write_changed(GetParam());
    try {
        Model::load(path, Device::cpu());
        FAIL() << "was loaded";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::Kind::bad_input);
        EXPECT_EQ(std::string(error.what()), path.string() + ": " + GetParam().sentence);
    }
}

const Change k_changes[] = {
    {"architecture_absent", without("general.architecture"), k_same, "key 'general.architecture' is missing"},
    {"architecture_unknown", set("general.architecture", std::string("gpt5")), k_same,
     "architecture 'gpt5' is not supported; supported: llama, gpt2, qwen2, qwen3, qwen2moe, qwen3moe, smollm3, olmo2, "
     "olmoe, granite, granitemoe, gemma, gemma2, gemma3, phi3, starcoder2, stablelm, falcon, gptneox, deepseek2, "
     "mamba, "
     "mamba2, bert, nomic-bert"},
    {"an_adapter", set("general.type", std::string("adapter")), k_same,
     "this is a file of type 'adapter', not a model"},
    {"layers_absent", without("llama.block_count"), k_same, "key 'llama.block_count' is missing"},
    {"layers_0", set("llama.block_count", uint32_t{0}), k_same,
     "llama.block_count is 0, but must lie in 1..2147483647"},
    {"layers_huge", set("llama.block_count", uint32_t{4000000000u}), k_same,
     "llama.block_count is 4000000000, but must lie in 1..2147483647"},  // lcpp#25821, lcpp#26051
    {"layers_over_limit", set("llama.block_count", uint32_t{100000}), k_same,
     "llama.block_count is 100000, more than 4096"},
    {"layers_more_than_tensors", set("llama.block_count", uint32_t{4}), k_same,
     "there is no tensor 'blk.3.attn_norm.weight'"},
    {"layers_fewer_than_tensors", set("llama.block_count", uint32_t{2}), k_same,
     "tensor 'blk.2.attn_norm.weight' has no place in architecture llama"},
    {"layers_a_string", set("llama.block_count", std::string("3")), k_same,
     "key 'llama.block_count' holds string, expected an integer"},
    {"heads_0", set("llama.attention.head_count", uint32_t{0}), k_same,
     "llama.attention.head_count is 0, but must lie in 1..2147483647"},
    {"heads_negative", set("llama.attention.head_count", int32_t{-8}), k_same,
     "llama.attention.head_count is -8, but must lie in 1..2147483647"},
    {"kv_heads_more", set("llama.attention.head_count_kv", uint32_t{16}), k_same,
     "8 query heads cannot share 16 key heads (llama.attention.head_count, llama.attention.head_count_kv)"},
    {"kv_heads_not_divisible", set("llama.attention.head_count_kv", uint32_t{3}), k_same,
     "8 query heads cannot share 3 key heads (llama.attention.head_count, llama.attention.head_count_kv)"},
    {"heads_not_dividing_width",
     [](Metadata& m) {
         m.erase("llama.attention.key_length");
         m.erase("llama.attention.head_count_kv");
         m.set("llama.attention.head_count", uint32_t{7});
     },
     k_same, "llama.embedding_length = 256 is not divisible by llama.attention.head_count = 7"},
    {"rope_odd", set("llama.rope.dimension_count", uint32_t{31}), k_same,
     "llama.rope.dimension_count = 31 must be even and at most the head size 32"},
    {"rope_wider_than_head", set("llama.rope.dimension_count", uint32_t{64}), k_same,
     "llama.rope.dimension_count = 64 must be even and at most the head size 32"},
    {"rope_scaling_unknown", set("llama.rope.scaling.type", std::string("magic")), k_same,
     "llama.rope.scaling.type is 'magic'; none, linear, yarn and longrope are supported"},
    {"eps_nan", set("llama.attention.layer_norm_rms_epsilon", std::nanf("")), k_same,
     "llama.attention.layer_norm_rms_epsilon is nan, but must be a positive number"},
    {"eps_negative", set("llama.attention.layer_norm_rms_epsilon", -1e-5f), k_same,
     "llama.attention.layer_norm_rms_epsilon is -9.999999747378752e-06, but must be a positive number"},
    {"eps_absent", without("llama.attention.layer_norm_rms_epsilon"), k_same,
     "key 'llama.attention.layer_norm_rms_epsilon' is missing"},
    {"base_0", set("llama.rope.freq_base", 0.0f), k_same, "llama.rope.freq_base is 0, but must be a positive number"},
    {"base_infinite", set("llama.rope.freq_base", INFINITY), k_same,
     "llama.rope.freq_base is inf, but must be a positive number"},
    {"experts_without_a_choice", set("llama.expert_count", uint32_t{8}), k_same,
     "key 'llama.expert_used_count' is missing"},
    {"more_experts_used_than_there_are",
     [](Metadata& m) {
         m.set("llama.expert_count", uint32_t{8});
         m.set("llama.expert_used_count", uint32_t{9});
     },
     k_same, "llama.expert_used_count = 9 is more than llama.expert_count = 8"},
    {"tokens_fewer_than_rows", set("tokenizer.ggml.tokens", Array(std::vector<std::string>(511, "x"))), k_same,
     "tokenizer.ggml.tokens has 511 tokens, but token_embd.weight has 512 rows"},
    {"embedding_absent", k_as_is, renamed("token_embd.weight", ""), "there is no tensor 'token_embd.weight'"},
    {"norm_absent", k_as_is, renamed("blk.1.ffn_norm.weight", ""), "there is no tensor 'blk.1.ffn_norm.weight'"},
    {"wrong_shape", k_as_is, reshaped("blk.0.attn_q.weight", {256, 128}),
     "tensor 'blk.0.attn_q.weight' has the shape [128, 256], expected [256, 256]"},
    {"transposed", k_as_is, reshaped("blk.0.ffn_down.weight", {256, 512}),
     "tensor 'blk.0.ffn_down.weight' has the shape [512, 256], expected [256, 512]"},
    {"zero_dimension", k_as_is, reshaped("blk.0.attn_k.weight", {256, 0}),
     "tensor 'blk.0.attn_k.weight' has the shape [0, 256], expected [256, 256]"},  // lcpp#25596
    {"stray_tensor", k_as_is, renamed("blk.2.ffn_up.weight", "blk.2.FFN_UP.weight"),
     "there is no tensor 'blk.2.ffn_up.weight'"},
};

INSTANTIATE_TEST_SUITE_P(Models, Malformed, testing::ValuesIn(k_changes),
                         [](const auto& test) { return test.param.name; });

TEST(Model, CountsEachWeightOnce) {
    const auto tied = Model::load(test::random_model("f32-d64-g3-tied"), Device::cpu());
    const auto untied = Model::load(test::random_model("f32-d64-g3"), Device::cpu());
    EXPECT_EQ(untied->parameter_count() - tied->parameter_count(), 512 * 256);
    EXPECT_TRUE(tied->spec().is_tied);
    EXPECT_EQ(tied->decoder.output.weight, tied->decoder.token_embd);
    EXPECT_GT(untied->params.mapped_bytes(), 0u);
    EXPECT_EQ(untied->params.allocated_bytes(), 0u);  // nothing was copied
}

}  // namespace
}  // namespace toy
