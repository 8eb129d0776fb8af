// The commands on a model of every architecture.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "models/family.h"
#include "program.h"
#include "support/family_models.h"
#include "support/oracle.h"

namespace toy {
namespace {

using test::Outcome;
using test::run_toy;
using test::run_toy_json;

// One model for each architecture that has a family: its first.
std::vector<std::string> architectures() {
    std::set<std::string> seen;
    std::vector<std::string> names;
    for (const std::string& name : test::family_model_names()) {
        if (seen.insert(test::family_model(name).architecture).second) names.push_back(name);
    }
    return names;
}

TEST(Families, EveryArchitectureHasAModelInTheTests) {
    std::set<std::string> tested;
    for (const std::string& name : test::family_model_names()) tested.insert(test::family_model(name).architecture);
    for (const Family* family : families()) EXPECT_TRUE(tested.contains(std::string(family->architecture)));
    EXPECT_EQ(tested.size(), families().size());
}

class FamilyCommands : public testing::TestWithParam<std::string> {
 protected:
    const std::string path = test::family_file(GetParam() + ":q8_0").string();
    const bool is_encoder = test::family_model(GetParam()).is_encoder;
};

TEST_P(FamilyCommands, DescribeSaysThatItRuns) {
    const nlohmann::ordered_json told = run_toy_json({"describe", path, "--json"});
    EXPECT_TRUE(told["runs"]) << told["notes"];
    EXPECT_EQ(told["family"], test::family_model(GetParam()).architecture);
    const Outcome text = run_toy({"describe", path, "--brief"});
    EXPECT_EQ(text.code, 0) << text.err;
    EXPECT_EQ(text.out.find("for each sequence by context length") == std::string::npos, is_encoder) << text.out;
}

TEST_P(FamilyCommands, BenchMeasuresIt) {
    const nlohmann::ordered_json told = run_toy_json(
        {"bench", path, "--prompt", "8", "--generate", "3", "--repetitions", "2", "--threads", "1", "--json"});
    EXPECT_EQ(told["results"].size(), is_encoder ? 1u : 2u);
    for (const auto& result : told["results"]) EXPECT_GT(result["avg_ts"].get<double>(), 0.0);
}

TEST_P(FamilyCommands, InferWritesATextOrSaysWhyNot) {
    const Outcome outcome =
        run_toy({"infer", path, "--prompt-ids", "5 6 7", "--n", "4", "--ctx", "64", "--threads", "1", "--ids"});
    if (is_encoder) {
        EXPECT_EQ(outcome.code, 2);
        EXPECT_NE(outcome.err.find("gives embeddings only"), std::string::npos) << outcome.err;
    } else {
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        EXPECT_FALSE(outcome.out.empty());
    }
}

TEST(Families, LearnedPositionsAreNotExceeded) {
    const std::string path = test::family_file("gpt2:q8_0").string();
    const Outcome outcome =
        run_toy({"infer", path, "--prompt-ids", "5", "--n", "1500", "--ctx", "2048", "--threads", "1"});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find("the model has learned 1024 positions"), std::string::npos) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(All, FamilyCommands, testing::ValuesIn(architectures()),
                         [](const auto& test) { return test::test_name(test.param); });

}  // namespace
}  // namespace toy
