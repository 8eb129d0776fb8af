#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "text/segmenter.h"
#include "text/vocabulary.h"

namespace toy {

/// SentencePiece's BPE: no merges but scores. Of all neighbours whose joined text is a token, those with the highest
/// score join first, the leftmost of equals first. Source: Kudo and Richardson 2018 (arXiv:1808.06226), bpe_model.cc.
class Spm : public Segmenter {
 public:
    /// The reference must outlive this. `unknown`: for characters without token where the vocabulary has no bytes.
    Spm(const Vocabulary& vocabulary, std::optional<int32_t> unknown, bool add_space_prefix);

    void encode(std::string_view text, std::vector<int32_t>& ids) const override {
        encode(text, add_space_prefix_, ids);
    }
    void encode_continuation(std::string_view text, std::vector<int32_t>& ids) const override {
        encode(text, false, ids);
    }

 private:
    void encode(std::string_view text, bool add_space, std::vector<int32_t>& ids) const;
    static constexpr uint32_t never = UINT32_MAX;
    struct Symbol {
        uint32_t begin, length;
        int32_t previous, next;     // -1 at the ends
        uint32_t priority = never;  // of joining the next one; the smallest is first
    };
    /// One stretch that is encoded by itself, and what is kept from one to the next.
    struct Work {
        std::string_view text = {};
        std::vector<Symbol> symbols = {};
        std::vector<uint64_t> heap = {};  // priority << 32 | index of the left symbol; the smallest is on top
        bool after_unknown = false;
    };
    void encode_stretch(Work& work, std::vector<int32_t>& ids) const;
    void look_right(Work& work, int32_t left) const;
    void join_all(Work& work) const;
    void append_bytes(std::string_view character, std::vector<int32_t>& ids, bool& after_unknown) const;

    const Vocabulary& vocabulary_;
    std::optional<int32_t> unknown_;
    bool add_space_prefix_;
    bool spaces_begin_tokens_;  // in no token does "▁" follow anything but "▁"
};

}  // namespace toy
