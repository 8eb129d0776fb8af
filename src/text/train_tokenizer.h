#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/metadata.h"
#include "text/bpe_trainer.h"
#include "text/corpus_reader.h"

namespace toy {

/// What a tokenizer made here is.
enum class TokenizerKind {
    bpe,        ///< byte-level BPE with GPT-2's pre-tokenizer
    character,  ///< one token for each character of the text
    byte,       ///< one token for each of the 256 bytes
};
/// The names that flags take, in the order of the enumeration.
constexpr std::array<std::string_view, 3> k_tokenizer_kind_names = {"bpe", "char", "byte"};

struct TokenizerRecipe {
    TokenizerKind kind = TokenizerKind::bpe;
    int32_t size = 0;  ///< bpe: tokens of the vocabulary, special ones included; otherwise 0, the kind decides
    /// Control tokens beside "<|endoftext|>": "<|im_start|>", "<|im_end|>", … They take the last ids, in this order,
    /// with "<|endoftext|>" before them.
    std::vector<std::string> special_tokens = {};
};

constexpr std::string_view k_end_of_text = "<|endoftext|>";

/// Called as the work goes on: what is being done, and how much of it.
using TrainingProgress = std::function<void(std::string_view what, int64_t done, int64_t total)>;

/// A vocabulary and where it comes from. `metadata` holds the `tokenizer.ggml.*` keys, from which our Tokenizer and
/// llama.cpp read the same ids.
struct TrainedTokenizer {
    Metadata metadata;
    int32_t size = 0;  ///< tokens
    CorpusSource source;
};

/// Trains on all texts of the file or folder. The result depends on the texts and the recipe alone. Throws
/// Error{bad_input} for data that cannot be read, a size that does not fit the kind, and special tokens that are empty,
/// no UTF-8, repeated, or texts of ordinary tokens.
TrainedTokenizer train_tokenizer(const TokenizerRecipe& recipe, const std::filesystem::path& data,
                                 const CorpusOptions& options, const TrainingProgress& progress = {});

/// The tokenizers from their parts. BOS and EOS are "<|endoftext|>", and neither is added to texts.
Metadata make_bpe_tokenizer(const ByteMerges& merges, std::span<const std::string> special_tokens);
/// Token b is the byte b, 256 is "<|endoftext|>".
Metadata make_byte_tokenizer(std::span<const std::string> special_tokens);
/// Token i is the i-th of the characters, which are all different. Throws Error{bad_input} for U+2581, which stands for
/// the space in this kind of file, and for U+0000, which llama.cpp cannot hold.
Metadata make_character_tokenizer(std::span<const char32_t> characters, std::span<const std::string> special_tokens);

/// Writes a GGUF file that holds a vocabulary alone.
void write_tokenizer(const Metadata& metadata, const std::filesystem::path& path);

}  // namespace toy
