// quantize and imatrix, run as a user runs them.
#include <gtest/gtest.h>

#include "io/gguf.h"
#include "models/model.h"
#include "program.h"
#include "support/family_models.h"
#include "support/quantize_models.h"
#include "support/random_model.h"

namespace toy {
namespace {

using test::Outcome;
using test::run_toy;
using test::run_toy_json;
using Json = nlohmann::ordered_json;

TEST(QuantizeCommand, WritesAModelThatRuns) {
    const test::TemporaryFolder folder;
    const std::string output = folder.path() / "out.gguf";
    const Outcome outcome = run_toy({"quantize", test::family_file("llama:f32"), output, "q4_k_m", "--threads", "2"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("32.00 bits per weight"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("q4_K: 13 tensors"), std::string::npos) << outcome.out;
    const auto model = Model::load(output, Device::cpu());
    EXPECT_EQ(model->file.metadata().integer("general.file_type"), 15);
    EXPECT_EQ(run_toy({"infer", output, "--n", "3", "-t", "1"}).code, 0);
    EXPECT_EQ(run_toy_json({"describe", output, "--json"})["runs"], true);
}

TEST(QuantizeCommand, JsonTellsEveryTensorAndFallback) {
    const test::TemporaryFolder folder;
    const std::string input = test::quantize_model("odd"), output = folder.path() / "out.gguf";
    const Json json = run_toy_json({"quantize", input, output, "Q4_K_S", "--json"});
    EXPECT_EQ(json["format"], "toy/quantize-v1");
    EXPECT_EQ(json["type"], "Q4_K_S");
    EXPECT_GT(json["fallbacks"], 30);
    EXPECT_LT(json["bytes_after"], json["bytes_before"]);
    bool is_told = false;
    for (const Json& tensor : json["tensors"]) {
        if (tensor["name"] != "blk.3.ffn_down.weight") continue;
        EXPECT_EQ(tensor["from"], "f32");
        EXPECT_EQ(tensor["to"], "f16");
        EXPECT_EQ(tensor["instead_of"], "q4_K");
        is_told = true;
    }
    EXPECT_TRUE(is_told);
    const Outcome text = run_toy({"quantize", input, output, "Q4_K_S"});
    EXPECT_NE(text.out.find("blk.3.ffn_down.weight [3, 50]: rows of 50 are no whole blocks of q4_K, written as f16"),
              std::string::npos)
        << text.out;
}

TEST(QuantizeCommand, ADryRunTellsTheSameAndWritesNothing) {
    const test::TemporaryFolder folder;
    const std::string input = test::quantize_model("shared"), output = folder.path() / "out.gguf";
    const Json dry = run_toy_json({"quantize", input, output, "Q3_K_M", "--dry-run", "--json"});
    EXPECT_FALSE(std::filesystem::exists(output));
    EXPECT_EQ(run_toy_json({"quantize", input, output, "Q3_K_M", "--json"}), dry);
    std::filesystem::remove(output);
    const Json asking = run_toy_json({"quantize", input, output, "IQ2_XS", "--dry-run", "--json"});
    EXPECT_GT(asking["asking_for_importance"].size(), 30u);
    EXPECT_FALSE(std::filesystem::exists(output));
}

TEST(QuantizeCommand, AliasesAndPureAndCopy) {
    const test::TemporaryFolder folder;
    const std::string input = test::quantize_model("small");
    const auto bytes = [&](const std::vector<std::string>& rest) {
        const std::string output = folder.path() / "out.gguf";
        std::vector<std::string> words{"quantize", input, output};
        words.insert(words.end(), rest.begin(), rest.end());
        const Outcome outcome = run_toy(words);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return test::read_file(output);
    };
    const auto head = [&] { return Gguf::open(folder.path() / "out.gguf").find("output.weight")->type; };
    EXPECT_EQ(bytes({"Q4_K"}), bytes({"q4_k_m"}));
    EXPECT_EQ(head(), DType::Q6_K);
    bytes({"Q4_K", "--pure"});
    EXPECT_EQ(head(), DType::Q4_K);
    const std::string copy = bytes({"COPY"});
    const Gguf copied = Gguf::open(folder.path() / "out.gguf"), original = Gguf::open(input);
    for (const GgufTensor& tensor : original.tensors()) {
        const GgufTensor* same = copied.find(tensor.name);
        ASSERT_NE(same, nullptr);
        EXPECT_TRUE(std::equal(tensor.bytes.begin(), tensor.bytes.end(), same->bytes.begin(), same->bytes.end()));
    }
}

TEST(QuantizeCommand, RefusesWithOneSentence) {
    const test::TemporaryFolder folder;
    const std::string input = test::quantize_model("small"), output = folder.path() / "out.gguf";
    EXPECT_REFUSED(run_toy({"quantize", input, output}), 2, "type");
    EXPECT_REFUSED(run_toy({"quantize", input, output, "Q4_K_X"}), 2, "did you mean 'Q4_K_");
    EXPECT_REFUSED(run_toy({"quantize", input, output, "IQ2_XS"}), 2, "--imatrix");
    EXPECT_REFUSED(run_toy({"quantize", input, input, "Q4_0"}), 2, "is the file that is read");
    EXPECT_REFUSED(run_toy({"quantize", input, "/proc/out.gguf", "Q4_0"}), 1, "cannot be written");
    EXPECT_REFUSED(run_toy({"quantize", input, folder.path() / "none/out.gguf", "Q4_0"}), 2, "does not exist");
    EXPECT_REFUSED(run_toy({"quantize", test::quantize_model("requantized"), output, "Q4_0"}), 2, "--allow-requantize");
    folder.write("text.dat", "no importance matrix");
    EXPECT_REFUSED(run_toy({"quantize", input, output, "Q4_0", "--imatrix", folder.path() / "text.dat"}), 2,
                   "is no importance matrix");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

// From a text to a matrix to a model of two bits.
TEST(ImatrixCommand, ItsMatrixServesQuantize) {
    const test::TemporaryFolder folder;
    std::string words;
    for (int i = 0; i < 400; ++i) words += "word " + std::to_string(i * 7919 % 1000) + " ";
    const std::string text = folder.write("text.txt", words), matrix = folder.path() / "matrix.gguf";
    const std::string model = test::random_model("f32-d64"), output = folder.path() / "out.gguf";
    const Json json =
        run_toy_json({"imatrix", model, text, matrix, "--chunk", "64", "--chunks", "3", "--threads", "1", "--json"});
    EXPECT_EQ(json["format"], "toy/imatrix-v1");
    EXPECT_EQ(json["chunks"], 3);
    const Gguf file = Gguf::open(matrix);
    EXPECT_EQ(file.metadata().string("general.type"), "imatrix");
    EXPECT_EQ(file.metadata().integer("imatrix.chunk_size"), 64);
    EXPECT_NE(file.find("blk.0.attn_q.weight.in_sum2"), nullptr);
    EXPECT_EQ(file.find("output.weight.in_sum2"), nullptr);
    const std::string first = test::read_file(matrix);
    EXPECT_EQ(run_toy({"imatrix", model, text, matrix, "--chunk", "64", "--chunks", "3", "-t", "1"}).code, 0);
    EXPECT_EQ(test::read_file(matrix), first);  // the same bytes each time
    const Outcome outcome = run_toy({"quantize", model, output, "Q2_K_S", "--imatrix", matrix});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const Gguf written = Gguf::open(output);
    EXPECT_EQ(written.metadata().string("quantize.imatrix.file"), "matrix.gguf");
    EXPECT_EQ(written.metadata().integer("quantize.imatrix.chunks_count"), 3);
    EXPECT_REFUSED(run_toy({"imatrix", model, text, matrix, "--chunk", "32768"}), 2, "fewer than");
    EXPECT_REFUSED(run_toy({"imatrix", matrix, text, output}), 2, "general.architecture");
}

}  // namespace
}  // namespace toy
