#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/regex_split.h"

namespace toy {

/// A byte-level vocabulary made by byte-pair encoding: tokens 0 to 255 are the bytes, each merge makes the next.
struct ByteMerges {
    std::vector<std::string> tokens;                  ///< the bytes of each
    std::vector<std::pair<int32_t, int32_t>> merges;  ///< left and right token, in order of rank
};

/// Trains byte-level BPE (Sennrich et al. 2016, arXiv:1508.07909): the words of the texts, as GPT-2's pre-tokenizer
/// cuts them, begin as bytes; over and over the pair of neighbours that occurs most often becomes a token. Of equally
/// frequent pairs the one with the smaller left token comes first, then the one with the smaller right token: the
/// result depends on nothing but the texts. Counts are kept up to date instead of taken anew, over different words
/// only, so that a merge costs what it changes.
class BpeTrainer {
 public:
    BpeTrainer();

    /// Counts the words of a text; any bytes.
    void add(std::string_view text);
    /// Different words so far.
    size_t words() const { return counts_.size(); }

    /// Merges until there are `size` tokens, bytes included; `progress` gets their number as it grows. Throws
    /// Error{bad_input} for a size below 256, and where no pair occurs twice before it is reached, naming what is.
    ByteMerges train(int32_t size, const std::function<void(int32_t)>& progress = {}) const;

 private:
    void count(std::string_view word);

    struct Hash {
        using is_transparent = void;
        size_t operator()(std::string_view text) const;
    };
    RegexSplit split_;
    std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> counts_;
    std::vector<std::string_view> cut_;  // kept for its memory
};

}  // namespace toy
