// What each command says of files that are no models it can use: one sentence, the right exit code, no crash.
#include <gtest/gtest.h>

#include <functional>

#include "io/gguf.h"
#include "io/gguf_writer.h"
#include "program.h"
#include "support/random_model.h"

namespace toy {
namespace {

using test::Outcome;
using test::run_toy;
using Words = std::vector<std::string>;

const std::vector<Words> k_uses = {{"infer"}, {"describe"}, {"tokenize", "x"}, {"detokenize"}, {"bench", "-r", "1"}};

// The command with the model as its first word.
Outcome use(const Words& command, const std::string& model) {
    Words words{command[0], model};
    words.insert(words.end(), command.begin() + 1, command.end());
    return run_toy(words, {.input = "1"});
}

TEST(ModelFiles, AreNeeded) {
    for (const Words& command : k_uses) EXPECT_REFUSED(run_toy({command[0]}), 2, "needs <model>");
}

TEST(ModelFiles, MissingFoldersEmptyAndGarbage) {
    const test::TemporaryFolder folder;
    const std::string garbage = folder.write("garbage.gguf", "this is no model at all, but a text of some length");
    const std::string half_magic = folder.write("magic.gguf", "GGUF");
    const std::string empty = folder.write("empty.gguf", "");
    for (const Words& command : k_uses) {
        EXPECT_REFUSED(use(command, folder.path() / "absent.gguf"), 2, "absent.gguf");
        EXPECT_REFUSED(use(command, folder.path()), 2, folder.path().string());
        EXPECT_REFUSED(use(command, empty), 2, "empty.gguf");
        EXPECT_REFUSED(use(command, garbage), 2, "garbage.gguf");
        EXPECT_REFUSED(use(command, half_magic), 2, "magic.gguf");
        EXPECT_REFUSED(use(command, ""), 2, "");
        EXPECT_REFUSED(use(command, "/dev/null"), 2, "/dev/null");
    }
}

TEST(ModelFiles, CutShort) {
    const test::TemporaryFolder folder;
    const std::string whole = test::read_file(test::random_model("f32-d32"));
    for (size_t size : {size_t{1}, size_t{20}, size_t{1000}, size_t{20000}, whole.size() / 2, whole.size() - 1}) {
        const std::string cut = folder.write("cut.gguf", whole.substr(0, size));
        for (const Words& command : k_uses) EXPECT_REFUSED(use(command, cut), 2, "cut.gguf");
    }
}

// The random model with other metadata; `change` may replace a value, and drops the key by returning false.
std::string write_model(const test::TemporaryFolder& folder,
                        const std::function<bool(const std::string& key, Value& value)>& change) {
    const Gguf source = Gguf::open(test::random_model("f32-d32"));
    GgufWriter writer;
    for (auto [key, value] : source.metadata().entries()) {
        if (change(key, value)) writer.set(key, value);
    }
    for (const GgufTensor& tensor : source.tensors()) {
        writer.add(tensor.name, tensor.type, {tensor.ne.begin(), tensor.ne.begin() + tensor.rank}, tensor.bytes);
    }
    const std::filesystem::path path = folder.path() / "model.gguf";
    writer.write(path);
    return path;
}

TEST(ModelFiles, OfAnUnsupportedArchitecture) {
    const test::TemporaryFolder folder;
    const std::string model = write_model(folder, [](const std::string& key, Value& value) {
        if (key == "general.architecture") value = std::string("mamba9");
        return true;
    });
    EXPECT_REFUSED(use({"infer"}, model), 2, "architecture 'mamba9' is not supported; supported: llama");
    EXPECT_REFUSED(use({"bench"}, model), 2, "architecture 'mamba9' is not supported");
    EXPECT_EQ(use({"tokenize", "x"}, model).code, 0);
    const Outcome described = run_toy({"describe", model});
    EXPECT_EQ(described.code, 0);
    EXPECT_NE(described.out.find("toy cannot run this file"), std::string::npos) << described.out;
    EXPECT_EQ(test::run_toy_json({"describe", model, "--json"})["runs"], false);
}

TEST(ModelFiles, WithoutATokenizerTakeIds) {
    const test::TemporaryFolder folder;
    const std::string model =
        write_model(folder, [](const std::string& key, Value&) { return !key.starts_with("tokenizer."); });
    EXPECT_REFUSED(run_toy({"infer", model, "--prompt", "x"}), 2, "pass --prompt-ids");
    EXPECT_REFUSED(run_toy({"tokenize", model, "x"}), 2, "holds no tokenizer");
    EXPECT_REFUSED(run_toy({"detokenize", model, "1"}), 2, "holds no tokenizer");
    EXPECT_REFUSED(run_toy({"infer", model, "--prompt-ids", "1", "--stop", "x"}), 2, "tokenizer");
    const Words ids{"infer", model, "-t", "1", "--kv-type", "f32", "--prompt-ids", "1 7", "--n", "5"};
    const Outcome outcome = run_toy(ids);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    Words as_ids = ids;
    as_ids.emplace_back("--ids");
    as_ids[1] = test::random_model("f32-d32");
    EXPECT_EQ(outcome.out, run_toy(as_ids).out);
    Words as_json = ids;
    as_json.emplace_back("--json");
    const nlohmann::ordered_json json = test::run_toy_json(as_json);
    EXPECT_FALSE(json.contains("text"));
    EXPECT_EQ(json["ids"].size(), 5u);
    EXPECT_EQ(json["note"], "the file holds no tokenizer: ids only");
}

// lcpp#18321: a vocabulary without BOS and EOS.
TEST(ModelFiles, WithoutBosNeedAPrompt) {
    const test::TemporaryFolder folder;
    const std::string model = write_model(folder, [](const std::string& key, Value& value) {
        if (key.ends_with("bos_token_id") || key.ends_with("eos_token_id")) value = UINT32_MAX;  // "none"
        if (key.ends_with("add_bos_token")) value = false;
        if (key == "tokenizer.ggml.tokens") {
            auto& texts = std::get<std::vector<std::string>>(std::get<Array>(value));
            texts[1] = "<one>";  // not a name that stands for BOS or EOS
            texts[2] = "<two>";
        }
        return true;
    });
    EXPECT_REFUSED(run_toy({"infer", model, "--prompt", ""}), 2, "no beginning-of-text token (BOS)");
    const Outcome outcome = run_toy({"infer", model, "-t", "1", "--prompt", "b c"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_FALSE(outcome.out.empty());
}

}  // namespace
}  // namespace toy
