#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace toy::test {

/// stories260K, a real trained model that is not ours to ship: tests use it where it lies beside the checkout.
inline std::filesystem::path stories_model() {
    return std::filesystem::path(TOY_SOURCE_DIR) / "../shared/models/stories260K.gguf";
}

/// Its greedy continuation of the bare BOS, 200 tokens, as llama2.c prints it.
inline std::string stories_text() {
    std::ifstream file(std::filesystem::path(TOY_SOURCE_DIR) / "../shared/models/stories260K.expected.txt",
                       std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace toy::test

/// Skips the test, and says so, where the model is absent.
#define TOY_NEEDS_STORIES()                                                                                  \
    do {                                                                                                     \
        if (!std::filesystem::exists(toy::test::stories_model())) {                                          \
            GTEST_SKIP() << "needs ../shared/models/stories260K.gguf, which is not part of this repository"; \
        }                                                                                                    \
    } while (false)
