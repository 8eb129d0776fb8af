#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/error.h"

namespace toy {
namespace {

constexpr float k_minus_infinity = -std::numeric_limits<float>::infinity();

std::map<int32_t, double> frequencies(Sampling sampling, const std::vector<float>& logits, int draws = 20000) {
    std::map<int32_t, double> counts;
    // A fresh sampler for each seed: the first draw of many seeds must be as random as many draws of one.
    for (int i = 0; i < draws; ++i) {
        sampling.seed = static_cast<uint64_t>(i);
        Sampler sampler(sampling, static_cast<int64_t>(logits.size()));
        counts[sampler.choose(logits)] += 1.0 / draws;
    }
    return counts;
}

std::string error_of(const Sampling& sampling) {
    try {
        check(sampling, 4);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::Kind::bad_input);
        return error.what();
    }
    return "no error";
}

const std::vector<float> k_logits = {std::log(0.5f), std::log(0.25f), std::log(0.15f), std::log(0.1f)};

TEST(Sampler, GreedyTakesTheFirstOfTheMostLikely) {
    Sampler sampler({}, 4);
    EXPECT_EQ(sampler.choose(std::vector<float>{1, 3, 3, 2}), 1);
}

TEST(Sampler, TemperatureOneDrawsFromTheDistribution) {
    auto seen = frequencies({.temperature = 1.0f}, k_logits);
    EXPECT_NEAR(seen[0], 0.5, 0.015);
    EXPECT_NEAR(seen[1], 0.25, 0.015);
    EXPECT_NEAR(seen[2], 0.15, 0.015);
    EXPECT_NEAR(seen[3], 0.1, 0.015);
}

TEST(Sampler, TemperatureTwoFlattensIt) {
    auto seen = frequencies({.temperature = 2.0f}, k_logits);
    double total = 0;
    for (double p : {0.5, 0.25, 0.15, 0.1}) total += std::sqrt(p);
    EXPECT_NEAR(seen[0], std::sqrt(0.5) / total, 0.015);
    EXPECT_NEAR(seen[3], std::sqrt(0.1) / total, 0.015);
}

TEST(Sampler, TopKKeepsTheMostLikely) {
    auto seen = frequencies({.temperature = 1.0f, .top_k = 2}, k_logits);
    EXPECT_EQ(seen.size(), 2u);
    EXPECT_NEAR(seen[0], 2.0 / 3, 0.015);
}

TEST(Sampler, TopPKeepsTheFewestThatReachIt) {
    EXPECT_EQ(frequencies({.temperature = 1.0f, .top_p = 0.5f}, k_logits).size(), 1u);
    EXPECT_EQ(frequencies({.temperature = 1.0f, .top_p = 0.76f}, k_logits).size(), 3u);
}

TEST(Sampler, MinPDropsWhatIsUnlikelyBesideTheBest) {
    EXPECT_EQ(frequencies({.temperature = 1.0f, .min_p = 0.25f}, k_logits).size(), 3u);
}

// Entropy 1.21 nats; the surprises are 0.69, 1.39, 1.90, 2.30: token 1 is the most typical, then 0.
TEST(Sampler, TypicalKeepsWhatIsAsSurprisingAsExpected) {
    auto seen = frequencies({.temperature = 1.0f, .typical = 0.2f}, k_logits);
    EXPECT_EQ(seen.size(), 1u);
    EXPECT_EQ(seen.begin()->first, 1);
    EXPECT_EQ(frequencies({.temperature = 1.0f, .typical = 0.7f}, k_logits).size(), 2u);
}

TEST(Sampler, PenaltiesCountRecentTokensOnly) {
    const std::vector<float> logits = {2.0f, 1.9f, -1.0f, 0.0f};
    Sampler repeat({.repeat_penalty = 2.0f, .repeat_last_n = 1}, 4);
    repeat.accept(0);
    EXPECT_EQ(repeat.choose(logits), 1);  // 2.0/2 < 1.9; now token 1 is the recent one
    EXPECT_EQ(repeat.choose(logits), 0);
    Sampler frequency({.repeat_last_n = -1, .frequency_penalty = 0.06f}, 4);
    EXPECT_EQ(frequency.choose(logits), 0);
    EXPECT_EQ(frequency.choose(logits), 0);
    EXPECT_EQ(frequency.choose(logits), 1);  // 2.0 − 2·0.06 < 1.9
    Sampler presence({.presence_penalty = 0.2f}, 4);
    presence.accept(0);
    EXPECT_EQ(presence.choose(logits), 1);
    Sampler negative({.repeat_penalty = 4.0f}, 2);
    negative.accept(1);
    EXPECT_EQ(negative.choose(std::vector<float>{-3.0f, -1.0f}), 0);  // a negative logit is multiplied
}

TEST(Sampler, BiasAddsAndForbids) {
    Sampler sampler({.logit_bias = {{0, k_minus_infinity}, {3, 5.0f}}}, 4);
    EXPECT_EQ(sampler.choose(k_logits), 3);
    auto seen = frequencies({.temperature = 1.0f, .logit_bias = {{0, k_minus_infinity}}}, k_logits, 2000);
    EXPECT_FALSE(seen.contains(0));
}

TEST(Sampler, SameSeedSameTokensWhateverTheCompany) {
    const auto draw = [](Sampler& sampler) { return sampler.choose(k_logits); };
    Sampler alone({.temperature = 1.0f, .seed = 7}, 4);
    Sampler together({.temperature = 1.0f, .seed = 7}, 4);
    Sampler other({.temperature = 1.0f, .seed = 8}, 4);
    std::vector<int32_t> a, b;
    for (int i = 0; i < 50; ++i) a.push_back(draw(alone));
    for (int i = 0; i < 50; ++i) {
        draw(other);
        b.push_back(draw(together));
    }
    EXPECT_EQ(a, b);
}

TEST(Sampler, ValuesOutOfRangeAreNamed) {
    EXPECT_EQ(error_of({.temperature = -1.0f}), "temperature is -1, but must be a number of at least 0");
    EXPECT_EQ(error_of({.temperature = std::nanf("")}), "temperature is nan, but must be a number of at least 0");
    EXPECT_EQ(error_of({.top_k = -1}), "top-k is -1, but must be at least 0");
    EXPECT_EQ(error_of({.top_p = 0.0f}), "top-p is 0, but must be above 0 and at most 1");
    EXPECT_EQ(error_of({.min_p = 1.5f}), "min-p is 1.5, but must be in 0..1");
    EXPECT_EQ(error_of({.typical = 0.0f}), "typical is 0, but must be above 0 and at most 1");
    EXPECT_EQ(error_of({.repeat_penalty = 0.0f}), "repeat-penalty is 0, but must be above 0");
    EXPECT_EQ(error_of({.repeat_last_n = -2}), "repeat-last-n is -2, but must be -1 (all) or at least 0");
    EXPECT_EQ(error_of({.logit_bias = {{4, 1.0f}}}), "logit-bias: there is no token 4, only 0..3");
}

TEST(Sampler, BrokenLogitsAreAFailureNotAToken) {
    Sampler sampler({.temperature = 1.0f}, 2);
    EXPECT_THROW(sampler.choose(std::vector<float>{std::nanf(""), 0.0f}), Error);
    EXPECT_THROW(sampler.choose(std::vector<float>{k_minus_infinity, k_minus_infinity}), Error);
}

TEST(Logprobs, AreNormalisedAndSorted) {
    const std::vector<TokenLogprob> top = top_logprobs(std::vector<float>{1.0f, 3.0f, 3.0f, -1000.0f}, 3);
    ASSERT_EQ(top.size(), 3u);
    EXPECT_EQ(top[0].id, 1);
    EXPECT_EQ(top[1].id, 2);
    EXPECT_NEAR(std::exp(top[0].logprob) + std::exp(top[1].logprob) + std::exp(top[2].logprob), 1.0, 1e-6);
    EXPECT_NEAR(log_sum_exp(std::vector<float>{1000.0f, 1000.0f}), 1000.0 + std::log(2.0), 1e-9);
}

}  // namespace
}  // namespace toy
