#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include <utility>

#include "text/document.h"
#include "text/jsonl.h"
#include "text/tokenizer.h"

namespace toy {

/// Training texts as documents of token ids, under the tokenizer of the model that learns them. Keeps a reference to
/// the tokenizer.
class DocumentEncoder {
 public:
    struct Options {
        bool parse_special = false;             ///< "<|endoftext|>" in a text becomes that token, not its characters
        EncodeConversation conversations = {};  ///< without one, conversations are refused
    };
    DocumentEncoder(const Tokenizer& tokenizer, Options options)
        : tokenizer_(tokenizer), options_(std::move(options)) {}

    /// BOS where the tokenizer adds one, the text, and the end-of-text token where the vocabulary has one; all of it is
    /// to be predicted.
    Document text(std::string_view text) const;
    /// A stretch of a longer text: no tokens are put around it.
    Document stretch(std::string_view text) const;
    /// BOS where the tokenizer adds one and the prompt, which are read only, then the completion and the end-of-text
    /// token, which are to be predicted. Both texts are encoded by themselves, as at inference the prompt is. Throws
    /// Error{bad_input} where the vocabulary has no end-of-text token: the model would never learn to stop.
    Document completion(std::string_view prompt, std::string_view completion) const;
    /// What the encoder of conversations makes of it. Throws Error{bad_input} where there is none, where nothing is to
    /// be predicted, and where everything is although others than the assistant speak: a template that does not tell
    /// who speaks (Megatron-Bridge#3359).
    Document conversation(const nlohmann::ordered_json& messages) const;

    Document encode(const Sample& sample) const;

 private:
    std::vector<int32_t> ids_of(std::string_view text, bool continuation) const;
    Document begin(bool predicted) const;
    const Tokenizer& tokenizer_;
    Options options_;
};

}  // namespace toy
