#include "text/wordpiece.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "text/utf8.h"

namespace toy {
namespace {

constexpr size_t longest_word = 100;  // BERT's max_input_chars_per_word: a longer one is unknown

utf8proc_category_t category(char32_t code) { return utf8proc_category(static_cast<utf8proc_int32_t>(code)); }

bool is_space(char32_t code) {
    if (code == ' ' || code == '\t' || code == '\n' || code == '\r') return true;
    const utf8proc_category_t kind = category(code);
    return kind >= UTF8PROC_CATEGORY_ZS && kind <= UTF8PROC_CATEGORY_ZP;
}

/// Control, format and private characters are dropped, and what stands for bytes that are no text.
bool is_dropped(char32_t code) {
    if (code == 0 || code == utf8::replacement) return true;
    return category(code) >= UTF8PROC_CATEGORY_CC;
}

bool is_punctuation(char32_t code) {
    if (code < 0x80)
        return code > ' ' && code < 0x7F && !(code >= '0' && code <= '9') && !(code >= 'A' && code <= 'Z') &&
               !(code >= 'a' && code <= 'z');
    const utf8proc_category_t kind = category(code);
    return kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_PO;
}

/// The blocks of ideographs, each of which BERT makes a word.
bool is_ideograph(char32_t code) {
    constexpr std::array<std::pair<char32_t, char32_t>, 8> blocks = {{
        {0x4E00, 0x9FFF},
        {0x3400, 0x4DBF},
        {0x20000, 0x2A6DF},
        {0x2A700, 0x2B73F},
        {0x2B740, 0x2B81F},
        {0x2B920, 0x2CEAF},  // Hugging Face's tokenizers begin here; the block begins at 2B820
        {0xF900, 0xFAFF},
        {0x2F800, 0x2FA1F},
    }};
    return code >= 0x3400 && std::any_of(blocks.begin(), blocks.end(), [&](const auto& block) {
               return code >= block.first && code <= block.second;
           });
}

/// Canonical decomposition without the marks that take no space.
std::u32string without_accents(char32_t code) {
    if (code < 0x80) return {code};
    std::array<utf8proc_int32_t, 32> parts;
    int boundary = 0;
    const utf8proc_ssize_t count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), parts.data(),
                                                           parts.size(), UTF8PROC_DECOMPOSE, &boundary);
    if (count < 0 || static_cast<size_t>(count) > parts.size()) return {code};
    std::u32string result;
    for (utf8proc_ssize_t i = 0; i < count; ++i) {
        const auto part = static_cast<char32_t>(parts[i]);
        if (category(part) != UTF8PROC_CATEGORY_MN) result += part;
    }
    return result;
}

}  // namespace

WordPiece::WordPiece(const Metadata& metadata, const Vocabulary& vocabulary, int32_t unknown)
    : vocabulary_(vocabulary),
      unknown_(unknown),
      lowercase_(metadata.find_boolean("tokenizer.ggml.normalizer.lowercase").value_or(true)),
      strip_accents_(metadata.find_boolean("tokenizer.ggml.normalizer.strip_accents").value_or(lowercase_)) {}

std::vector<std::u32string> WordPiece::words(std::string_view text) const {
    std::vector<std::u32string> result(1);
    const auto end_word = [&] {
        if (!result.back().empty()) result.emplace_back();
    };
    const auto append = [&](char32_t code) {
        if (lowercase_) code = static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
        if (is_punctuation(code)) {
            end_word();
            result.back() += code;
            end_word();
        } else if (is_space(code)) {
            end_word();
        } else {
            result.back() += code;
        }
    };
    while (!text.empty()) {
        const utf8::Character next = utf8::decode(text);
        text.remove_prefix(next.length);
        if (is_space(next.code)) {
            end_word();
            continue;
        }
        if (!next.valid || is_dropped(next.code)) continue;
        const bool alone = is_ideograph(next.code);
        if (alone) end_word();
        if (strip_accents_) {
            for (const char32_t part : without_accents(next.code)) append(part);
        } else {
            append(next.code);
        }
        if (alone) end_word();
    }
    if (result.back().empty()) result.pop_back();
    return result;
}

void WordPiece::encode(std::string_view text, std::vector<int32_t>& ids) const {
    for (const std::u32string& word : words(text)) encode_word(word, ids);
}

void WordPiece::encode_word(std::u32string_view word, std::vector<int32_t>& ids) const {
    if (word.size() > longest_word) {
        ids.push_back(unknown_);
        return;
    }
    std::string spelled = "\u2581";
    std::vector<size_t> ends;  // of the word's characters, within `spelled`
    for (const char32_t code : word) {
        utf8::append(spelled, code);
        ends.push_back(spelled.size());
    }
    const size_t before = ids.size();
    size_t begin = 0;
    for (size_t at = 0; at < ends.size();) {
        int32_t id = Vocabulary::none;
        size_t end = ends.size();
        for (; end > at && id == Vocabulary::none; --end) {
            id = vocabulary_.find_ordinary(std::string_view(spelled).substr(begin, ends[end - 1] - begin));
        }
        if (id == Vocabulary::none) {  // no part of the word survives one that is unknown
            ids.resize(before);
            ids.push_back(unknown_);
            return;
        }
        ids.push_back(id);
        at = end + 1;
        begin = ends[at - 1];
    }
}

}  // namespace toy
