#include "engine/generator.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "engine/full_sequence.h"
#include "support/random_model.h"

namespace toy {
namespace {

struct Result {
    std::vector<GeneratedToken> tokens;
    std::string text;
    Finish end;
};

Inference make(const std::string& recipe, Inference::Options options) {
    return Inference(Model::load(test::random_model(recipe), Device::cpu()), Device::cpu(), options);
}

Generator::OnToken into(Result& result) {
    return [&result](const GeneratedToken& token) {
        result.tokens.push_back(token);
        result.text += token.text;
    };
}
Generator::OnFinish end_of(Result& result) {
    return [&result](const Finish& end) {
        result.end = end;
        result.text += end.text;
    };
}

std::vector<int32_t> ids(const Result& result) {
    std::vector<int32_t> all;
    for (const GeneratedToken& token : result.tokens) all.push_back(token.id);
    return all;
}

// The class tolerance for F32 weights with an F32 cache, and what was measured (largest over these tests): 3e-6.
constexpr double k_class_tolerance = 1e-5;

void expect_close(const Result& a, const Result& b, double tolerance) {
    ASSERT_EQ(ids(a), ids(b));
    for (size_t i = 0; i < a.tokens.size(); ++i) {
        EXPECT_NEAR(a.tokens[i].logprob, b.tokens[i].logprob, tolerance) << i;
        ASSERT_EQ(a.tokens[i].top.size(), b.tokens[i].top.size());
        for (size_t k = 0; k < a.tokens[i].top.size(); ++k) {
            EXPECT_NEAR(a.tokens[i].top[k].logprob, b.tokens[i].top[k].logprob, tolerance) << i << " " << k;
        }
    }
}

Request request(size_t prompt, uint64_t seed, int64_t n) {
    Request r;
    r.prompt = test::random_tokens(512, prompt, seed);
    r.max_tokens = n;
    r.logprobs = 5;
    r.prompt_logprobs = true;
    r.ignore_end = true;
    r.sampling = {.temperature = 0.8f, .seed = seed};
    return r;
}

Result alone(const std::string& recipe, Inference::Options options, const Request& r) {
    Inference inference = make(recipe, options);
    Generator generator(inference, nullptr);
    Result result;
    generator.add(r, into(result), end_of(result));
    generator.run();
    return result;
}

const Inference::Options k_f32 = {.threads = 2, .context = 300, .cache_type = DType::F32};

template <class T>
T with(T base, auto change) {
    change(base);
    return base;
}

TEST(Generator, OneChunkOrManyGiveTheSame) {
    const Request r = request(70, 3, 20);
    const Result whole = alone("f32-d64-g3", k_f32, r);
    ASSERT_EQ(whole.tokens.size(), 69u + 20u);
    for (int64_t chunk : {1, 7, 64}) {
        expect_close(alone("f32-d64-g3", with(k_f32, [&](auto& o) { o.chunk = chunk; }), r), whole, k_class_tolerance);
    }
}

TEST(Generator, ThreadsAndFlashAttentionChangeNothingVisible) {
    const Request r = request(40, 5, 20);
    const Result reference = alone("f32-d32-g1", k_f32, r);
    expect_close(alone("f32-d32-g1", with(k_f32, [](auto& o) { o.threads = 1; }), r), reference, k_class_tolerance);
    // More threads than cores wait for each other at every node: a short one.
    const Request brief = request(6, 5, 2);
    expect_close(alone("f32-d32-g1", with(k_f32, [](auto& o) { o.threads = 3; }), brief),
                 alone("f32-d32-g1", k_f32, brief), k_class_tolerance);
    expect_close(alone("f32-d32-g1", with(k_f32, [](auto& o) { o.flash_attention = false; }), r), reference,
                 k_class_tolerance);
}

// vllm#4795, lcpp#7052, lcpp#3014: what a sequence computes must not depend on its company.
TEST(Generator, CompanyChangesNothing) {
    std::vector<Request> requests;
    for (uint64_t i = 0; i < 6; ++i) requests.push_back(request(5 + 9 * i, i, 12 + static_cast<int64_t>(i)));
    Inference inference = make("f32-d64-g3", with(k_f32, [](auto& o) { o.slots = 4; }));
    Generator generator(inference, nullptr);
    std::vector<Result> together(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
        generator.add(requests[i], into(together[i]), end_of(together[i]));
        // The later ones join a batch that runs already.
        if (i % 2 == 1) {
            for (int k = 0; k < 5; ++k) generator.step();
        }
    }
    generator.run();
    for (size_t i = 0; i < requests.size(); ++i) {
        SCOPED_TRACE(i);
        EXPECT_EQ(together[i].end.reason, FinishReason::length);
        expect_close(together[i], alone("f32-d64-g3", k_f32, requests[i]), k_class_tolerance);
    }
}

// llama.cpp's own suite skips this comparison (transformers#25420, lcpp#7859, mlx-lm#1189).
TEST(Generator, CachedEqualsUncached) {
    const auto model = Model::load(test::random_model("f32-d64-g3"), Device::cpu());
    const Result cached = alone("f32-d64-g3", k_f32, request(60, 9, 1));
    Runner runner(Device::cpu(), 2);
    const std::vector<int32_t> prompt = test::random_tokens(512, 60, 9);
    const std::vector<float> rows = full_logits(*model, runner, prompt, AttentionForm::plain);
    for (size_t i = 0; i + 1 < prompt.size(); ++i) {
        const auto row = std::span(rows).subspan(i * 512, 512);
        EXPECT_NEAR(row[static_cast<size_t>(prompt[i + 1])] - log_sum_exp(row), cached.tokens[i].logprob,
                    k_class_tolerance)
            << i;
    }
}

// Tolerances for other types, of DESIGN's classes: single log-probabilities on a model this small.
TEST(Generator, HalfAndQuantisedCachesStayClose) {
    const Request r = request(60, 2, 1);
    const Result reference = alone("f32-d64-g3", k_f32, r);
    const auto largest = [&](DType type) {
        const Result other = alone("f32-d64-g3", with(k_f32, [&](auto& o) { o.cache_type = type; }), r);
        double most = 0;
        for (size_t i = 0; i + 1 < other.tokens.size(); ++i) {
            most = std::max(most, std::abs(static_cast<double>(other.tokens[i].logprob) - reference.tokens[i].logprob));
        }
        return most;
    };
    EXPECT_LT(largest(DType::F16), 1e-2);
    EXPECT_LT(largest(DType::BF16), 3e-2);
    // Measured 3.7e-2; the class tolerance of 3e-2 is for models wide enough that roundings average out.
    EXPECT_LT(largest(DType::Q8_0), 8e-2);
}

TEST(Generator, GraphsAreReused) {
    Inference inference = make("f32-d32-g1", k_f32);
    Generator generator(inference, nullptr);
    Result result;
    generator.add(request(10, 1, 100), into(result), end_of(result));
    generator.run();
    const Inference::Counts counts = inference.counts();
    EXPECT_EQ(counts.misses, 2);  // the prompt's graph and the decoding one
    EXPECT_EQ(counts.hits, 98);
    EXPECT_GT(counts.graph_bytes, 0u);
}

TEST(Generator, StopStringsEndTheTextAndAreNotShown) {
    const auto model = Model::load(test::random_model("f32-d32-g1"), Device::cpu());
    const auto tokenizer = Tokenizer::from_metadata(model->file.metadata());
    Inference inference(model, Device::cpu(), k_f32);
    Generator generator(inference, tokenizer);
    Request r = request(10, 1, 60);
    r.prompt_logprobs = false;
    Result whole;
    generator.add(r, into(whole), end_of(whole));
    generator.run();
    ASSERT_GT(whole.text.size(), 40u);
    const std::string stop = whole.text.substr(20, 9);
    r.stop = {stop};
    Result stopped;
    generator.add(r, into(stopped), end_of(stopped));
    generator.run();
    EXPECT_EQ(stopped.text, whole.text.substr(0, whole.text.find(stop)));
    EXPECT_EQ(stopped.end.reason, FinishReason::stop_string);
    EXPECT_EQ(stopped.end.stop, stop);
    EXPECT_LT(stopped.end.generated_tokens, 60);
}

TEST(Generator, TheContextEndsAGenerationWithoutLimit) {  // lcpp#3969, lcpp#17267: no shift, no overflow
    Inference inference = make("f32-d32-g1", with(k_f32, [](auto& o) { o.context = 40; }));
    Generator generator(inference, nullptr);
    Result result;
    generator.add(with(request(10, 1, -1), [](auto& r) { r.prompt_logprobs = false; }), into(result), end_of(result));
    generator.run();
    EXPECT_EQ(result.end.reason, FinishReason::length);
    EXPECT_EQ(result.tokens.size(), 31u);  // the last one is chosen after token 40 and needs no room
}

TEST(Generator, RefusesWhatCannotBe) {  // ollama#17889: nothing is cut silently
    Inference inference = make("f32-d32-g1", k_f32);
    Generator generator(inference, nullptr);
    Result result;
    const auto error_of = [&](Request r) -> std::string {
        try {
            generator.add(std::move(r), into(result), end_of(result));
        } catch (const Error& error) {
            return error.what();
        }
        return "no error";
    };
    Request r = request(10, 1, 10);
    r.prompt.clear();
    EXPECT_EQ(error_of(r), "the prompt is empty: it needs at least one token");
    r.prompt = {512};
    EXPECT_EQ(error_of(r), "the prompt holds token 512, but there are only 0..511");
    r.prompt = {-1};
    EXPECT_EQ(error_of(r), "the prompt holds token -1, but there are only 0..511");
    EXPECT_EQ(error_of(request(200, 1, 101)), "a prompt of 200 tokens and 101 new ones do not fit the context of 300");
    EXPECT_EQ(error_of(request(301, 1, 0)), "a prompt of 301 tokens and 0 new ones do not fit the context of 300");
    r = request(10, 1, 10);
    r.stop = {"x"};
    EXPECT_EQ(error_of(r), "stop strings need a model with a tokenizer");
    EXPECT_EQ(generator.waiting(), 0u);
}

TEST(Generator, CancellingFreesTheSlotAndLeavesTheOthersAlone) {
    Inference inference = make("f32-d64-g3", with(k_f32, [](auto& o) { o.slots = 2; }));
    Generator generator(inference, nullptr);
    std::vector<Result> results(3);
    std::vector<int> numbers;
    for (size_t i = 0; i < 3; ++i)
        numbers.push_back(generator.add(request(8, i, 30), into(results[i]), end_of(results[i])));
    for (int i = 0; i < 10; ++i) generator.step();
    EXPECT_EQ(generator.waiting(), 1u);
    generator.cancel(numbers[0]);
    generator.cancel(numbers[0]);
    generator.cancel(99);
    generator.run();
    EXPECT_EQ(results[0].end.reason, FinishReason::cancelled);
    EXPECT_EQ(results[2].end.reason, FinishReason::length);
    expect_close(results[1], alone("f32-d64-g3", k_f32, request(8, 1, 30)), k_class_tolerance);
    expect_close(results[2], alone("f32-d64-g3", k_f32, request(8, 2, 30)), k_class_tolerance);
}

TEST(Generator, CallbacksMayCancelAndAdd) {
    Inference inference = make("f32-d32-g1", k_f32);
    Generator generator(inference, nullptr);
    Result first, second;
    int number = -1;
    number = generator.add(
        request(4, 1, 50),
        [&](const GeneratedToken& token) {
            first.tokens.push_back(token);
            if (first.tokens.size() == 5) generator.cancel(number);
        },
        [&](const Finish& end) {
            first.end = end;
            generator.add(request(4, 2, 3), into(second), end_of(second));
        });
    generator.run();
    EXPECT_EQ(first.tokens.size(), 5u);
    EXPECT_EQ(first.end.reason, FinishReason::cancelled);
    EXPECT_EQ(second.end.reason, FinishReason::length);
}

}  // namespace
}  // namespace toy
