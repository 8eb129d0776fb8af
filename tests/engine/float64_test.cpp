// toy against the definition of some families in float64 (tests/oracle/float64_models.py), beyond windows too, where
// llama.cpp departs from it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/inference.h"
#include "engine/sampler.h"
#include "support/family_models.h"
#include "support/oracle.h"

namespace toy {
namespace {

using nlohmann::json;

class Float64 : public testing::TestWithParam<std::string> {
 protected:
    const json fixture =
        json::parse(std::ifstream(fmt::format("{}/tests/fixtures/float64/{}.json", TOY_SOURCE_DIR, GetParam())));
};

TEST_P(Float64, LogProbabilitiesAreThoseOfTheDefinition) {
    const std::filesystem::path& path = test::family_file(fixture["model"].get<std::string>());
    ASSERT_EQ(test::fnv1a(path), fixture["model_fnv1a"].get<std::string>())
        << "the recorded model is another one: run scripts/record-oracle.sh";
    const auto model = Model::load(path, Device::cpu());
    Inference inference(model, Device::cpu(), {.threads = 1, .context = 512, .cache_type = DType::F32});
    const std::vector<int32_t> tokens = fixture["tokens"];
    const Piece piece{0, 0, tokens, fixture["positions"].get<std::vector<int32_t>>(), false};
    const std::vector<float> rows = inference.step({&piece, 1});
    const auto width = static_cast<size_t>(model->spec().vocabulary);
    double largest = 0;
    for (size_t r = 0; r < piece.outputs.size(); ++r) {
        const std::vector<float> expected = test::floats_from_base64(fixture["log_probs"][r].get<std::string>());
        const auto row = std::span(rows).subspan(r * width, width);
        const double total = log_sum_exp(row);
        for (size_t i = 0; i < width; ++i) {
            ASSERT_FALSE(std::isnan(row[i]));  // a maximum would hide it
            largest =
                std::max(largest, std::abs(static_cast<double>(row[i]) - total - static_cast<double>(expected[i])));
        }
    }
    RecordProperty("largest_difference", fmt::format("{:.1e}", largest));
    EXPECT_LT(largest, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Definition, Float64, testing::ValuesIn(test::fixture_names("float64")),
                         [](const auto& test) { return test::test_name(test.param); });

}  // namespace
}  // namespace toy
