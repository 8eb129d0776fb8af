#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/metadata.h"
#include "text/segmenter.h"
#include "text/vocabulary.h"

namespace toy {

/// BERT's WordPiece: words of the normalised text (lower case, no accents, as the file says), each cut greedily into
/// the longest tokens from its start. GGUF spells the first piece of a word with "▁", the others without "##". Source:
/// Devlin et al. 2018 (arXiv:1810.04805), tokenization.py of github.com/google-research/bert.
class WordPiece : public Segmenter {
 public:
    /// The reference to the vocabulary must outlive this.
    WordPiece(const Metadata& metadata, const Vocabulary& vocabulary, int32_t unknown);

    void encode(std::string_view text, std::vector<int32_t>& ids) const override;

 private:
    std::vector<std::u32string> words(std::string_view text) const;
    void encode_word(std::u32string_view word, std::vector<int32_t>& ids) const;

    const Vocabulary& vocabulary_;
    int32_t unknown_;
    bool lowercase_, strip_accents_;
};

}  // namespace toy
