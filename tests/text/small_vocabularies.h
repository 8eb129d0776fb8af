#pragma once
#include <string>
#include <utility>
#include <vector>

#include "io/metadata.h"

namespace toy::test {

// Vocabularies that fit into a test. Each is complete and valid; tests break them.

/// Byte-level BPE: the 256 letters, then "he", "ll", "llo", "hello" with their merges, then "<|endoftext|>" (EOS, BOS).
Metadata small_gpt2();
/// SentencePiece BPE: <unk>, <s>, </s>, the 256 bytes, then "▁", letters, "▁h", "▁hi" with scores.
Metadata small_llama();
/// Unigram: <pad>, </s>, <unk>, "▁", letters, "▁a", "▁ab".
Metadata small_t5();
/// WordPiece: [PAD], [UNK], [CLS], [SEP], "▁un", "aff", "able", "▁a".
Metadata small_bert();

inline void set(Metadata& metadata, const char* key, std::vector<std::string> values) {
    metadata.set(std::string("tokenizer.ggml.") + key, Value(Array(std::move(values))));
}
inline void set(Metadata& metadata, const char* key, std::vector<int32_t> values) {
    metadata.set(std::string("tokenizer.ggml.") + key, Value(Array(std::move(values))));
}
inline void set(Metadata& metadata, const char* key, std::vector<float> values) {
    metadata.set(std::string("tokenizer.ggml.") + key, Value(Array(std::move(values))));
}
inline void set(Metadata& metadata, const char* key, std::vector<uint8_t> values) {
    metadata.set(std::string("tokenizer.ggml.") + key, Value(Array(std::move(values))));
}
inline void set(Metadata& metadata, const char* key, const char* value) {
    metadata.set(std::string("tokenizer.ggml.") + key, Value(std::string(value)));
}
inline void set(Metadata& metadata, const char* key, uint32_t value) {
    metadata.set(std::string("tokenizer.ggml.") + key, Value(value));
}
inline void set(Metadata& metadata, const char* key, bool value) {
    metadata.set(std::string("tokenizer.ggml.") + key, Value(value));
}
std::vector<std::string> strings(const Metadata& metadata, const char* key);

/// The sentence of the Error that making a tokenizer throws; "" where it throws none.
std::string refusal(const Metadata& metadata);

}  // namespace toy::test
