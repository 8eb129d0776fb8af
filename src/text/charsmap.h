#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/metadata.h"

namespace toy {

/// SentencePiece's `precompiled_charsmap`: a double-array trie (Darts-clone) of texts, each with the text that replaces
/// it (most often NFKC). Layout: u32 size of the array in bytes; the array, u32 units; NUL-terminated replacements.
/// A unit: bit 31 marks a value, whose low 31 bits are an offset into the replacements; otherwise bits 0-7 are the
/// label, bit 8 says that the child under label 0 is a value, bits 10-30 (shifted by 8 if bit 9) are the XOR to the
/// children.
class Charsmap {
 public:
    struct Match {
        size_t consumed;
        std::string_view replacement;
    };
    /// Reads `tokenizer.ggml.precompiled_charsmap` (u8 or i8); without the key, nothing ever matches. Throws
    /// Error{bad_input} where the parts do not fit into it.
    explicit Charsmap(const Metadata& metadata);

    /// The longest text of the map that `text` begins with. Throws Error{bad_input} where the map points outside
    /// itself.
    std::optional<Match> match(std::string_view text) const;

 private:
    uint32_t unit(size_t index) const;
    [[noreturn]] void refuse(std::string_view reason) const;
    std::string origin_;
    std::vector<uint32_t> units_;
    std::string replacements_;
};

}  // namespace toy
