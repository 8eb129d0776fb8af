#include "text/spm.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string>

#include "core/error.h"
#include "text/utf8.h"

namespace toy {
namespace {

constexpr std::string_view escaped_space = "\u2581";

/// Integers in the opposite order of the finite scores: the bit patterns of IEEE 754 rise with the number, but those of
/// negative ones fall.
uint32_t priority_of(float score) {
    const auto bits = std::bit_cast<uint32_t>(score + 0.0f);  // + 0 makes -0 equal to 0
    const uint32_t ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return ~ascending;
}

/// Where the next "▁" stands that does not follow another: the end of the stretch that begins at the start of `text`.
size_t next_word(std::string_view text) {
    size_t at = 0;
    while (text.substr(at).starts_with(escaped_space)) at += escaped_space.size();
    return std::min(text.find(escaped_space, at), text.size());
}

/// A character for a sentence: "'é' (U+00E9)". A terminal must not get control characters.
std::string shown(std::string_view character, char32_t code) {
    const std::string number = fmt::format("U+{:04X}", static_cast<uint32_t>(code));
    const bool is_control = code < 0x20 || (code >= 0x7F && code < 0xA0);
    return is_control ? number : fmt::format("'{}' ({})", character, number);
}

}  // namespace

Spm::Spm(const Vocabulary& vocabulary, std::optional<int32_t> unknown, bool add_space_prefix)
    : vocabulary_(vocabulary), unknown_(unknown), add_space_prefix_(add_space_prefix), spaces_begin_tokens_(true) {
    for (int32_t id = 0; id < vocabulary.size(); ++id) {
        if (!vocabulary.is_ordinary(id)) continue;
        spaces_begin_tokens_ &= next_word(vocabulary.text(id)) == vocabulary.text(id).size();
    }
}

void Spm::encode(std::string_view text, bool add_space, std::vector<int32_t>& ids) const {
    std::string escaped;
    escaped.reserve(text.size() * 3 / 2 + 3);
    if (add_space) escaped += escaped_space;
    for (const char c : text) {
        if (c == ' ') {
            escaped += escaped_space;
        } else {
            escaped += c;
        }
    }
    // Nothing joins across the start of a word if no token goes on there: words by themselves give the same tokens,
    // from a heap that fits into the cache.
    Work work;
    for (std::string_view rest = escaped; !rest.empty(); rest.remove_prefix(work.text.size())) {
        work.text = rest.substr(0, spaces_begin_tokens_ ? next_word(rest) : rest.size());
        encode_stretch(work, ids);
    }
}

void Spm::encode_stretch(Work& work, std::vector<int32_t>& ids) const {
    work.symbols.clear();
    for (uint32_t at = 0; at < work.text.size();) {
        const auto length = static_cast<uint32_t>(utf8::decode(work.text.substr(at)).length);
        const auto index = static_cast<int32_t>(work.symbols.size());
        work.symbols.push_back({at, length, index - 1, index + 1});
        at += length;
    }
    work.symbols.back().next = -1;
    join_all(work);

    for (int32_t at = 0; at >= 0; at = work.symbols[at].next) {
        const std::string_view piece = work.text.substr(work.symbols[at].begin, work.symbols[at].length);
        const int32_t id = vocabulary_.find_ordinary(piece);
        if (id == Vocabulary::none) {
            append_bytes(piece, ids, work.after_unknown);
        } else {
            ids.push_back(id);
            work.after_unknown = false;
        }
    }
}

/// Sets when the symbol joins its right neighbour, and queues it. An entry of the heap counts as long as its priority
/// is still that of its symbol.
void Spm::look_right(Work& work, int32_t left) const {
    Symbol& symbol = work.symbols[left];
    symbol.priority = never;
    if (symbol.next < 0) return;
    const size_t length = symbol.length + work.symbols[symbol.next].length;
    if (length > vocabulary_.longest_text()) return;
    const int32_t joined = vocabulary_.find_ordinary(work.text.substr(symbol.begin, length));
    if (joined == Vocabulary::none) return;
    symbol.priority = priority_of(vocabulary_.score(joined));
    work.heap.push_back(static_cast<uint64_t>(symbol.priority) << 32 | static_cast<uint32_t>(left));
    std::push_heap(work.heap.begin(), work.heap.end(), std::greater<>());
}

void Spm::join_all(Work& work) const {
    auto& symbols = work.symbols;
    auto& heap = work.heap;
    for (size_t i = 0; i < symbols.size(); ++i) look_right(work, static_cast<int32_t>(i));
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
        look_right(work, at);
        if (left.previous >= 0) look_right(work, left.previous);
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
        if (const utf8::Character known = utf8::decode(character); known.valid) {
            bad_input("the model's vocabulary has no token for the character {}, and no unknown token",
                      shown(character, known.code));
        }
        bad_input("the model's vocabulary has no token for the byte 0x{:02X}, and no unknown token",
                  static_cast<uint8_t>(character[0]));
    }
    if (!after_unknown) ids.push_back(*unknown_);
    after_unknown = true;
}

}  // namespace toy
