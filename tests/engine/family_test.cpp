// What holds for every family alike: it does not matter how a text is cut, with whom it is computed, on how many
// threads, or what was in the cache before.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "engine/cache_shift.h"
#include "engine/embedder.h"
#include "engine/full_sequence.h"
#include "engine/generator.h"
#include "support/family_models.h"
#include "support/oracle.h"
#include "support/random_model.h"
#include "tensor/transfer.h"

namespace toy {
namespace {

// The class tolerance for F32 weights and cache: 1e-5 on a few layers (largest measured: 5e-6). Rounding grows with
// depth: DeepSeek's 27 layers of experts reach 1.5e-4.
double tolerance(const Spec& spec) { return spec.layers > 7 ? 3e-4 : 1e-5; }

Inference::Options options(int threads = 1, int slots = 1) {
    return {.threads = threads, .context = 512, .slots = slots, .cache_type = DType::F32, .repack = false};
}

class Family : public testing::TestWithParam<std::string> {
 protected:
    const std::shared_ptr<const Model> model = Model::load(test::family_file(GetParam() + ":f32"), Device::cpu());
    const Spec& spec = model->spec();

    std::vector<int32_t> tokens(size_t n, uint64_t seed = 1) const {
        return test::random_tokens(spec.vocabulary, n, seed);
    }
    /// Log-probabilities of every position.
    std::vector<double> log_probs(const std::vector<float>& rows) const {
        const auto width = static_cast<size_t>(spec.vocabulary);
        std::vector<double> all;
        for (size_t at = 0; at < rows.size(); at += width) {
            const std::span row = std::span(rows).subspan(at, width);
            const double total = log_sum_exp(row);
            for (float logit : row) all.push_back(logit - total);
        }
        return all;
    }
    /// Logits of all positions, `chunk` tokens at a time.
    std::vector<float> run(Inference& inference, std::span<const int32_t> ids, size_t chunk, int64_t from = 0,
                           int slot = 0) const {
        std::vector<float> all;
        for (size_t done = 0; done < ids.size(); done += chunk) {
            const auto part = ids.subspan(done, std::min(chunk, ids.size() - done));
            Piece piece{slot, from + static_cast<int64_t>(done), part, {}, false};
            for (size_t i = 0; i < part.size(); ++i) piece.outputs.push_back(static_cast<int32_t>(i));
            const std::vector<float> rows = inference.step({&piece, 1});
            all.insert(all.end(), rows.begin(), rows.end());
        }
        return all;
    }
    void expect_near(const std::vector<float>& a, const std::vector<float>& b, const char* what) {
        const std::vector<double> left = log_probs(a), right = log_probs(b);
        ASSERT_EQ(left.size(), right.size()) << what;
        double largest = 0;
        for (size_t i = 0; i < left.size(); ++i) {
            ASSERT_FALSE(std::isnan(left[i]) || std::isnan(right[i])) << what;  // a maximum would hide it
            largest = std::max(largest, std::abs(left[i] - right[i]));
        }
        RecordProperty(what, fmt::format("{:.1e}", largest));
        EXPECT_LT(largest, tolerance(spec)) << what;
    }
};

TEST_P(Family, TheCutOfATextDoesNotMatter) {
    const std::vector<int32_t> ids = tokens(70);
    Runner runner(Device::cpu(), 1);
    const std::vector<float> uncached = full_logits(*model, runner, ids);
    for (size_t chunk : {size_t{1}, size_t{13}, size_t{70}}) {
        Inference inference(model, Device::cpu(), options());
        expect_near(run(inference, ids, chunk), uncached, fmt::format("chunk_{}", chunk).c_str());
    }
    Inference plain(model, Device::cpu(), [] {
        Inference::Options o = options();
        o.flash_attention = false;
        return o;
    }());
    expect_near(run(plain, ids, 70), uncached, "plain_attention");
}

TEST_P(Family, TheNumberOfThreadsDoesNotMatter) {
    const std::vector<int32_t> ids = tokens(40);
    Inference one(model, Device::cpu(), options(1)), two(model, Device::cpu(), options(2));
    expect_near(run(one, ids, 33), run(two, ids, 33), "threads");
}

struct Told {
    std::vector<int32_t> ids;
    std::vector<float> log_probs;
};

// Texts of these prompts, 6 tokens each, `slots` at a time.
std::vector<Told> tell(const std::shared_ptr<const Model>& model, const std::vector<std::vector<int32_t>>& prompts,
                       int slots) {
    Inference inference(model, Device::cpu(), options(1, slots));
    Generator generator(inference, nullptr);
    std::vector<Told> told(prompts.size());
    for (size_t i = 0; i < prompts.size(); ++i) {
        Request request;
        request.prompt = prompts[i];
        request.max_tokens = 6;
        request.logprobs = 0;
        generator.add(
            request,
            [&told, i](const GeneratedToken& token) {
                told[i].ids.push_back(token.id);
                told[i].log_probs.push_back(token.logprob);
            },
            [](const Finish&) {});
    }
    generator.run();
    return told;
}

TEST_P(Family, CompanyDoesNotMatter) {
    // The longest is one of LongRoPE's long ones; the others are not.
    const std::vector<std::vector<int32_t>> prompts = {tokens(9, 2), tokens(270, 3), tokens(1, 4), tokens(33, 5),
                                                       tokens(20, 6)};
    const std::vector<Told> together = tell(model, prompts, 5), alone = tell(model, prompts, 1);
    for (size_t i = 0; i < prompts.size(); ++i) {
        ASSERT_EQ(together[i].ids, alone[i].ids) << "sequence " << i;
        for (size_t t = 0; t < alone[i].ids.size(); ++t) {
            EXPECT_NEAR(together[i].log_probs[t], alone[i].log_probs[t], tolerance(spec));
        }
    }
}

TEST_P(Family, ACopyOfASequenceGoesOnLikeIt) {
    const std::vector<int32_t> ids = tokens(30), rest = tokens(5, 9);
    Inference inference(model, Device::cpu(), options(1, 3));
    run(inference, ids, 30, 0, 0);
    run(inference, tokens(40, 7), 40, 0, 1);  // what the copy replaces
    inference.cache().copy(0, 1, 30);
    inference.cache().copy(0, 2, 30);  // a snapshot to return to
    const std::vector<float> original = run(inference, rest, 1, 30, 0);
    expect_near(run(inference, rest, 1, 30, 1), original, "copied");
    inference.cache().copy(2, 1, 30);
    expect_near(run(inference, rest, 1, 30, 1), original, "restored");
}

TEST_P(Family, WhatASlotHeldBeforeDoesNotMatter) {
    const std::vector<int32_t> ids = tokens(20);
    Inference fresh(model, Device::cpu(), options()), used(model, Device::cpu(), options());
    run(used, tokens(60, 8), 60);
    used.cache().truncate(0, 0);
    expect_near(run(used, ids, 20), run(fresh, ids, 20), "after_removal");
}

TEST_P(Family, ATailCanBeRemovedUnlessTheStateIsRecurrent) {
    const std::vector<int32_t> ids = tokens(30);
    Inference inference(model, Device::cpu(), options());
    const std::vector<float> whole = run(inference, ids, 30);
    const auto half = static_cast<std::ptrdiff_t>(15 * spec.vocabulary);
    if (spec.is_recurrent()) {
        EXPECT_THROW(inference.cache().truncate(0, 15), Error);
        EXPECT_THROW(run(inference, std::span(ids).subspan(15), 15, 15), Error);
        return;
    }
    inference.cache().truncate(0, 15);
    expect_near(run(inference, std::span(ids).subspan(15), 15, 15), {whole.begin() + half, whole.end()}, "again");
}

// Only the first layer's keys do not depend on what was dropped, so they must be those of the text that is left.
TEST_P(Family, AShiftMovesKeys) {
    constexpr int64_t k_keep = 4, k_drop = 9;
    const std::vector<int32_t> ids = tokens(30);
    Inference inference(model, Device::cpu(), options(1, 2));
    run(inference, ids, 30, 0, 0);
    const auto move = [&] { shift(inference.cache(), *model, inference.runner(), 0, k_keep, k_drop, false); };
    if (spec.is_recurrent() || spec.has_position_embd) {
        EXPECT_THROW(move(), Error);
        return;
    }
    move();
    EXPECT_EQ(inference.cache().length(0), 30 - k_drop);
    std::vector<int32_t> left(ids.begin(), ids.begin() + k_keep);
    left.insert(left.end(), ids.begin() + k_keep + k_drop, ids.end());
    run(inference, left, left.size(), 0, 1);
    const auto count = static_cast<int64_t>(left.size());
    const Tensor keys = inference.cache().keys(0);
    const std::vector<float> moved = read_rows_f32(keys, inference.cache().row(0, 0), count);
    const std::vector<float> fresh = read_rows_f32(keys, inference.cache().row(1, 0), count);
    double largest = 0;
    for (size_t i = 0; i < moved.size(); ++i) {
        const double difference = std::abs(moved[i] - fresh[i]);
        ASSERT_FALSE(std::isnan(difference));
        largest = std::max(largest, difference);
    }
    EXPECT_LT(largest, 2e-5);
    EXPECT_THROW(shift(inference.cache(), *model, inference.runner(), 0, 20, 9, false), Error);
}

// The table of docs/taps.md.
std::vector<std::string> taps_of(const Model& model) {
    const Spec& s = model.spec();
    std::vector<std::string> taps = {"embed", "blk.0.post_attn", "hidden", "logits", "output_norm"};
    const auto add = [&](bool is_there, std::initializer_list<const char*> names) {
        for (const char* name : names) {
            if (is_there) taps.push_back(fmt::format("blk.{}.{}", s.layers - 1, name));
        }
    };
    const bool attends = !s.is_recurrent(), is_routed = s.experts.count > 0, has_ffn = s.ffn_width > 0 || is_routed;
    add(s.has_attn_norm, {"attn_norm"});
    add(attends, {"q_rot", "k_rot", "scores", "softmax", "heads", "attn_output"});
    add(attends && s.latent.rank == 0, {"attn_q", "attn_k", "attn_v"});
    add(s.qk_norm != QkNorm::none && s.qk_norm != QkNorm::per_head_own, {"attn_q_norm", "attn_k_norm"});
    add(s.has_post_norms, {"post_attention_norm", "post_ffw_norm"});
    add(has_ffn && s.has_ffn_norm, {"ffn_norm"});
    add(has_ffn && !is_routed, {"ffn_up", "ffn_act", "ffn_down"});
    add(has_ffn && !is_routed && s.gate != FeedForward::Gate::none, {"ffn_gate", "ffn_gated"});
    add(is_routed, {"ffn_gate_inp", "ffn_moe_ids", "ffn_moe_weights", "ffn_gate_exps", "ffn_up_exps", "ffn_down_exps",
                    "ffn_act", "ffn_gated", "ffn_moe_out"});
    add(has_ffn, {"post_ffn"});
    add(!attends, {"ssm_in", "ssm_out"});
    return taps;
}

TEST_P(Family, EveryStepCanBeTapped) {
    const std::vector<int32_t> ids = tokens(8);
    Inference tapped(model, Device::cpu(), options()), untapped(model, Device::cpu(), options());
    std::vector<std::string> seen;
    std::vector<NamedTap> taps;
    for (const std::string& name : taps_of(*model)) {
        taps.push_back({name, [&seen, name](Tensor x) {
                            if (x.dtype() == DType::F32) {
                                EXPECT_EQ(statistics(x).nan_count, 0) << name;
                            }
                            seen.push_back(name);
                        }});
    }
    Piece piece{0, 0, ids, {7}, false};
    expect_near(tapped.step({&piece, 1}, taps), untapped.step({&piece, 1}), "tapped");
    for (const NamedTap& tap : taps) EXPECT_EQ(std::count(seen.begin(), seen.end(), tap.name), 1) << tap.name;
    const NamedTap wrong{"blk.0.nothing", [](Tensor) {}};
    piece.position = 8;
    EXPECT_THROW(tapped.step({&piece, 1}, {&wrong, 1}), Error);
}

std::vector<std::string> families(bool encoders, bool slow) {
    std::vector<std::string> names;
    for (const std::string& name : test::family_model_names()) {
        // Deep twins of models that are here: the oracle has them.
        if (name.ends_with("-27b") || name == "deepseek2-joint") continue;
        if (test::is_slow_family(name) != slow) continue;
        if (test::family_model(name).is_encoder == encoders) names.push_back(name);
    }
    return names;
}
std::string name_of(const testing::TestParamInfo<std::string>& test) { return test::test_name(test.param); }

INSTANTIATE_TEST_SUITE_P(All, Family, testing::ValuesIn(families(false, false)), name_of);
INSTANTIATE_TEST_SUITE_P(SlowAll, Family, testing::ValuesIn(families(false, true)), name_of);

class Encoder : public testing::TestWithParam<std::string> {
 protected:
    const std::shared_ptr<const Model> model = Model::load(test::family_file(GetParam() + ":f32"), Device::cpu());
};

TEST_P(Encoder, CompanyDoesNotMatter) {
    std::vector<std::vector<int32_t>> texts;
    for (size_t n : {1, 40, 7, 100, 16}) texts.push_back(test::random_tokens(512, n, n));
    Embedder embedder(model, Device::cpu(), {.threads = 1});
    const std::vector<std::vector<float>> together = embedder.embed(texts);
    ASSERT_EQ(together.size(), texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
        const std::vector<float> alone = embedder.embed({&texts[i], 1}).front();
        for (size_t k = 0; k < alone.size(); ++k) EXPECT_NEAR(together[i][k], alone[k], 2e-6);
    }
}

TEST_P(Encoder, RefusesWhatItCannotEmbed) {
    Embedder embedder(model, Device::cpu(), {.threads = 1});
    for (const std::vector<int32_t>& text :
         {std::vector<int32_t>{}, std::vector<int32_t>{512}, std::vector<int32_t>{-1}, std::vector<int32_t>(1025, 5)}) {
        EXPECT_THROW(embedder.embed({&text, 1}), Error);
    }
    EXPECT_THROW(Inference(model, Device::cpu(), options()), Error);
}

INSTANTIATE_TEST_SUITE_P(All, Encoder, testing::ValuesIn(families(true, false)), name_of);

}  // namespace
}  // namespace toy
