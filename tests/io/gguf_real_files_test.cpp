#include <gtest/gtest.h>

#include "io/gguf.h"

namespace toy {
namespace {

std::filesystem::path stories() { return std::filesystem::path(TOY_SOURCE_DIR) / "../shared/models/stories260K.gguf"; }

TEST(GgufFiles, OpensTheStoriesModel) {
    if (!std::filesystem::exists(stories())) GTEST_SKIP() << stories() << " is absent";
    const Gguf gguf = Gguf::open(stories());
    EXPECT_EQ(gguf.metadata().string("general.architecture"), "llama");
    ASSERT_NE(gguf.find("token_embd.weight"), nullptr);
    EXPECT_EQ(gguf.find("token_embd.weight")->ne[0], gguf.metadata().integer("llama.embedding_length"));
}

TEST(GgufFiles, OpensEveryVocabularyOfLlamaCpp) {
    int opened = 0;
    for (const auto& entry : std::filesystem::directory_iterator(TOY_VOCAB_DIR)) {
        if (entry.path().extension() != ".gguf") continue;
        const Gguf gguf = Gguf::open(entry.path());
        EXPECT_TRUE(gguf.metadata().has("tokenizer.ggml.tokens")) << entry.path();
        ++opened;
    }
    EXPECT_GT(opened, 10);
}

}  // namespace
}  // namespace toy
