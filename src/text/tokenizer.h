#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/metadata.h"

namespace toy {

/// What a token is, with the codes of `tokenizer.ggml.token_type`.
enum class TokenType : uint8_t { undefined = 0, normal, unknown, control, user_defined, unused, byte };

/// Text to token ids and back, as the model was trained, from the `tokenizer.ggml.*` keys of a GGUF file. Kinds:
/// `llama` (SentencePiece BPE), `gpt2` (byte-level BPE), `gemma4` (BPE over characters), `t5` (unigram) and `bert`
/// (WordPiece); docs/tokenizers.md says what each does. Immutable: one Tokenizer serves any number of threads.
class Tokenizer {
 public:
    struct EncodeOptions {
        bool add_special = true;     ///< BOS, EOS (or [CLS], [SEP]) as the file asks for
        bool parse_special = false;  ///< "<|im_end|>" in the text becomes that control token, not its characters
        bool continuation = false;   ///< the text goes on after another: `llama` puts no space before it
    };
    struct DecodeOptions {
        bool render_special = false;  ///< control and unknown tokens appear as their text, not as nothing
        bool continuation = false;    ///< the ids follow other text: their first space stays
    };

    static constexpr size_t max_text = size_t{1} << 30;  ///< bytes that one call of `encode` takes

    /// Throws Error{bad_input} naming the key that is missing, wrong or of an unsupported kind.
    static std::shared_ptr<const Tokenizer> from_metadata(const Metadata& metadata);
    /// False where the file carries no vocabulary (no `tokenizer.ggml.model`, or "none"): such a model takes ids only.
    static bool is_present(const Metadata& metadata);

    /// Any bytes are accepted. What is not UTF-8 is kept byte for byte by the kinds that have byte tokens, becomes
    /// U+FFFD in `t5` and is dropped by `bert`. Linear in the text's length up to a logarithm. Throws Error{bad_input}
    /// where the vocabulary has no token for a character, nor byte tokens, nor an unknown token.
    std::vector<int32_t> encode(std::string_view text, EncodeOptions options) const;
    std::vector<int32_t> encode(std::string_view text) const { return encode(text, EncodeOptions{}); }

    /// The bytes that the ids stand for; they need not be whole UTF-8 characters. One leading space is dropped directly
    /// after BOS or at the start of a text, where encoding adds one. Throws Error{bad_input} for an id outside the
    /// vocabulary.
    std::string decode(std::span<const int32_t> ids, DecodeOptions options) const;
    std::string decode(std::span<const int32_t> ids) const { return decode(ids, DecodeOptions{}); }

    /// The bytes of one token, its leading space included; empty for control and unknown tokens.
    std::string_view piece(int32_t id) const;
    /// The token's text as the file spells it ("Ġthe", "▁the", "<0x0A>").
    std::string_view text(int32_t id) const;
    TokenType type(int32_t id) const;
    /// The token that the file spells so.
    std::optional<int32_t> find(std::string_view text) const;

    int32_t size() const;
    /// `tokenizer.ggml.model`: llama, gpt2, gemma4, t5 or bert.
    std::string_view kind() const;
    /// `tokenizer.ggml.pre` as used: "default" where the file has none; empty for kinds without pre-tokenizer.
    std::string_view pre() const;

    std::optional<int32_t> bos() const;
    std::optional<int32_t> eos() const;
    std::optional<int32_t> eot() const;  ///< end of turn
    std::optional<int32_t> eom() const;  ///< end of message
    std::optional<int32_t> unknown() const;
    std::optional<int32_t> separator() const;
    std::optional<int32_t> padding() const;
    std::optional<int32_t> mask() const;
    bool add_bos() const;
    bool add_eos() const;
    /// True where encoding puts a space before the text, and so decoding takes it off again.
    bool adds_space_prefix() const;
    /// Generation stops at such a token: EOS, EOT, EOM and the well-known names ("<|im_end|>", "<end_of_turn>", …).
    bool is_end_of_generation(int32_t id) const;
    /// All of them, ascending.
    const std::vector<int32_t>& end_of_generation() const;

    ~Tokenizer();

 private:
    struct Parts;
    explicit Tokenizer(const Metadata& metadata);
    std::unique_ptr<const Parts> parts_;
};

}  // namespace toy
