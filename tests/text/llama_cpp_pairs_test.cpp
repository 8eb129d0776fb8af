// The texts and token ids that come with llama.cpp's vocabularies (models/ggml-vocab-*.gguf.inp and .out; its
// test-tokenizer-0): encoded without BOS and with control tokens as plain text.
#include <gtest/gtest.h>

#include <sstream>

#include "vocabularies.h"

namespace toy::test {
namespace {

std::vector<std::string> split(const std::string& text, const std::string& separator) {
    std::vector<std::string> parts;
    size_t begin = 0;
    for (size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + separator.size()) {
        parts.push_back(text.substr(begin, end - begin));
    }
    parts.push_back(text.substr(begin));
    return parts;
}

class LlamaCppPairs : public testing::TestWithParam<const char*> {};

TEST_P(LlamaCppPairs, AreExact) {
    const std::string base = std::string(TOY_VOCAB_DIR) + "/ggml-vocab-" + GetParam() + ".gguf";
    const std::vector<std::string> texts = split(read_file(base + ".inp"), "\n__ggml_vocab_test__\n");
    std::vector<std::string> outputs = split(read_file(base + ".out"), "\n");
    while (outputs.size() > texts.size() && outputs.back().empty()) outputs.pop_back();
    ASSERT_EQ(texts.size(), outputs.size());
    ASSERT_GT(texts.size(), 40u);
    for (size_t i = 0; i < texts.size(); ++i) {
        std::istringstream line(outputs[i]);
        const std::vector<int32_t> expected(std::istream_iterator<int32_t>(line), {});
        EXPECT_EQ(vocabulary(GetParam()).encode(texts[i], {.add_special = false}), expected) << texts[i];
    }
}

INSTANTIATE_TEST_SUITE_P(All, LlamaCppPairs,
                         testing::Values("bert-bge", "command-r", "deepseek-coder", "deepseek-llm", "falcon", "gemma-4",
                                         "gpt-2", "llama-bpe", "llama-spm", "mpt", "phi-3", "qwen2", "qwen35", "refact",
                                         "starcoder"));

}  // namespace
}  // namespace toy::test
