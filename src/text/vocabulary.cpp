#include "text/vocabulary.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "io/quote.h"
#include "text/byte_letters.h"

namespace toy {
namespace {

constexpr std::string_view tokens_key = "tokenizer.ggml.tokens";
constexpr std::string_view types_key = "tokenizer.ggml.token_type";
constexpr std::string_view scores_key = "tokenizer.ggml.scores";
constexpr std::string_view escaped_space = "\u2581";

void check_length(const Metadata& metadata, std::string_view key, size_t length, size_t expected) {
    if (length != expected) {
        bad_input("{}: key '{}' has {} entries for {} tokens", metadata.origin(), key, length, expected);
    }
}

/// The byte that "<0xNN>" names.
std::optional<uint8_t> named_byte(std::string_view text) {
    if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') return std::nullopt;
    const auto digit = [](char c) {
        if (c >= '0' && c <= '9') return c - '0';
        if (c >= 'A' && c <= 'F') return c - 'A' + 10;
        if (c >= 'a' && c <= 'f') return c - 'a' + 10;
        return -1;
    };
    const int high = digit(text[3]), low = digit(text[4]);
    if (high < 0 || low < 0) return std::nullopt;
    return static_cast<uint8_t>(high << 4 | low);
}

}  // namespace

Vocabulary::Vocabulary(const Metadata& metadata) {
    read_texts(metadata);
    read_types(metadata);
    read_scores(metadata);
    read_byte_tokens(metadata);
}

void Vocabulary::read_texts(const Metadata& metadata) {
    const std::vector<std::string>& tokens = metadata.strings(tokens_key);
    if (tokens.empty() || tokens.size() > max_tokens) {
        bad_input("{}: key '{}' holds {} tokens, expected 1 to {}", metadata.origin(), tokens_key, tokens.size(),
                  max_tokens);
    }
    size_t total = 0;
    for (const std::string& token : tokens) total += token.size();
    if (total > INT32_MAX) {
        bad_input("{}: the tokens of key '{}' have {} bytes, at most {} are supported", metadata.origin(), tokens_key,
                  total, INT32_MAX);
    }
    arena_.reserve(2 * total);
    texts_.reserve(tokens.size());
    by_text_.reserve(tokens.size());
    for (size_t i = 0; i < tokens.size(); ++i) {
        const std::string& token = tokens[i];
        if (token.size() > max_text) {
            bad_input("{}: token {} of key '{}' has {} bytes, at most {} are supported", metadata.origin(), i,
                      tokens_key, token.size(), max_text);
        }
        texts_.push_back({static_cast<uint32_t>(arena_.size()), static_cast<uint32_t>(token.size())});
        arena_ += token;
        longest_text_ = std::max(longest_text_, token.size());
        if (token.empty()) continue;  // a hole in the vocabulary: no text becomes it
        const int32_t earlier = by_text_.insert(arena_, texts_.back(), static_cast<int32_t>(i));
        if (earlier != none) {
            bad_input("{}: tokens {} and {} of key '{}' are both {}", metadata.origin(), earlier, i, tokens_key,
                      quote(token));
        }
    }
}

void Vocabulary::read_types(const Metadata& metadata) {
    types_.assign(texts_.size(), TokenType::normal);
    const auto codes = metadata.find_integers(types_key);
    if (!codes) return;
    check_length(metadata, types_key, codes->size(), texts_.size());
    for (size_t i = 0; i < types_.size(); ++i) {
        const int64_t code = (*codes)[i];
        if (code < 0 || code > static_cast<int64_t>(TokenType::byte)) {
            bad_input("{}: key '{}' gives token {} the type {}, expected 0 to {}", metadata.origin(), types_key, i,
                      code, static_cast<int>(TokenType::byte));
        }
        types_[i] = static_cast<TokenType>(code);
    }
}

void Vocabulary::read_scores(const Metadata& metadata) {
    if (!metadata.has(scores_key)) return;
    const std::vector<float>& scores = *metadata.find_floats(scores_key);
    check_length(metadata, scores_key, scores.size(), texts_.size());
    for (size_t i = 0; i < scores.size(); ++i) {
        if (!std::isfinite(scores[i])) {
            bad_input("{}: key '{}' gives token {} the score {}", metadata.origin(), scores_key, i, scores[i]);
        }
    }
    scores_ = scores;
}

void Vocabulary::read_byte_tokens(const Metadata& metadata) {
    for (int byte = 0; byte < 256; ++byte) {
        byte_tokens_[byte] = find(fmt::format("<0x{:02X}>", byte));
    }
    for (int32_t id = 0; id < size(); ++id) {
        if (types_[id] == TokenType::byte && !named_byte(text(id))) {
            bad_input("{}: token {} of key '{}' is {}, but its type says that it is a byte like '<0x0A>'",
                      metadata.origin(), id, tokens_key, quote(text(id)));
        }
    }
}

bool Vocabulary::is_ordinary(int32_t id) const {
    return types_[id] == TokenType::normal || types_[id] == TokenType::user_defined || types_[id] == TokenType::unused;
}

StringIndex Vocabulary::index_pieces() const {
    StringIndex index;
    index.reserve(texts_.size());
    for (int32_t id = 0; id < size(); ++id) {
        if (types_[id] == TokenType::normal) index.insert(arena_, pieces_[id], id);
    }
    return index;
}

void Vocabulary::spell(Spelling spelling) {
    pieces_.reserve(texts_.size());
    for (int32_t id = 0; id < size(); ++id) pieces_.push_back(append_piece(id, spelling));
}

Vocabulary::Span Vocabulary::append_piece(int32_t id, Spelling spelling) {
    const Span as_is = texts_[id];
    const auto at = static_cast<uint32_t>(arena_.size());
    const auto appended = [&] { return Span{at, static_cast<uint32_t>(arena_.size()) - at}; };
    switch (types_[id]) {
        case TokenType::user_defined: return as_is;
        case TokenType::byte: arena_ += static_cast<char>(named_byte(text(id)).value_or(0)); return appended();
        case TokenType::normal: break;
        default: return {0, 0};
    }
    const std::string_view spelled = text(id);
    if (spelling == Spelling::letters) {
        const bool plain = std::all_of(spelled.begin(), spelled.end(), [](char c) { return c > 0x20 && c < 0x7F; });
        if (plain) return as_is;
        std::string bytes;
        // Some vocabularies (Command-R) mark added tokens as normal ones: those are spelled as they are.
        if (!append_bytes_of_letters(bytes, spelled)) return as_is;
        arena_ += bytes;
        return appended();
    }
    if (spelled.find(escaped_space) == std::string_view::npos) return as_is;
    for (size_t i = 0; i < spelled.size();) {
        const bool space = spelled.substr(i, escaped_space.size()) == escaped_space;
        arena_ += space ? ' ' : spelled[i];
        i += space ? escaped_space.size() : 1;
    }
    return appended();
}

}  // namespace toy
