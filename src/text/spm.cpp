#include "text/spm.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string>

#include "core/error.h"
#include "text/utf8.h"

namespace toy {
namespace {

/// Integers in the opposite order of the finite scores: of two's-complement-like IEEE 754 bit patterns, the negative
/// ones must be turned around.
uint32_t priority_of(float score) {
    const auto bits = std::bit_cast<uint32_t>(score + 0.0f);  // + 0 makes -0 equal to 0
    const uint32_t ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return ~ascending;
}

}  // namespace

void Spm::encode(std::string_view text, std::vector<int32_t>& ids) const {
    std::string escaped;
    escaped.reserve(text.size() * 3 / 2 + 3);
    if (add_space_prefix_) escaped += "\u2581";
    for (const char c : text) {
        if (c == ' ') {
            escaped += "\u2581";
        } else {
            escaped += c;
        }
    }
    std::vector<Symbol> symbols;
    symbols.reserve(escaped.size());
    for (uint32_t at = 0; at < escaped.size();) {
        const auto length = static_cast<uint32_t>(utf8::decode(std::string_view(escaped).substr(at)).length);
        const auto index = static_cast<int32_t>(symbols.size());
        symbols.push_back({at, length, index - 1, index + 1});
        at += length;
    }
    if (symbols.empty()) return;
    symbols.back().next = -1;
    join_all(escaped, symbols);

    bool after_unknown = false;
    for (int32_t at = 0; at >= 0; at = symbols[at].next) {
        const std::string_view piece = std::string_view(escaped).substr(symbols[at].begin, symbols[at].length);
        const int32_t id = vocabulary_.find_ordinary(piece);
        if (id == Vocabulary::none) {
            append_bytes(piece, ids, after_unknown);
        } else {
            ids.push_back(id);
            after_unknown = false;
        }
    }
}

/// Sets when the symbol joins its right neighbour, and queues it. An entry of the heap counts as long as its priority
/// is still that of its symbol.
void Spm::look_right(std::string_view text, std::vector<Symbol>& symbols, std::vector<uint64_t>& heap,
                     int32_t left) const {
    Symbol& symbol = symbols[left];
    symbol.priority = never;
    if (symbol.next < 0) return;
    const size_t length = symbol.length + symbols[symbol.next].length;
    if (length > vocabulary_.longest_text()) return;
    const int32_t joined = vocabulary_.find_ordinary(text.substr(symbol.begin, length));
    if (joined == Vocabulary::none) return;
    symbol.priority = priority_of(vocabulary_.score(joined));
    heap.push_back(static_cast<uint64_t>(symbol.priority) << 32 | static_cast<uint32_t>(left));
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
}

void Spm::join_all(std::string_view text, std::vector<Symbol>& symbols) const {
    std::vector<uint64_t> heap;
    for (size_t i = 0; i < symbols.size(); ++i) look_right(text, symbols, heap, static_cast<int32_t>(i));
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end(), std::greater<>());
        const uint64_t top = heap.back();
        heap.pop_back();
        const auto at = static_cast<int32_t>(top & UINT32_MAX);
        Symbol& left = symbols[at];
        if (left.priority != static_cast<uint32_t>(top >> 32)) continue;
        Symbol& right = symbols[left.next];
        left.length += right.length;
        left.next = right.next;
        right.priority = never;
        if (left.next >= 0) symbols[left.next].previous = at;
        look_right(text, symbols, heap, at);
        if (left.previous >= 0) look_right(text, symbols, heap, left.previous);
    }
}

/// A character that is no token: its bytes, or one unknown token for a run of such characters.
void Spm::append_bytes(std::string_view character, std::vector<int32_t>& ids, bool& after_unknown) const {
    const auto token = [&](char byte) { return vocabulary_.byte_token(static_cast<uint8_t>(byte)); };
    const bool has_bytes =
        std::none_of(character.begin(), character.end(), [&](char c) { return token(c) == Vocabulary::none; });
    if (has_bytes) {
        for (const char c : character) ids.push_back(token(c));
        after_unknown = false;
        return;
    }
    if (!unknown_) {
        bad_input("the model's vocabulary has no token for the byte 0x{:02X}, and no unknown token",
                  static_cast<uint8_t>(character[0]));
    }
    if (!after_unknown) ids.push_back(*unknown_);
    after_unknown = true;
}

}  // namespace toy
