// toy tokenizer train, run as a user runs it.
#include <gtest/gtest.h>

#include "program.h"

namespace toy::cli {
namespace {

using test::run_toy;
using test::run_toy_json;
using test::TemporaryFolder;

TEST(TokenizerTrain, MakesAFileThatTokenizeTakes) {
    const TemporaryFolder folder;
    const std::string text = "the cat sat on the mat; the cat sat.\n";
    const std::string data = folder.write("a.txt", text);
    const std::string out = folder.path() / "out.gguf";
    for (const std::vector<std::string>& kind :
         {std::vector<std::string>{"--vocab", "265"}, {"--tokenizer", "char"}, {"--tokenizer", "byte"}}) {
        std::vector<std::string> words = {"tokenizer", "train", "--data", data, "--out", out};
        words.insert(words.end(), kind.begin(), kind.end());
        const test::Outcome outcome = run_toy(words);
        ASSERT_EQ(outcome.code, 0) << outcome.err;
        EXPECT_EQ(outcome.err, "");
        const std::string ids = run_toy({"tokenize", out, "--file", data}).out;
        EXPECT_EQ(run_toy({"detokenize", out}, {.input = ids}).out, text);
    }
}

TEST(TokenizerTrain, TellsWhatItMadeAndFromWhat) {
    const TemporaryFolder folder;
    folder.write("a.txt", "abab abab");
    const std::string out = folder.path() / "out.gguf";
    const auto json = run_toy_json({"tokenizer", "train", "--data", folder.path() / "a.txt", "--vocab", "260",
                                    "--special", "<|im_start|>", "--out", out, "--json"});
    EXPECT_EQ(json["format"], "toy/tokenizer-train-v1");
    EXPECT_EQ(json["path"].get<std::string>(), out);
    EXPECT_EQ(json["tokenizer"], "bpe");
    EXPECT_EQ(json["vocab"], 260);
    EXPECT_EQ(json["data"]["files"], 1);
    EXPECT_EQ(json["data"]["bytes"], 9);
    EXPECT_EQ(json["data"]["sha256"], "932b8b5d1b3ac7286b4bbb4ddfb105e59ff234b7db3d0ef0beea00f30c7fd438");
    const auto tokens = run_toy_json({"tokenize", out, "abab<|im_start|>", "--json"})["tokens"];
    ASSERT_EQ(tokens.size(), 2u);
    EXPECT_EQ(tokens[0]["text"], "abab");
    EXPECT_EQ(tokens[1]["id"], 259);
}

TEST(TokenizerTrain, RefusesAndLeavesNothingBehind) {
    const TemporaryFolder folder;
    const std::string data = folder.write("a.txt", "abab");
    const std::string out = folder.path() / "out.gguf";
    const auto train = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"tokenizer", "train"});
        return run_toy(words);
    };
    EXPECT_REFUSED(run_toy({"tokenizer"}), 2, "needs <action>");
    EXPECT_REFUSED(run_toy({"tokenizer", "use"}), 2, "train");
    EXPECT_REFUSED(train({"--out", out}), 2, "give --data");
    EXPECT_REFUSED(train({"--data", data}), 2, "give --out");
    EXPECT_REFUSED(train({"--data", data, "--out", out}), 2, "give --vocab N");
    EXPECT_REFUSED(train({"--data", data, "--out", out, "--vocab", "256"}), 2, "--vocab");
    EXPECT_REFUSED(train({"--data", data, "--out", out, "--vocab", "999"}), 2, "no pair of tokens occurs twice");
    EXPECT_REFUSED(train({"--data", data, "--out", out, "--tokenizer", "char", "--vocab", "999"}), 2, "follows from");
    EXPECT_REFUSED(train({"--data", data, "--out", out, "--data-format", "u16"}), 2, "none of auto, text, jsonl");
    EXPECT_REFUSED(train({"--data", folder.path() / "x", "--out", out, "--tokenizer", "byte"}), 2, "no such file");
    EXPECT_REFUSED(train({"--data", data, "--out", "/none/x.gguf", "--tokenizer", "byte"}), 2, "does not exist");
    EXPECT_FALSE(std::filesystem::exists(out));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
    folder.write("out.gguf", "old");
    EXPECT_REFUSED(train({"--data", data, "--out", out, "--vocab", "999"}), 2, "no pair");
    EXPECT_EQ(test::read_file(out), "old");
}

}  // namespace
}  // namespace toy::cli
