#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/metadata.h"
#include "text/string_index.h"
#include "text/tokenizer.h"

namespace toy {

/// The tokens of a file, checked: texts, types, scores, and the bytes that each stands for. Ids passed in must lie
/// inside [0, size()).
class Vocabulary {
 public:
    static constexpr int32_t none = StringIndex::none;
    static constexpr size_t max_tokens = size_t{1} << 24;
    static constexpr size_t max_text = 65535;  ///< bytes of one token; the longest known are 1024

    /// How texts spell bytes: in GPT-2's letters, or as they are but for the space, which is "▁" (U+2581).
    enum class Spelling { letters, escaped_space };

    /// Reads `tokenizer.ggml.tokens`, `token_type` and `scores`. Throws Error{bad_input} naming the key and the token.
    explicit Vocabulary(const Metadata& metadata);
    /// Works out the pieces; to be called once the types are final.
    void spell(Spelling spelling);

    int32_t size() const { return static_cast<int32_t>(texts_.size()); }
    std::string_view text(int32_t id) const { return view(texts_[id]); }
    std::string_view piece(int32_t id) const { return view(pieces_[id]); }
    TokenType type(int32_t id) const { return types_[id]; }
    void set_type(int32_t id, TokenType type) { types_[id] = type; }
    /// Whether plain text may become this token: not the control, unknown and byte ones.
    bool is_ordinary(int32_t id) const;
    bool has_scores() const { return !scores_.empty(); }
    float score(int32_t id) const { return scores_[id]; }
    size_t longest_text() const { return longest_text_; }

    /// The token of that text, or `none`.
    int32_t find(std::string_view text) const { return by_text_.find(arena_, text); }
    /// The same, but only tokens that plain text may become.
    int32_t find_ordinary(std::string_view text) const {
        const int32_t id = find(text);
        return id != none && is_ordinary(id) ? id : none;
    }
    /// An index of the pieces of all normal tokens.
    StringIndex index_pieces() const;
    int32_t find_piece(const StringIndex& index, std::string_view piece) const { return index.find(arena_, piece); }
    /// The token "<0xNN>" of that byte, or `none`.
    int32_t byte_token(uint8_t byte) const { return byte_tokens_[byte]; }

 private:
    using Span = StringIndex::Span;
    std::string_view view(Span span) const { return {arena_.data() + span.at, span.length}; }
    void read_texts(const Metadata& metadata);
    void read_types(const Metadata& metadata);
    void read_scores(const Metadata& metadata);
    void read_byte_tokens(const Metadata& metadata);
    Span append_piece(int32_t id, Spelling spelling);

    std::string arena_;  // all texts, then those pieces that differ from their text
    std::vector<Span> texts_, pieces_;
    std::vector<TokenType> types_;
    std::vector<float> scores_;
    std::array<int32_t, 256> byte_tokens_;
    size_t longest_text_ = 0;
    StringIndex by_text_;
};

}  // namespace toy
