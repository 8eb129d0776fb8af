#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/merges.h"
#include "text/pretokenizers.h"
#include "text/regex_split.h"
#include "text/segmenter.h"
#include "text/vocabulary.h"

namespace toy {

/// Byte-pair encoding (Sennrich et al. 2016, arXiv:1508.07909; over bytes: GPT-2): the text is cut into words, each
/// word into its bytes or characters, and neighbours merge, the merge of lowest rank first, the leftmost of equals
/// first.
class Bpe : public Segmenter {
 public:
    /// Both references must outlive this. Throws Error{bad_input} naming the key.
    Bpe(const Metadata& metadata, const Vocabulary& vocabulary, const PreTokenizer& rule);

    void encode(std::string_view text, std::vector<int32_t>& ids) const override;

 private:
    struct Symbol {
        int32_t id;
        int32_t previous, next;  // -1 at the ends
        Merges::Merge with_next;
    };
    /// What one call of `encode` keeps from word to word.
    struct Work {
        std::vector<Symbol> symbols;
        std::vector<uint64_t> heap;  // rank << 32 | index of the left symbol; the smallest is on top
    };

    void encode_word(std::string_view word, Work& work, std::vector<int32_t>& ids) const;
    int32_t whole_word(std::string_view word) const;
    void encode_stray_byte(char byte, Work& work, std::vector<int32_t>& ids) const;
    void append_symbols(std::string_view word, Work& work) const;
    void merge_all(Work& work) const;
    void look_right(Work& work, int32_t left) const;

    const Vocabulary& vocabulary_;
    const PreTokenizer& rule_;
    RegexSplit split_;
    Merges merges_;
    std::array<int32_t, 256> byte_ids_;  // of the tokens that are one byte
    StringIndex words_;                  // by piece, where merges are ignored for whole words
};

}  // namespace toy
