// describe, tokenize, detokenize and bench, run as a user runs them.
#include <gtest/gtest.h>

#include "cli/bench_report.h"
#include "models/model.h"
#include "program.h"
#include "support/random_model.h"

namespace toy {
namespace {

using test::Outcome;
using test::run_toy;
using test::run_toy_json;
using Json = nlohmann::ordered_json;

std::string model() { return test::random_model("f32-d32"); }

/// A home with one model in the folder of LM Studio, one in ./models, a damaged one and an adapter's name.
struct Home {
    test::TemporaryFolder folder;
    test::Setting setting;
    Home() {
        namespace fs = std::filesystem;
        const fs::path studio = folder.path() / ".lmstudio/models/someone/tiny";
        fs::create_directories(studio);
        fs::create_directories(folder.path() / "here/models");
        fs::copy_file(model(), studio / "tiny-random.gguf");
        fs::copy_file(test::random_model("f32-d64"), folder.path() / "here/models/other.gguf");
        folder.write("here/models/broken.gguf", "GGUF and nothing more");
        setting.folder = folder.path() / "here";
        setting.variables["HOME"] = folder.path().string();
    }
};

TEST(List, ShowsModelsAndWhatIsBroken) {
    const Home home;
    const Outcome outcome = run_toy({"list"}, home.setting);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out.rfind("Found 2 models:\n", 0), 0u) << outcome.out;
    for (const char* part :
         {"tiny-random", "lmstudio", "other", "local", "llama", "F32", "not listed:", "broken.gguf"}) {
        EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
    }
    EXPECT_NE(run_toy({"list", "--all"}, home.setting).out.find("searched, in this order:"), std::string::npos);
}

TEST(List, JsonHasItsShape) {
    const Home home;
    const Json json = run_toy_json({"list", "--json"}, home.setting);
    EXPECT_EQ(json["format"], "toy/list-v1");
    EXPECT_FALSE(json["sources"].empty());
    ASSERT_EQ(json["models"].size(), 2u);
    const auto loaded = Model::load(model(), Device::cpu());
    for (const Json& one : json["models"]) {
        if (one["name"] != "tiny-random") continue;
        EXPECT_EQ(one["family"], "llama");
        EXPECT_EQ(one["n_params"], loaded->parameter_count());
        EXPECT_EQ(one["size_b"], std::filesystem::file_size(model()));
        EXPECT_EQ(one["source"], "lmstudio");
        EXPECT_TRUE(std::filesystem::exists(one["path"].get<std::string>()));
    }
    EXPECT_EQ(json["skipped"].size(), 1u);
}

TEST(List, ShowsWhereItLookedWhenThereIsNothing) {
    const test::TemporaryFolder empty;
    const Outcome outcome = run_toy({"list"}, {.folder = empty.path()});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out.rfind("Found 0 models\n", 0), 0u) << outcome.out;
    EXPECT_NE(outcome.out.find("(absent)"), std::string::npos);
}

TEST(List, NamesServeInPlaceOfPaths) {
    const Home home;
    const Json json = run_toy_json({"describe", "tiny-random", "--json"}, home.setting);
    EXPECT_NE(json["path"].get<std::string>().find("tiny-random.gguf"), std::string::npos);
    EXPECT_EQ(run_toy({"infer", "other", "-t", "1", "--n", "1"}, home.setting).code, 0);
    EXPECT_REFUSED(run_toy({"infer", "absent"}, home.setting), 2, "no model has this name");
}

TEST(Describe, TellsWhatIsInTheFile) {
    const Outcome outcome = run_toy({"describe", model()});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    for (const char* part : {"family      llama", "context     1,024 tokens", "blk.0-2.attn_q.weight", "[512, 256]",
                             "f32", "llama.embedding_length", "256", "(512 × string)", "BOS 1", "q8_0 cache"}) {
        EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
    }
    const std::string brief = run_toy({"describe", model(), "--brief"}).out;
    EXPECT_EQ(outcome.out.rfind(brief, 0), 0u);
    EXPECT_EQ(brief.find("tokenizer.ggml"), std::string::npos);
}

TEST(Describe, JsonHasItsShape) {
    const auto loaded = Model::load(model(), Device::cpu());
    const Json json = run_toy_json({"describe", model(), "--json"});
    EXPECT_EQ(json["format"], "toy/describe-v1");
    EXPECT_EQ(json["path"], model());
    EXPECT_EQ(json["family"], "llama");
    EXPECT_EQ(json["n_params"], loaded->parameter_count());
    EXPECT_EQ(json["runs"], true);
    EXPECT_EQ(json["arch"]["layers"], 3);
    EXPECT_EQ(json["tensors"].size(), loaded->file.tensors().size());
    EXPECT_EQ(json["tensors"][0]["shape"], Json({512, 256}));
    EXPECT_EQ(json["types"]["f32"]["tensors"], loaded->file.tensors().size());
    EXPECT_EQ(json["metadata"]["llama.block_count"], 3);
    EXPECT_EQ(json["metadata"]["tokenizer.ggml.tokens"]["count"], 512);
    EXPECT_EQ(json["notes"], Json::array());
    const Json& row = json["memory"].back();
    EXPECT_EQ(row["context"], 1024);
    // 3 layers, 1025 rows (one is spare), keys and values of 256 elements.
    EXPECT_EQ(row["cache_b"]["f32"], 3 * (1024 + 64) * 2 * loaded->spec().kv_heads * 32 * 4);
    EXPECT_EQ(row["cache_b"]["f16"].get<int64_t>() * 2, row["cache_b"]["f32"].get<int64_t>());
}

// A name or value of a stranger's file must not command the terminal.
TEST(Describe, ShowsHostileMetadataHarmlessly) {
    const test::TemporaryFolder folder;
    std::string bytes = test::read_file(model());
    const std::string architecture = "general.architecture";
    const size_t at = bytes.find("llama.block_count");
    ASSERT_NE(at, std::string::npos);
    const size_t value = bytes.find("<0x41>");
    ASSERT_NE(value, std::string::npos);
    bytes.replace(value, 6, "\x1b]0;x\a");
    const std::string hostile = folder.write("hostile.gguf", bytes);
    const Outcome outcome = run_toy({"describe", hostile});
    EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
    EXPECT_NE(run_toy({"tokenize", hostile, "A", "--pieces"}).code, -SIGSEGV);
}

TEST(Tokenize, GivesTheIdsThatInferComputes) {
    const Json infer = run_toy_json({"infer", model(), "-t", "1", "--prompt", "b c </s> d", "--n", "0", "--json"});
    const Json json = run_toy_json({"tokenize", model(), "b c </s> d", "--json"});
    EXPECT_EQ(json["format"], "toy/tokenize-v1");
    EXPECT_EQ(json["ids"], infer["prompt_ids"]);
    EXPECT_EQ(json["tokens"].size(), json["ids"].size());
    EXPECT_EQ(json["ids"][0], 1);
    std::string line;
    for (int id : json["ids"]) line += (line.empty() ? "" : " ") + std::to_string(id);
    EXPECT_EQ(run_toy({"tokenize", model(), "b c </s> d"}).out, line + "\n");
    EXPECT_EQ(run_toy({"tokenize", model()}, {.input = "b c </s> d"}).out, line + "\n");
    const test::TemporaryFolder folder;
    EXPECT_EQ(run_toy({"tokenize", model(), "--file", folder.write("a", "b c </s> d")}).out, line + "\n");
}

TEST(Tokenize, AddsAndParsesSpecialTokensAsAsked) {
    const auto ids = [](const std::vector<std::string>& flags) {
        std::vector<std::string> words{"tokenize", model(), "</s>", "--json"};
        words.insert(words.end(), flags.begin(), flags.end());
        return run_toy_json(words)["ids"];
    };
    EXPECT_EQ(ids({}), Json({1, 2}));
    EXPECT_EQ(ids({"--no-add-special"}), Json({2}));
    EXPECT_GT(ids({"--no-add-special", "--no-parse-special"}).size(), 1u);
    EXPECT_EQ(ids({"--add-special", "--no-parse-special"})[0], 1);
}

TEST(Tokenize, PiecesAreLines) {
    const Outcome outcome = run_toy({"tokenize", model(), "A", "--no-add-special", "--pieces"});
    EXPECT_NE(outcome.out.find("68\t'<0x41>'\n"), std::string::npos) << outcome.out;
}

TEST(Detokenize, GivesBackEveryByte) {
    std::string bytes = "x";
    for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
    bytes += "\n\n";
    const std::string ids = run_toy({"tokenize", model(), "--no-parse-special"}, {.input = bytes}).out;
    EXPECT_EQ(run_toy({"detokenize", model()}, {.input = ids}).out, bytes);
    EXPECT_EQ(run_toy({"detokenize", model(), "1", "68", "69"}).out, "AB");
    EXPECT_EQ(run_toy({"detokenize", model(), "1,68", "2", "--special"}).out, "<s>A</s>");
    const Json json = run_toy_json({"detokenize", model(), "68", "--json"});
    EXPECT_EQ(json["format"], "toy/detokenize-v1");
    EXPECT_EQ(json["text"], "A");
    EXPECT_EQ(run_toy_json({"detokenize", model(), "131", "--json"})["text"], "\xEF\xBF\xBD");  // half a character
}

TEST(Detokenize, RefusesWhatIsNoId) {
    EXPECT_REFUSED(run_toy({"detokenize", model(), "x"}), 2, "'x' is no token id");
    EXPECT_REFUSED(run_toy({"detokenize", model(), "512"}), 2, "512");
    EXPECT_REFUSED(run_toy({"detokenize", model(), "-1"}), 2, "has no flag '-1'");
    EXPECT_REFUSED(run_toy({"detokenize", model()}, {.null_input = true}), 2, "give ids");
    EXPECT_REFUSED(run_toy({"tokenize", model()}, {.null_input = true}), 2, "give a text");
    EXPECT_REFUSED(run_toy({"tokenize", model(), "x", "--file", "y"}), 2, "give one");
}

TEST(Bench, JsonHasItsShape) {
    const Json json = run_toy_json({"bench", model(), "--prompt", "16,0", "--generate", "4", "--depth", "0,8",
                                    "--threads", "1", "--kv-type", "f32,q8_0", "--flash-attention", "1,0",
                                    "--repetitions", "3", "--chunk", "5", "--json"});
    EXPECT_EQ(json["format"], "toy/bench-v1");
    EXPECT_EQ(json["device"], "cpu");
    ASSERT_EQ(json["results"].size(), 2u * 2 * 2 * 2);
    std::set<std::string> tests;
    for (const Json& one : json["results"]) {
        tests.insert(one["test"]);
        EXPECT_EQ(one["samples_ts"].size(), 3u);
        EXPECT_EQ(one["samples_ns"].size(), 3u);
        EXPECT_EQ(one["n_prompt"].get<int>() + one["n_gen"].get<int>(), one["n_prompt"] == 0 ? 4 : 16);
        EXPECT_GT(one["avg_ts"], 0.0);
        EXPECT_GT(one["median_ts"], 0.0);
        EXPECT_EQ(one["chunk"], 5);
    }
    EXPECT_EQ(tests, (std::set<std::string>{"pp16", "tg4", "pp16 @ d8", "tg4 @ d8"}));
}

TEST(Bench, PrintsATable) {
    const Outcome outcome = run_toy({"bench", model(), "-p", "8", "-n", "2", "-t", "1", "-r", "1", "--no-warm-up"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 4);
    EXPECT_NE(outcome.out.find(" pp8 |"), std::string::npos);
    EXPECT_NE(outcome.out.find(" tg2 |"), std::string::npos);
}

TEST(Bench, RefusesWhatItCannotMeasure) {
    EXPECT_REFUSED(run_toy({"bench", model(), "-p", "0", "-n", "0"}), 2, "nothing to measure");
    EXPECT_REFUSED(run_toy({"bench", model(), "--threads", "1,x"}), 2, "'x' is not a whole number");
    EXPECT_REFUSED(run_toy({"bench", model(), "-r", "0"}), 2, "choose 1 to 10000");
    EXPECT_REFUSED(run_toy({"bench", model(), "--kv-type", "f16,q5_0"}), 2, "'q5_0' is none of");
}

TEST(Bench, StatisticsAreThoseOfTheSamples) {
    EXPECT_DOUBLE_EQ(cli::mean({1, 2, 6}), 3);
    EXPECT_DOUBLE_EQ(cli::standard_deviation({1, 2, 6}), std::sqrt(7.0));
    EXPECT_DOUBLE_EQ(cli::standard_deviation({5}), 0);
    EXPECT_DOUBLE_EQ(cli::median({6, 1, 2}), 2);
    EXPECT_DOUBLE_EQ(cli::median({6, 1, 2, 4}), 3);
    cli::BenchCase one{{}, 100, 0, 0, {0.5}};
    EXPECT_EQ(one.speeds(), (std::vector<double>{200}));
}

}  // namespace
}  // namespace toy
