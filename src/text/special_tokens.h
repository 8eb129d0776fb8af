#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace toy {

/// The tokens with a role, and what is added around a text. Ids are inside the vocabulary.
struct SpecialTokens {
    std::optional<int32_t> bos, eos, eot, eom, unknown, separator, padding, mask;
    bool add_bos = false, add_eos = false;
    std::vector<int32_t> end_of_generation;  ///< ascending

    /// What the kind of tokenizer says where the file is silent.
    struct Defaults {
        bool add_bos = false, add_eos = false;
        std::string_view bos = {}, eos = {}, unknown = {}, separator = {}, padding = {}, mask = {};  ///< texts
        bool always_bos = false;  ///< Gemma 4: files with `add_bos_token` false are wrong
    };
    /// Reads the `tokenizer.ggml.*_token_id` and `add_*_token` keys; also corrects types in the vocabulary, where a
    /// well-known control token ("<|im_end|>") is not marked as one. Throws Error{bad_input} naming the key.
    static SpecialTokens read(const Metadata& metadata, Vocabulary& vocabulary, const Defaults& defaults);
};

}  // namespace toy
