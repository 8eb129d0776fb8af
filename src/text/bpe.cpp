#include "text/bpe.h"

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "text/byte_letters.h"
#include "text/utf8.h"

namespace toy {
namespace {

constexpr std::string_view escaped_space = "\u2581";

std::string with_escaped_spaces(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == ' ') {
            result += escaped_space;
        } else {
            result += c;
        }
    }
    return result;
}

}  // namespace

Bpe::Bpe(const Metadata& metadata, const Vocabulary& vocabulary, const PreTokenizer& rule)
    : vocabulary_(vocabulary), rule_(rule), split_(rule.steps), merges_(metadata, vocabulary) {
    for (int byte = 0; byte < 256; ++byte) {
        std::string letter;
        utf8::append(letter, byte_to_letter(static_cast<uint8_t>(byte)));
        const int32_t id = vocabulary.find(letter);
        const bool is_byte = id != Vocabulary::none && vocabulary.type(id) == TokenType::normal;
        byte_ids_[byte] = is_byte ? id : Vocabulary::none;
    }
    if (rule.ignore_merges) words_ = vocabulary.index_pieces();
}

void Bpe::encode(std::string_view text, std::vector<int32_t>& ids) const {
    std::string escaped;
    if (rule_.escape_spaces) text = escaped = with_escaped_spaces(text);
    Work work;
    std::vector<std::string_view> words;
    while (!text.empty()) {
        const size_t valid = utf8::valid_prefix(text);
        split_.split(text.substr(0, valid), words);
        for (const std::string_view word : words) encode_word(word, work, ids);
        if (valid == text.size()) break;
        encode_stray_byte(text[valid], work, ids);
        text.remove_prefix(valid + 1);
    }
}

void Bpe::encode_word(std::string_view word, Work& work, std::vector<int32_t>& ids) const {
    if (word.empty()) return;
    if (const int32_t id = whole_word(word); id != Vocabulary::none) {
        ids.push_back(id);
        return;
    }
    append_symbols(word, work);
    merge_all(work);
    for (int32_t at = 0; at >= 0; at = work.symbols[at].next) ids.push_back(work.symbols[at].id);
}

int32_t Bpe::whole_word(std::string_view word) const {
    if (rule_.ignore_merges) return vocabulary_.find_piece(words_, word);
    if (rule_.whole_newline_runs && word.find_first_not_of('\n') == std::string_view::npos)
        return vocabulary_.find_ordinary(word);
    return Vocabulary::none;
}

/// A byte that is part of no character: its own token, or the replacement character for want of one.
void Bpe::encode_stray_byte(char byte, Work& work, std::vector<int32_t>& ids) const {
    const auto value = static_cast<uint8_t>(byte);
    const int32_t id = rule_.characters ? vocabulary_.byte_token(value) : byte_ids_[value];
    if (id != Vocabulary::none) {
        ids.push_back(id);
    } else {
        encode_word("\uFFFD", work, ids);
    }
}

/// One symbol for each byte, or for each character that is a token; bytes for the other characters.
void Bpe::append_symbols(std::string_view word, Work& work) const {
    work.symbols.clear();
    const auto append = [&](int32_t id, uint8_t byte) {
        if (id == Vocabulary::none) bad_input("the model's vocabulary has no token for the byte 0x{:02X}", byte);
        const auto at = static_cast<int32_t>(work.symbols.size());
        work.symbols.push_back({id, at - 1, at + 1, Merges::none});
    };
    for (size_t at = 0; at < word.size();) {
        const size_t length = rule_.characters ? utf8::decode(word.substr(at)).length : 1;
        const int32_t whole = rule_.characters ? vocabulary_.find_ordinary(word.substr(at, length)) : Vocabulary::none;
        if (whole != Vocabulary::none) {
            append(whole, 0);
        } else {
            for (size_t i = at; i < at + length; ++i) {
                const auto byte = static_cast<uint8_t>(word[i]);
                append(rule_.characters ? vocabulary_.byte_token(byte) : byte_ids_[byte], byte);
            }
        }
        at += length;
    }
    work.symbols.back().next = -1;
}

/// Sets what the symbol and its right neighbour merge to, and queues it. An entry of the heap counts as long as its
/// rank is still that of its symbol: ranks are unique among merges, so a pair that has changed is told by it.
void Bpe::look_right(Work& work, int32_t left) const {
    Symbol& symbol = work.symbols[left];
    symbol.with_next = symbol.next < 0 ? Merges::none : merges_.find(symbol.id, work.symbols[symbol.next].id);
    if (symbol.with_next.merged == Vocabulary::none) return;
    work.heap.push_back(static_cast<uint64_t>(symbol.with_next.rank) << 32 | static_cast<uint32_t>(left));
    std::push_heap(work.heap.begin(), work.heap.end(), std::greater<>());
}

void Bpe::merge_all(Work& work) const {
    auto& [symbols, heap] = work;
    heap.clear();
    for (size_t i = 0; i < symbols.size(); ++i) look_right(work, static_cast<int32_t>(i));
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end(), std::greater<>());
        const uint64_t top = heap.back();
        heap.pop_back();
        const auto at = static_cast<int32_t>(top & UINT32_MAX);
        Symbol& left = symbols[at];
        if (left.with_next.rank != static_cast<int32_t>(top >> 32)) continue;
        Symbol& right = symbols[left.next];
        left.id = left.with_next.merged;
        left.next = right.next;
        right.with_next = Merges::none;
        if (left.next >= 0) symbols[left.next].previous = at;
        look_right(work, at);
        if (left.previous >= 0) look_right(work, left.previous);
    }
}

}  // namespace toy
