#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace toy {

/// A hash of bytes, fast on the few bytes of a token: eight bytes a step, each folded by one 128-bit product.
inline uint64_t hash_bytes(std::string_view bytes) {
    __extension__ using Wide = unsigned __int128;
    constexpr uint64_t odd1 = 0x9E3779B97F4A7C15u, odd2 = 0xD6E8FEB86659FD93u;
    const auto fold = [](uint64_t a, uint64_t b) {
        const Wide product = static_cast<Wide>(a) * b;
        return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    };
    const char* at = bytes.data();
    size_t left = bytes.size();
    uint64_t hash = odd1 ^ left, word = 0;
    for (; left >= 8; at += 8, left -= 8) {
        std::memcpy(&word, at, 8);
        hash = fold(hash ^ word, odd2);
    }
    word = 0;
    if (left >= 4) {  // two loads of four that overlap cover 4 to 7 bytes
        uint32_t low = 0, high = 0;
        std::memcpy(&low, at, 4);
        std::memcpy(&high, at + left - 4, 4);
        word = static_cast<uint64_t>(high) << 32 | low;
    } else if (left > 0) {
        const auto byte = [&](size_t i) { return static_cast<uint64_t>(static_cast<uint8_t>(at[i])); };
        word = byte(0) << 16 | byte(left / 2) << 8 | byte(left - 1);
    }
    return fold(hash ^ word, odd1);
}

/// From strings to their ids: one flat table with open addressing, at most two thirds full. The strings lie in one
/// arena of the caller's, which may move but must not change.
class StringIndex {
 public:
    static constexpr int32_t none = -1;
    struct Span {
        uint32_t at, length;
    };

    void reserve(size_t count) { slots_.assign(std::bit_ceil(count + count / 2 + 1), Slot{}); }

    /// Adds the string, or returns the id that it has already. Not more of them than were reserved.
    int32_t insert(const std::string& arena, Span span, int32_t id) {
        const std::string_view text(arena.data() + span.at, span.length);
        const uint64_t hash = hash_bytes(text);
        Slot& slot = slots_[locate(arena, text, hash)];
        if (slot.id != none) return slot.id;
        slot = {tag(hash), id, span};
        return none;
    }

    int32_t find(const std::string& arena, std::string_view text) const {
        return slots_.empty() ? none : slots_[locate(arena, text, hash_bytes(text))].id;
    }

 private:
    struct Slot {
        uint32_t tag = 0;
        int32_t id = none;
        Span span = {0, 0};
    };
    static uint32_t tag(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

    /// Where the string is, or the free slot where it belongs.
    size_t locate(const std::string& arena, std::string_view text, uint64_t hash) const {
        const size_t mask = slots_.size() - 1;
        for (size_t at = hash & mask;; at = (at + 1) & mask) {
            const Slot& slot = slots_[at];
            if (slot.id == none) return at;
            if (slot.tag != tag(hash) || slot.span.length != text.size()) continue;
            if (std::memcmp(arena.data() + slot.span.at, text.data(), text.size()) == 0) return at;
        }
    }

    std::vector<Slot> slots_;
};

}  // namespace toy
