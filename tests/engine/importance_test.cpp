// Importance matrices: what llama.cpp collects over the same tokens (tests/fixtures/imatrix, docs/oracle.md).
#include "engine/importance.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "support/family_models.h"
#include "support/oracle.h"
#include "support/random_model.h"

namespace toy {
namespace {

using Json = nlohmann::json;

class Importance : public testing::TestWithParam<std::string> {};

TEST_P(Importance, IsThatOfLlamaCpp) {
    std::ifstream in(std::filesystem::path(TOY_SOURCE_DIR) / "tests/fixtures/imatrix" / (GetParam() + ".json"));
    const Json fixture = Json::parse(in);
    const std::filesystem::path& path = test::family_file(fixture.at("model").get<std::string>());
    ASSERT_EQ(test::fnv1a(path), fixture.at("model_fnv1a"));
    const auto model = Model::load(path, Device::cpu());
    Runner runner(Device::cpu(), 1);
    const auto ids = fixture.at("tokens").get<std::vector<int32_t>>();
    ImportanceCollector collector(model, runner, static_cast<int64_t>(ids.size()), false);
    collector.add(ids);
    size_t compared = 0;
    for (const auto& [name, recorded] : fixture.at("weights").items()) {
        const auto found = collector.weights().find(name);
        ASSERT_NE(found, collector.weights().end()) << name;
        EXPECT_EQ(found->second.counts, recorded.at("counts").get<std::vector<int64_t>>()) << name;
        const auto some = recorded.at("every_16th_sum").get<std::vector<double>>();
        ASSERT_EQ((found->second.sums.size() + 15) / 16, some.size()) << name;
        for (size_t i = 0; i < some.size(); ++i) {
            // Two programs round the activations in another order.
            EXPECT_NEAR(found->second.sums[16 * i], some[i], 1e-4 * some[i] + 1e-6) << name << " " << 16 * i;
        }
        ++compared;
    }
    EXPECT_EQ(compared, collector.weights().size());
}

std::vector<std::string> fixtures(bool are_slow) {
    std::vector<std::string> names = test::fixture_names("imatrix");
    std::erase_if(names, [&](const std::string& name) { return test::is_slow_family(name) != are_slow; });
    return names;
}

INSTANTIATE_TEST_SUITE_P(All, Importance, testing::ValuesIn(fixtures(false)),
                         [](const auto& entry) { return test::test_name(entry.param); });
INSTANTIATE_TEST_SUITE_P(Slow, Importance, testing::ValuesIn(fixtures(true)),
                         [](const auto& entry) { return test::test_name(entry.param); });

TEST(ImportanceCollected, ReadsBackFromItsFile) {
    const auto model = Model::load(test::family_file("mixtral:f32"), Device::cpu());
    Runner runner(Device::cpu(), 2);
    ImportanceCollector collector(model, runner, 32, true);
    for (uint64_t seed = 1; seed <= 3; ++seed) collector.add(test::random_tokens(512, 32, seed));
    EXPECT_TRUE(collector.weights().contains("output.weight"));
    EXPECT_EQ(collector.weights().at("output.weight").counts, std::vector<int64_t>{96});
    const std::filesystem::path path = test::models_folder() / "collected.gguf";
    write_imatrix(path, collector.weights(), "words.txt", 3, 32);
    const ImportanceMatrix read = read_imatrix(path);
    EXPECT_EQ(read.chunks, 3);
    EXPECT_EQ(read.datasets, std::vector<std::string>{"words.txt"});
    ASSERT_EQ(read.weights.size(), collector.weights().size());
    for (const auto& [name, entry] : collector.weights()) {
        const std::vector<float>& means = read.weights.at(name);
        ASSERT_EQ(means.size(), entry.sums.size()) << name;
        const size_t each = means.size() / entry.counts.size();
        for (size_t i = 0; i < means.size(); ++i) {
            const auto count = static_cast<double>(entry.counts[i / each]);
            const double mean = count > 0 ? entry.sums[i] / count : 1.0;
            EXPECT_NEAR(means[i], mean, 1e-6 * mean) << name;
        }
    }
    std::filesystem::remove(path);
}

TEST(ImportanceCollected, DoesNotDependOnThreads) {
    const auto model = Model::load(test::family_file("llama:f32"), Device::cpu());
    const auto sums = [&](int threads) {
        Runner runner(Device::cpu(), threads);
        ImportanceCollector collector(model, runner, 16, false);
        collector.add(test::random_tokens(512, 16));
        return collector.weights().at("blk.1.ffn_down.weight").sums;
    };
    const std::vector<double> one = sums(1), two = sums(2);
    for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], two[i], 1e-5 * one[i]);
}

}  // namespace
}  // namespace toy
