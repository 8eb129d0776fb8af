#pragma once
#include <bit>
#include <cstdint>
#include <vector>

#include "io/metadata.h"
#include "text/vocabulary.h"

namespace toy {

/// The merges of BPE: which two neighbouring tokens become which third, and in what order.
class Merges {
 public:
    struct Merge {
        int32_t rank;    ///< the lowest is applied first
        int32_t merged;  ///< `none`: these two do not merge
    };
    static constexpr Merge none = {INT32_MAX, Vocabulary::none};
    static constexpr size_t max_merges = size_t{1} << 25;

    /// Reads `tokenizer.ggml.merges`: "left right", in order of rank. Throws Error{bad_input} naming the merge whose
    /// parts, or whose result, are no tokens.
    Merges(const Metadata& metadata, const Vocabulary& vocabulary);

    Merge find(int32_t left, int32_t right) const {
        const Slot& slot = slots_[locate(key(left, right))];
        return slot.key == free ? none : slot.merge;
    }

 private:
    static constexpr uint64_t free = UINT64_MAX;
    struct Slot {
        uint64_t key = free;
        Merge merge = none;
    };
    static uint64_t key(int32_t left, int32_t right) {
        return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
    }
    size_t home(uint64_t pair) const {
        uint64_t hash = pair * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
        return (hash * 0xD6E8FEB86659FD93u >> 20) & (slots_.size() - 1);
    }
    size_t locate(uint64_t pair) const {
        const size_t mask = slots_.size() - 1;
        size_t at = home(pair);
        while (slots_[at].key != pair && slots_[at].key != free) at = (at + 1) & mask;
        return at;
    }
    void fill(const std::vector<Slot>& merges);
    std::vector<Slot> slots_;  // open addressing, at most two thirds full
};

}  // namespace toy
