// toy against llama.cpp: log-probabilities and greedy texts recorded from libllama by scripts/record-oracle.sh
// (protocol in docs/oracle.md): flash attention off, F32 cache, one thread, weights not repacked.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/inference.h"
#include "engine/sampler.h"
#include "support/oracle.h"
#include "support/random_model.h"
#include "support/stories.h"

namespace toy {
namespace {

using nlohmann::json;
using test::fnv1a;
using test::has_recorded_kernels;

// Bounds on the differences of log-probabilities. Measured with the recorded kernels: 5e-7, the rounding of the
// fixtures; with others: largest 1e-5, 1.5e-2 and 6e-2.
struct Tolerance {
    double largest, mean;
};
Tolerance tolerance(const Model& model) {
    const bool is_strict = has_recorded_kernels();
    switch (model.matrices.front().dtype()) {
        case DType::F32: return {1e-4, 1e-4};
        case DType::F16:
        case DType::BF16: return is_strict ? Tolerance{1e-2, 1e-2} : Tolerance{6e-2, 1e-2};
        default: return is_strict ? Tolerance{2e-2, 2e-2} : Tolerance{3e-1, 3e-2};
    }
}

class Oracle : public testing::TestWithParam<std::string> {
 protected:
    const json fixture =
        json::parse(std::ifstream(fmt::format("{}/tests/fixtures/oracle/{}.json", TOY_SOURCE_DIR, GetParam())));
    std::filesystem::path path() const {
        const std::string model = fixture["model"];
        return model.find('/') == model.npos ? test::random_model(model)
                                             : std::filesystem::path(TOY_SOURCE_DIR) / model;
    }
};

TEST_P(Oracle, LogProbabilitiesAndGreedyTokensAreThoseOfLlamaCpp) {
    if (!std::filesystem::exists(path()))
        GTEST_SKIP() << "needs " << fixture["model"] << ", which is not part of this repository";
    ASSERT_EQ(fnv1a(path()), fixture["model_fnv1a"].get<std::string>())
        << "the recorded model is another one: run scripts/record-oracle.sh";
    const auto model = Model::load(path(), Device::cpu());
    Inference inference(model, Device::cpu(),
                        {.threads = 1,
                         .context = fixture["context"],
                         .cache_type = DType::F32,
                         .flash_attention = false,
                         .repack = false});
    std::vector<int32_t> tokens = fixture["tokens"];
    Piece prompt{0, 0, tokens, {}};
    for (size_t i = 0; i < tokens.size(); ++i) prompt.outputs.push_back(static_cast<int32_t>(i));
    const std::vector<float> rows = inference.step({&prompt, 1});
    const auto vocabulary = static_cast<size_t>(model->spec().vocabulary);
    const std::vector<int32_t> ids = fixture["ids"];
    // llama.cpp ignores Mistral's window; up to it both compute the same.
    const int64_t window = model->spec().layer.front().window;
    const size_t compared = window > 0 ? static_cast<size_t>(window) : tokens.size();
    double largest = 0;
    double sum = 0;
    for (size_t i = 0; i < std::min(compared, tokens.size()); ++i) {
        const auto row = std::span(rows).subspan(i * vocabulary, vocabulary);
        const double total = log_sum_exp(row);
        for (size_t k = 0; k < ids.size(); ++k) {
            const double ours = row[static_cast<size_t>(ids[k])] - total;
            const double difference = std::abs(ours - fixture["positions"][i]["log_probs"][k].get<double>());
            ASSERT_FALSE(std::isnan(difference)) << "token " << ids[k];  // a maximum would hide it
            largest = std::max(largest, difference);
            sum += difference;
        }
    }
    const double mean = sum / static_cast<double>(std::min(compared, tokens.size()) * ids.size());
    RecordProperty("largest_difference", fmt::format("{:.2e}", largest));
    RecordProperty("mean_difference", fmt::format("{:.2e}", mean));
    EXPECT_LT(largest, tolerance(*model).largest);
    EXPECT_LT(mean, tolerance(*model).mean);

    std::vector<int32_t> written;
    Sampler sampler({}, model->spec().vocabulary);
    int32_t next = sampler.choose(std::span(rows).last(vocabulary));
    for (size_t i = 0; i < fixture["greedy"].size(); ++i) {
        written.push_back(next);
        const Piece piece{0, static_cast<int64_t>(tokens.size() + i), {&next, 1}, {0}};
        next = sampler.choose(inference.step({&piece, 1}));
    }
    EXPECT_EQ(written, fixture["greedy"].get<std::vector<int32_t>>());
}

INSTANTIATE_TEST_SUITE_P(LlamaCpp, Oracle, testing::ValuesIn(test::fixture_names("oracle")),
                         [](const auto& test) { return test::test_name(test.param); });

}  // namespace
}  // namespace toy
