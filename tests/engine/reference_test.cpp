// The engine against a plain model in double precision of our own: what llama.cpp does not compute (Mistral's window
// beyond its first W tokens), and, independently of it, the rest.
#include "support/reference_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/full_sequence.h"
#include "engine/inference.h"
#include "engine/sampler.h"
#include "support/random_model.h"

namespace toy {
namespace {

constexpr size_t k_tokens = 32;
constexpr size_t k_vocabulary = 512;
// Measured: up to 2.9e-5, with a tied head, whose logits here reach ±100; 5e-6 otherwise.
constexpr double k_tolerance = 6e-5;

double log_sum_exp(const double* row) {
    const double most = *std::max_element(row, row + k_vocabulary);
    double sum = 0;
    for (size_t i = 0; i < k_vocabulary; ++i) sum += std::exp(row[i] - most);
    return most + std::log(sum);
}

double largest_difference(std::span<const float> ours, const std::vector<double>& reference) {
    double largest = 0;
    for (size_t t = 0; t < k_tokens; ++t) {
        const auto row = ours.subspan(t * k_vocabulary, k_vocabulary);
        const double our_total = toy::log_sum_exp(row);
        const double total = log_sum_exp(&reference[t * k_vocabulary]);
        for (size_t i = 0; i < k_vocabulary; ++i) {
            const double difference = std::abs(row[i] - our_total - (reference[t * k_vocabulary + i] - total));
            if (!(difference <= largest)) largest = difference;  // NaN too, which no bound accepts
        }
    }
    return largest;
}

class Reference : public testing::TestWithParam<const char*> {};

TEST_P(Reference, CachedAndUncachedLogProbabilitiesAreThoseOfTheDefinition) {
    const std::vector<int32_t> tokens = test::random_tokens(k_vocabulary, k_tokens);
    const std::vector<double> reference = test::reference_logits(GetParam(), tokens);
    const auto model = Model::load(test::random_model(GetParam()), Device::cpu());
    for (bool fused : {false, true}) {
        Runner runner(Device::cpu(), 2);
        EXPECT_LT(
            largest_difference(full_logits(*model, runner, tokens, fused ? AttentionForm::fused : AttentionForm::plain),
                               reference),
            k_tolerance);
        Inference inference(model, Device::cpu(),
                            {.threads = 2, .context = 64, .cache_type = DType::F32, .flash_attention = fused});
        Piece piece{0, 0, tokens, {}};
        for (size_t i = 0; i < k_tokens; ++i) piece.outputs.push_back(static_cast<int32_t>(i));
        EXPECT_LT(largest_difference(inference.step({&piece, 1}), reference), k_tolerance);
    }
}

INSTANTIATE_TEST_SUITE_P(Llama, Reference,
                         testing::Values("f32-d64-g3", "f32-d32-g8-tied", "f32-d64-g3-llama3", "f32-d64-g3-bias",
                                         "f32-d64-g3-w20", "f32-d64-g3-w8", "f32-d64-g3-w1"),
                         [](const auto& test) {
                             std::string name = test.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

}  // namespace
}  // namespace toy
