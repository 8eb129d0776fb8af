#include "small_vocabularies.h"

#include <fmt/core.h>

#include "core/error.h"
#include "text/byte_letters.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace toy::test {

Metadata small_gpt2() {
    Metadata metadata("small.gguf");
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte)
        utf8::append(tokens.emplace_back(), byte_to_letter(static_cast<uint8_t>(byte)));
    for (const char* more : {"he", "ll", "llo", "hello", "<|endoftext|>"}) tokens.push_back(more);
    std::vector<int32_t> types(tokens.size(), 1);
    types.back() = 3;
    set(metadata, "model", "gpt2");
    set(metadata, "pre", "gpt-2");
    set(metadata, "tokens", tokens);
    set(metadata, "token_type", types);
    set(metadata, "merges", std::vector<std::string>{"h e", "l l", "ll o", "he llo"});
    set(metadata, "bos_token_id", 260u);
    set(metadata, "eos_token_id", 260u);
    return metadata;
}

Metadata small_llama() {
    Metadata metadata("small.gguf");
    std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
    std::vector<int32_t> types = {2, 3, 3};
    for (int byte = 0; byte < 256; ++byte) tokens.push_back(fmt::format("<0x{:02X}>", byte));
    types.resize(tokens.size(), 6);
    for (const char* more : {"\u2581", "h", "i", "e", "l", "o", "\u2581h", "\u2581hi", "ll"}) tokens.push_back(more);
    types.resize(tokens.size(), 1);
    std::vector<float> scores(tokens.size(), 0);
    for (size_t i = 259; i < tokens.size(); ++i) scores[i] = -static_cast<float>(i);
    set(metadata, "model", "llama");
    set(metadata, "tokens", tokens);
    set(metadata, "token_type", types);
    set(metadata, "scores", scores);
    set(metadata, "bos_token_id", 1u);
    set(metadata, "eos_token_id", 2u);
    set(metadata, "unknown_token_id", 0u);
    return metadata;
}

Metadata small_t5() {
    Metadata metadata("small.gguf");
    set(metadata, "model", "t5");
    set(metadata, "tokens",
        std::vector<std::string>{"<pad>", "</s>", "<unk>", "\u2581", "a", "b", "\u2581a", "\u2581ab"});
    set(metadata, "token_type", std::vector<int32_t>{3, 3, 2, 1, 1, 1, 1, 1});
    set(metadata, "scores", std::vector<float>{0, 0, 0, -2, -3, -3, -4, -5});
    set(metadata, "eos_token_id", 1u);
    set(metadata, "unknown_token_id", 2u);
    set(metadata, "add_space_prefix", true);
    set(metadata, "remove_extra_whitespaces", true);
    return metadata;
}

Metadata small_bert() {
    Metadata metadata("small.gguf");
    set(metadata, "model", "bert");
    set(metadata, "tokens",
        std::vector<std::string>{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "\u2581un", "aff", "able", "\u2581a"});
    set(metadata, "token_type", std::vector<int32_t>{3, 3, 3, 3, 1, 1, 1, 1});
    return metadata;
}

std::vector<std::string> strings(const Metadata& metadata, const char* key) {
    return metadata.strings(std::string("tokenizer.ggml.") + key);
}

std::string refusal(const Metadata& metadata) {
    try {
        Tokenizer::from_metadata(metadata);
        return "";
    } catch (const Error& error) {
        return error.kind() == Error::Kind::bad_input ? error.what() : "not bad_input";
    }
}

}  // namespace toy::test
