#include "text/train_tokenizer.h"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include "core/error.h"
#include "io/gguf_writer.h"
#include "io/quote.h"
#include "text/byte_letters.h"
#include "text/utf8.h"
#include "text/vocabulary.h"

namespace toy {
namespace {

constexpr char32_t escaped_space = 0x2581;

std::string letters_of(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) utf8::append(text, byte_to_letter(static_cast<uint8_t>(byte)));
    return text;
}

/// The keys of a vocabulary as they grow.
class Keys {
 public:
    explicit Keys(std::string_view model) { set("model", std::string(model)); }

    void add(std::string text, TokenType type = TokenType::normal) {
        texts_.push_back(std::move(text));
        types_.push_back(static_cast<int32_t>(type));
    }
    template <class T>
    void set(std::string_view key, T value) {
        metadata_.set("tokenizer.ggml." + std::string(key), Value(std::move(value)));
    }
    size_t size() const { return texts_.size(); }

    /// Adds "<|endoftext|>" and the special tokens, and hands the whole over.
    Metadata finish(std::span<const std::string> special_tokens) {
        std::unordered_set<std::string_view> ordinary(texts_.begin(), texts_.end());
        std::vector<std::string> specials(special_tokens.begin(), special_tokens.end());
        specials.insert(specials.begin(), std::string(k_end_of_text));
        for (const std::string& text : specials) check_special(text, ordinary);
        const auto end_of_text = static_cast<uint32_t>(size());
        set_end_of_turn(specials, end_of_text);
        for (std::string& text : specials) add(std::move(text), TokenType::control);
        set("tokens", Array(std::move(texts_)));
        set("token_type", Array(std::move(types_)));
        // Both roles: llama.cpp gives a role that a file leaves out to a token of its own choice.
        set("bos_token_id", end_of_text);
        set("eos_token_id", end_of_text);
        set("add_bos_token", false);
        set("add_eos_token", false);
        return std::move(metadata_);
    }

 private:
    static void check_special(const std::string& text, std::unordered_set<std::string_view>& taken) {
        if (text.empty() || text.size() > Vocabulary::max_text || utf8::valid_prefix(text) != text.size() ||
            text.find('\0') != std::string::npos) {
            bad_input("the special token {} is no text of 1 to {} bytes in UTF-8", quote(text), Vocabulary::max_text);
        }
        if (!taken.insert(text).second) bad_input("the special token {} is in the vocabulary already", quote(text));
    }

    /// The token that ends a turn, where one of the special tokens is known as that: several could be, and a reader
    /// would choose among them.
    void set_end_of_turn(std::span<const std::string> specials, uint32_t first) {
        for (const std::string_view name : {"<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|end|>"}) {
            const auto found = std::find(specials.begin(), specials.end(), name);
            if (found == specials.end()) continue;
            set("eot_token_id", first + static_cast<uint32_t>(found - specials.begin()));
            return;
        }
    }

    std::vector<std::string> texts_;
    std::vector<int32_t> types_;
    Metadata metadata_{"trained tokenizer"};
};

/// What the texts are counted into.
class Collector {
 public:
    virtual ~Collector() = default;
    virtual void add(std::string_view text) = 0;
    virtual Metadata finish(const TokenizerRecipe& recipe, const TrainingProgress& progress) = 0;
};

class Merges : public Collector {
 public:
    void add(std::string_view text) override { trainer_.add(text); }
    Metadata finish(const TokenizerRecipe& recipe, const TrainingProgress& progress) override {
        const auto specials = static_cast<int32_t>(recipe.special_tokens.size()) + 1;
        const int32_t size = recipe.size - specials;
        if (size < 256) {
            bad_input("a vocabulary of {} tokens has no room for the 256 bytes and {} special tokens", recipe.size,
                      specials);
        }
        const ByteMerges merges = trainer_.train(size, [&](int32_t tokens) {
            if (progress) progress("merging", tokens, size);
        });
        return make_bpe_tokenizer(merges, recipe.special_tokens);
    }

 private:
    BpeTrainer trainer_;
};

class Characters : public Collector {
 public:
    void add(std::string_view text) override {
        while (!text.empty()) {
            const utf8::Character next = utf8::decode(text);
            const auto code = static_cast<size_t>(next.code);
            if (code >= seen_.size()) seen_.resize(code + 1);
            seen_[code] = true;
            text.remove_prefix(next.length);
        }
    }
    Metadata finish(const TokenizerRecipe& recipe, const TrainingProgress&) override {
        std::vector<char32_t> characters;
        for (size_t code = 0; code < seen_.size(); ++code) {
            if (seen_[code]) characters.push_back(static_cast<char32_t>(code));
        }
        return make_character_tokenizer(characters, recipe.special_tokens);
    }

 private:
    std::vector<bool> seen_;  // by code point
};

class Bytes : public Collector {
 public:
    void add(std::string_view) override {}
    Metadata finish(const TokenizerRecipe& recipe, const TrainingProgress&) override {
        return make_byte_tokenizer(recipe.special_tokens);
    }
};

std::unique_ptr<Collector> collector_of(TokenizerKind kind) {
    switch (kind) {
        case TokenizerKind::bpe: return std::make_unique<Merges>();
        case TokenizerKind::character: return std::make_unique<Characters>();
        case TokenizerKind::byte: break;
    }
    return std::make_unique<Bytes>();
}

}  // namespace

Metadata make_bpe_tokenizer(const ByteMerges& merges, std::span<const std::string> special_tokens) {
    Keys keys("gpt2");
    keys.set("pre", std::string("gpt-2"));
    for (const std::string& token : merges.tokens) keys.add(letters_of(token));
    std::vector<std::string> pairs;
    pairs.reserve(merges.merges.size());
    for (const auto& [left, right] : merges.merges) {
        pairs.push_back(letters_of(merges.tokens[left]) + " " + letters_of(merges.tokens[right]));
    }
    keys.set("merges", Array(std::move(pairs)));
    return keys.finish(special_tokens);
}

Metadata make_byte_tokenizer(std::span<const std::string> special_tokens) {
    ByteMerges bytes;
    for (int byte = 0; byte < 256; ++byte) bytes.tokens.emplace_back(1, static_cast<char>(byte));
    return make_bpe_tokenizer(bytes, special_tokens);
}

Metadata make_character_tokenizer(std::span<const char32_t> characters, std::span<const std::string> special_tokens) {
    Keys keys("llama");
    for (const char32_t code : characters) {
        if (code == escaped_space || code == 0) {
            bad_input(
                "the text holds the character U+{:04X}, which a vocabulary of characters cannot hold; use bpe or "
                "byte",
                static_cast<uint32_t>(code));
        }
        std::string text;
        utf8::append(text, code == ' ' ? escaped_space : code);
        keys.add(std::move(text));
    }
    keys.set("scores", Array(std::vector<float>(keys.size() + special_tokens.size() + 1, 0.0f)));
    keys.set("add_space_prefix", false);
    return keys.finish(special_tokens);
}

TrainedTokenizer train_tokenizer(const TokenizerRecipe& recipe, const std::filesystem::path& data,
                                 const CorpusOptions& options, const TrainingProgress& progress) {
    if (recipe.kind != TokenizerKind::bpe && recipe.size != 0) {
        bad_input("the size of a vocabulary of {} follows from the text, so it cannot be given",
                  recipe.kind == TokenizerKind::byte ? "bytes" : "characters");
    }
    const std::unique_ptr<Collector> collector = collector_of(recipe.kind);
    CorpusOptions reading = options;
    reading.progress = [&](int64_t done, int64_t total) {
        if (progress) progress("reading", done, total);
    };
    TrainedTokenizer trained;
    trained.source = read_texts(data, reading, [&](std::string_view text) { collector->add(text); });
    trained.metadata = collector->finish(recipe, progress);
    trained.size = static_cast<int32_t>(trained.metadata.strings("tokenizer.ggml.tokens").size());
    return trained;
}

void write_tokenizer(const Metadata& metadata, const std::filesystem::path& path) {
    GgufWriter writer;
    // A known architecture: without one llama.cpp does not read the file, not even for its vocabulary alone.
    writer.set("general.architecture", std::string("gpt2"));
    for (const auto& [key, value] : metadata.entries()) writer.set(key, value);
    writer.write(path);
}

}  // namespace toy
