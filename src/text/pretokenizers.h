#pragma once
#include <span>
#include <string_view>
#include <vector>

namespace toy {

/// One step of a pre-tokenizer. Each cuts every stretch that the steps before it have left, seen alone, into its
/// matches and what lies between them.
struct SplitStep {
    enum class Kind {
        pattern,                ///< a regular expression in Unicode mode
        thousands,              ///< before every group of three decimal digits, counted from the end of their run
        thousands_at_word_end,  ///< the same, each group alone; only in runs that end at a word boundary
        thousands_after,        ///< groups of three numbers, each cut off behind
    };
    Kind kind = Kind::pattern;
    std::string_view pattern;
};

/// How byte-level BPE cuts a text into words before it merges, and what else comes with the name.
struct PreTokenizer {
    std::string_view name;  ///< `tokenizer.ggml.pre`
    std::span<const SplitStep> steps;
    bool ignore_merges = false;       ///< a word that is a token is that token, whatever the merges say
    bool add_bos = false;             ///< where the file does not say
    bool characters = false;          ///< merges start from characters, not from bytes
    bool escape_spaces = false;       ///< " " is "▁" in tokens
    bool whole_newline_runs = false;  ///< a run of line feeds that is a token is that token
    bool always_bos = false;          ///< even where the file says otherwise
};

/// The pre-tokenizer of that name, or null. docs/tokenizers.md lists all names.
const PreTokenizer* find_pretokenizer(std::string_view name);
std::span<const PreTokenizer> all_pretokenizers();

}  // namespace toy
