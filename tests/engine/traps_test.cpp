// Rows of traps.md, sections B8 (context, cache, positions) and B9 (model arithmetic), by the issue that tells of them:
// lcpp is llama.cpp, ik is ik_llama.cpp. Rows that other tests hold are named at the end.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "engine/cache_shift.h"
#include "engine/generator.h"
#include "support/family_models.h"
#include "support/random_model.h"
#include "tensor/transfer.h"

namespace toy {
namespace {

std::shared_ptr<const Model> load(const std::string& name) {
    return Model::load(test::family_file(name), Device::cpu());
}

Inference::Options options(int64_t context, DType cache = DType::F32, bool flash = true) {
    return {.threads = 1, .context = context, .cache_type = cache, .flash_attention = flash, .repack = false};
}

std::vector<double> log_probs(std::span<const float> rows, size_t width) {
    std::vector<double> all;
    for (size_t at = 0; at < rows.size(); at += width) {
        const auto row = rows.subspan(at, width);
        const double total = log_sum_exp(row);
        for (float logit : row) all.push_back(logit - total);
    }
    return all;
}

// Log-probabilities of all positions of one text in one step.
std::vector<double> score(Inference& inference, std::span<const int32_t> ids, bool is_long = false) {
    Piece piece{0, 0, ids, {}, is_long};
    for (size_t i = 0; i < ids.size(); ++i) piece.outputs.push_back(static_cast<int32_t>(i));
    return log_probs(inference.step({&piece, 1}), static_cast<size_t>(inference.model().spec().vocabulary));
}

double mean_kl(const std::vector<double>& reference, const std::vector<double>& other, size_t width) {
    double sum = 0;
    for (size_t i = 0; i < reference.size(); ++i) sum += std::exp(reference[i]) * (reference[i] - other[i]);
    return sum / static_cast<double>(reference.size() / width);
}

// lcpp#3969: a context that shifts for ever. Ours does not shift unasked: the text ends.
TEST(TrapsB8, Lcpp3969_GenerationEndsWhereTheContextEnds) {
    Inference inference(load("llama:f32"), Device::cpu(), options(24));
    Generator generator(inference, nullptr);
    int tokens = 0;
    std::optional<FinishReason> reason;
    Request request;
    request.prompt = test::random_tokens(512, 10);
    request.max_tokens = -1;
    generator.add(
        request, [&](const GeneratedToken&) { ++tokens; }, [&](const Finish& end) { reason = end.reason; });
    generator.run();
    EXPECT_EQ(reason, FinishReason::length);
    EXPECT_EQ(tokens, 24 - 10 + 1);  // the last one is chosen and not computed
}

// lcpp#17267: overflow during decoding mishandled.
TEST(TrapsB8, Lcpp17267_AStepBeyondTheContextIsRefused) {
    Inference inference(load("llama:f32"), Device::cpu(), options(16));
    const std::vector<int32_t> ids = test::random_tokens(512, 17);
    EXPECT_THROW(score(inference, ids), Error);
    score(inference, std::span(ids).first(16));
    const Piece next{0, 16, std::span(ids).first(1), {0}, false};
    EXPECT_THROW(inference.step({&next, 1}), Error);
}

// ollama#17889, #17427, #11283: prompts cut without a word.
TEST(TrapsB8, Ollama17889_APromptThatDoesNotFitIsRefused) {
    Inference inference(load("llama:f32"), Device::cpu(), options(16));
    Generator generator(inference, nullptr);
    Request request;
    request.prompt = test::random_tokens(512, 17);
    EXPECT_THROW(generator.add(request, nullptr, nullptr), Error);
}

// lcpp#13113: shifting a quantised cache needs its keys widened, rotated and rounded again.
TEST(TrapsB8, Lcpp13113_AShiftOfAQuantisedCacheIsThatOfTheWideOneRounded) {
    const auto model = load("llama:f32");
    const std::vector<int32_t> ids = test::random_tokens(512, 30);
    std::vector<std::vector<float>> keys;
    for (DType type : {DType::F32, DType::Q8_0}) {
        Inference inference(model, Device::cpu(), options(64, type));
        score(inference, ids);
        shift(inference.cache(), *model, inference.runner(), 0, 3, 7, false);
        keys.push_back(read_rows_f32(inference.cache().keys(0), 0, 23));
    }
    double difference = 0, norm = 0;
    for (size_t i = 0; i < keys[0].size(); ++i) {
        difference += std::pow(static_cast<double>(keys[0][i]) - static_cast<double>(keys[1][i]), 2);
        norm += std::pow(static_cast<double>(keys[0][i]), 2);
    }
    EXPECT_LT(std::sqrt(difference / norm), 1e-2);  // two roundings to 8 bits: 4e-3 each
}

// lcpp#20995, #21038: a q4_0 cache costs 0.358 of perplexity, so it is never what nobody asked for.
TEST(TrapsB8, Lcpp20995_TheCacheIsF16UnlessAskedOtherwise) { EXPECT_EQ(Inference::Options().cache_type, DType::F16); }

// ik#92, #172: quantised caches gave garbage without flash attention. lcpp#21277: windowed layers were left
// unquantised.
TEST(TrapsB8, Ik92_EveryCacheTypeWorksWithAndWithoutFlashAttention) {
    const std::pair<DType, double> types[] = {
        {DType::F16, 2e-6}, {DType::BF16, 1e-4}, {DType::Q8_0, 1e-3}, {DType::Q4_0, 1.5e-1}};  // twice the measured
    for (const char* name : {"llama", "gemma2", "deepseek2"}) {
        const std::filesystem::path path = test::models_folder() / "two-blocks.gguf";
        test::write_family_model(test::with_two_blocks(test::family_model(name)), DType::F32, path);
        const auto model = Model::load(path, Device::cpu());
        const auto width = static_cast<size_t>(model->spec().vocabulary);
        const std::vector<int32_t> ids = test::random_tokens(512, 64);
        Inference wide(model, Device::cpu(), options(64));
        const std::vector<double> reference = score(wide, ids);
        for (const auto& [type, bound] : types) {
            for (bool flash : {true, false}) {
                Inference inference(model, Device::cpu(), options(64, type, flash));
                for (int i = 0; i < model->spec().layers; ++i) EXPECT_EQ(inference.cache().keys(i).dtype(), type);
                const double kl = mean_kl(reference, score(inference, ids), width);
                RecordProperty(fmt::format("{}_{}_{}", name, toy::name(type), flash), fmt::format("{:.1e}", kl));
                EXPECT_LT(kl, bound) << name << ", " << toy::name(type) << ", flash attention " << flash;
            }
        }
    }
}

// The same: combinations that cannot be are refused, here a block of 32 across heads of 16.
TEST(TrapsB8, Ik172_ATypeWhoseBlocksDoNotFitAHeadIsRefused) {
    Spec spec = load("llama:f32")->spec();
    spec.head_size = spec.value_size = 16;
    for (DType type : {DType::Q8_0, DType::Q4_0}) {
        EXPECT_THROW(KvCache(spec, Device::cpu(), {1, 64, type}), Error);
        EXPECT_THROW(KvCache::bytes_for(spec, {1, 64, type}), Error);
    }
    EXPECT_THROW(KvCache(spec, Device::cpu(), {1, 64, DType::Q5_0}), Error);
}

// lcpp#24823: LongRoPE's factors chosen by the size of the context, not by the text.
TEST(TrapsB8, Lcpp24823_AShortTextIsRotatedAlikeInAnyContext) {
    const auto model = load("phi3-longrope:f32");
    EXPECT_FALSE(model->spec().is_long(256));
    EXPECT_TRUE(model->spec().is_long(257));
    Request request;
    request.prompt = test::random_tokens(512, 20);
    request.max_tokens = 4;
    request.logprobs = 0;
    std::vector<std::vector<float>> told;
    for (int64_t context : {64, 1024}) {
        Inference inference(model, Device::cpu(), options(context));
        Generator generator(inference, nullptr);
        told.emplace_back();
        generator.add(
            request, [&](const GeneratedToken& token) { told.back().push_back(token.logprob); }, [](const Finish&) {});
        generator.run();
    }
    ASSERT_EQ(told[0].size(), told[1].size());
    for (size_t i = 0; i < told[0].size(); ++i) EXPECT_NEAR(told[0][i], told[1][i], 1e-5);
}

// ik#1298: a rope parameter mis-read. YaRN's attention factor is the whole magnitude, not one that comes on top.
TEST(TrapsB8, Ik1298_AStatedYarnMagnitudeReplacesTheUsualOne) {
    const float usual = 1.0f + 0.1f * std::log(4.0f);
    for (float stated : {usual, 2.0f}) {
        test::FamilyModel model = test::family_model("llama-yarn");
        model.keys.emplace_back("rope.scaling.yarn_attn_factor", stated);
        const std::filesystem::path path = test::models_folder() / "yarn.gguf";
        test::write_family_model(model, DType::Q8_0, path);
        const Rope rope = Model::load(path, Device::cpu())->spec().layer.front().rope;
        EXPECT_FLOAT_EQ(rope.attn_factor * usual, stated);
    }
}

// transformers#41151, mlxcel#391: whether the weights of the chosen experts are normalised is no key; it is the
// family's. litgpt#2282: softmax over all experts, then the choice.
TEST(TrapsB9, Transformers41151_NormalisationOfExpertWeightsIsTheFamilys) {
    const std::pair<const char*, bool> families[] = {{"olmoe", false},  {"qwen2moe", false},  {"qwen3moe", true},
                                                     {"mixtral", true}, {"granitemoe", true}, {"deepseek2", false}};
    for (const auto& [name, is_normalised] : families) {
        const Routing routing = load(std::string(name) + ":q8_0")->spec().experts.routing;
        EXPECT_EQ(routing.is_normalised, is_normalised) << name;
        EXPECT_EQ(routing.gate, Routing::Gate::softmax) << name;
    }
}

// lcpp#18980: the key of the gating function mis-set.
TEST(TrapsB9, Lcpp18980_AnUnknownGatingFunctionIsRefused) {
    test::FamilyModel model = test::family_model("deepseek2");
    model.keys.emplace_back("expert_gating_func", uint32_t{2});
    const std::filesystem::path path = test::models_folder() / "gating.gguf";
    test::write_family_model(model, DType::Q8_0, path);
    EXPECT_EQ(Model::load(path, Device::cpu())->spec().experts.routing.gate, Routing::Gate::sigmoid);
    model.keys.back().second = uint32_t{7};
    test::write_family_model(model, DType::Q8_0, path);
    EXPECT_THROW(Model::load(path, Device::cpu()), Error);
}

// CTranslate2#1882, exllamav3#218, unsloth#1218, nnterp#54, lcpp#9412: Granite's logits are divided by logit_scale.
TEST(TrapsB9, Lcpp9412_GranitesFourMultipliers) {
    const Spec spec = load("granite:q8_0")->spec();
    EXPECT_FLOAT_EQ(spec.logit_scale, 1.0f / 0.5f);
    EXPECT_FLOAT_EQ(spec.residual_scale, 0.22f);
    EXPECT_FLOAT_EQ(spec.embed_scale, 12.0f);
    EXPECT_FLOAT_EQ(spec.attention_scale, 0.0625f);
}

// 1bit-MONSTER#319, lcpp#5824, #11345 and others: the presence of output.weight decides, in both directions.
TEST(TrapsB9, Lcpp5824_ATiedHeadIsTheEmbedding) {
    const auto tied = load("gpt2:f32"), untied = load("gpt2-untied:f32");
    EXPECT_EQ(tied->decoder.output.weight, tied->decoder.token_embd);
    EXPECT_NE(untied->decoder.output.weight, untied->decoder.token_embd);
}

// Held elsewhere:
// - cached decoding differs from the whole (transformers#25420, #46190; lcpp#7859; mlx-lm#1189; sglang#25790;
//   native-sparse-attention#20): Family.TheCutOfATextDoesNotMatter
// - Phi-3's long factors and scale (lcpp#8262, #6849), Llama 3's scaling (ANEForge#58), rope parameters mis-read
// (ik#1298),
//   Gemma 2's soft-caps and query scale (lcpp#8197, #8183, #8240; vllm#5908): FamilyOracle of phi3-longrope,
//   llama-llama3, llama-yarn, llama-linear, gemma2 and gemma2-27b; flash attention with a soft-cap is compared with the
//   plain one in Family.TheCutOfATextDoesNotMatter
// - the router's type (torchtitan#1448, sglang#35160, transformers#43688): routers are f32 in files; FamilyOracle

}  // namespace
}  // namespace toy
