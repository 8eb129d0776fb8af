#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/trie.h"
#include "text/vocabulary.h"

namespace toy {

/// Finds tokens that are matched as whole texts before the algorithm of the tokenizer sees the rest: the user-defined
/// ones always, control and unknown tokens where asked for. Leftmost match first, the longest of several there.
class AddedTokens {
 public:
    /// A stretch of text, or one token.
    struct Fragment {
        std::string_view text;
        int32_t token = Vocabulary::none;
    };
    /// Tokens that swallow the white space beside them. GGUF does not carry this; the names of a few models tell it.
    struct Stripping {
        bool right = false;                            ///< every added token, to its right
        std::vector<std::string_view> not_right = {};  ///< but for those with these texts
        std::vector<std::string_view> left = {};       ///< those with these texts, to their left
    };

    AddedTokens(const Vocabulary& vocabulary, const Stripping& stripping);
    /// The views point into `text`. Empty stretches are left out.
    std::vector<Fragment> split(std::string_view text, bool parse_special) const;

 private:
    struct Entry {
        int32_t id;
        size_t length;
        bool special, strip_left, strip_right;
    };
    const Entry* longest_at(std::string_view text, bool parse_special) const;
    std::vector<Entry> entries_;
    Trie trie_;  // its ids are positions in entries_
};

}  // namespace toy
