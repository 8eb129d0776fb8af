#include "vocabularies.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "io/gguf.h"

namespace toy::test {

const Metadata& vocabulary_metadata(std::string_view name) {
    static std::map<std::string, Metadata, std::less<>> all;
    const auto known = all.find(name);
    if (known != all.end()) return known->second;
    const std::string path = std::string(TOY_VOCAB_DIR) + "/ggml-vocab-" + std::string(name) + ".gguf";
    return all.emplace(name, Gguf::open(path).metadata()).first->second;
}

const Tokenizer& vocabulary(std::string_view name) {
    static std::map<std::string, std::shared_ptr<const Tokenizer>, std::less<>> all;
    const auto known = all.find(name);
    if (known != all.end()) return *known->second;
    return *all.emplace(name, Tokenizer::from_metadata(vocabulary_metadata(name))).first->second;
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file) << path;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

}  // namespace toy::test
