#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "text/tokenizer.h"

namespace toy {

/// Ids to text as they come, in whole UTF-8 characters: a character that ends in a later token is held back until then.
/// Bytes that cannot become a character appear as U+FFFD, so that every string returned is valid UTF-8; on valid text
/// the concatenation equals Tokenizer::decode. Keeps a reference to the tokenizer.
class Detokenizer {
 public:
    /// `previous`: the ids before the first pushed one (the prompt); with any but a BOS at its end, the first space of
    /// what follows stays.
    explicit Detokenizer(const Tokenizer& tokenizer, std::span<const int32_t> previous = {},
                         bool render_special = false);

    /// The text that the id completes; may be empty. Throws Error{bad_input} for an id outside the vocabulary.
    std::string push(int32_t id);
    /// What is still held back, as U+FFFD; empty after a complete character.
    std::string finish();

 private:
    const Tokenizer* tokenizer_;
    bool render_special_;
    bool at_start_;
    std::string pending_;
};

}  // namespace toy
