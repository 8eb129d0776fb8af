#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/charsmap.h"
#include "text/segmenter.h"
#include "text/trie.h"
#include "text/vocabulary.h"

namespace toy {

/// The unigram language model of SentencePiece: of all ways to write the normalised text as tokens, the one with the
/// highest sum of scores (log-probabilities), found by Viterbi. Source: Kudo 2018 (arXiv:1804.10959).
class Unigram : public Segmenter {
 public:
    /// The reference to the vocabulary must outlive this. Throws Error{bad_input} naming the key.
    Unigram(const Metadata& metadata, const Vocabulary& vocabulary, int32_t unknown, bool add_space_prefix);

    void encode(std::string_view text, std::vector<int32_t>& ids) const override;

 private:
    std::string normalise(std::string_view text) const;

    const Vocabulary& vocabulary_;
    Charsmap charsmap_;
    Trie tokens_, user_defined_;
    int32_t unknown_;
    float unknown_score_;
    bool add_space_prefix_, merge_spaces_;
};

}  // namespace toy
