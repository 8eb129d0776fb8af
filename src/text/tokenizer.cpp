#include "text/tokenizer.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/log.h"
#include "io/quote.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/special_tokens.h"
#include "text/spm.h"
#include "text/unigram.h"
#include "text/vocabulary.h"
#include "text/wordpiece.h"

namespace toy {
namespace {

constexpr std::string_view kind_key = "tokenizer.ggml.model";
constexpr std::string_view pre_key = "tokenizer.ggml.pre";
constexpr std::array<std::string_view, 5> kinds = {"llama", "gpt2", "gemma4", "t5", "bert"};

std::string_view read_kind(const Metadata& metadata) {
    if (!Tokenizer::is_present(metadata)) {
        bad_input("{}: the file has no tokenizer (key '{}' is missing or 'none'): give prompts as token ids",
                  metadata.origin(), kind_key);
    }
    const std::string& name = metadata.string(kind_key);
    const auto kind = std::find(kinds.begin(), kinds.end(), name);
    if (kind == kinds.end()) {
        bad_input("{}: the tokenizer {} of key '{}' is not supported; supported are llama, gpt2, gemma4, t5 and bert",
                  metadata.origin(), quote(name), kind_key);
    }
    return *kind;
}

const PreTokenizer& read_pretokenizer(const Metadata& metadata, std::string_view kind) {
    if (kind == "gemma4") return *find_pretokenizer("gemma4");
    const std::string* name = metadata.find_string(pre_key);
    if (name == nullptr || name->empty()) {
        logging::warn("{}: key '{}' is missing: text is split as 'default', which may not be how the model was trained",
                      metadata.origin(), pre_key);
        return *find_pretokenizer("default");
    }
    const PreTokenizer* rule = find_pretokenizer(*name);
    if (rule == nullptr) {
        bad_input("{}: the pre-tokenizer {} of key '{}' is unknown", metadata.origin(), quote(*name), pre_key);
    }
    return *rule;
}

SpecialTokens::Defaults defaults_of(std::string_view kind, const PreTokenizer* rule) {
    if (kind == "llama") return {.add_bos = true, .bos = "<s>", .eos = "</s>", .unknown = "<unk>"};
    if (kind == "t5") return {.add_eos = true, .eos = "</s>", .unknown = "<unk>", .padding = "<pad>"};
    if (kind == "bert") {
        return {.add_bos = true,
                .bos = "[CLS]",
                .unknown = "[UNK]",
                .separator = "[SEP]",
                .padding = "[PAD]",
                .mask = "[MASK]"};
    }
    return {.add_bos = rule->add_bos, .always_bos = rule->always_bos};
}

/// Which added tokens take the white space beside them: a property of tokenizer.json that GGUF lacks.
AddedTokens::Stripping stripping_of(const Metadata& metadata) {
    const auto text = [&](std::string_view key) {
        const std::string* value = metadata.find_string(key);
        std::string lower = value == nullptr ? "" : *value;
        for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        return lower;
    };
    const auto has = [](const std::string& whole, std::string_view part) {
        return whole.find(part) != std::string::npos;
    };
    const std::string name = text("general.name"), pre = text(pre_key), architecture = text("general.architecture");
    if (has(pre, "jina-v2-de") || has(pre, "jina-v2-es") || has(pre, "jina-v2-code") ||
        has(architecture, "nomic-bert-moe") || has(architecture, "jina-bert-v3")) {
        return {.left = {"<mask>"}};
    }
    if (has(name, "phi-3") || has(name, "phi3")) return {.right = true, .not_right = {"<unk>", "<s>", "<|endoftext|>"}};
    if (has(name, "modern-bert")) return {.left = {"[MASK]"}};
    return {};
}

int32_t required(const Metadata& metadata, std::optional<int32_t> id, std::string_view role) {
    if (!id) bad_input("{}: key 'tokenizer.ggml.{}_token_id' is missing", metadata.origin(), role);
    return *id;
}

}  // namespace

struct Tokenizer::Parts {
    std::string_view kind;
    const PreTokenizer* rule = nullptr;  // of byte-level BPE
    Vocabulary vocabulary;
    SpecialTokens special;
    AddedTokens added;
    std::unique_ptr<const Segmenter> segmenter;
    bool adds_space_prefix = false;

    /// Takes kind, rule and vocabulary in turn, since each needs the ones before.
    explicit Parts(const Metadata& metadata)
        : kind(read_kind(metadata)),
          rule(kind == "gpt2" || kind == "gemma4" ? &read_pretokenizer(metadata, kind) : nullptr),
          vocabulary(metadata),
          special(SpecialTokens::read(metadata, vocabulary, defaults_of(kind, rule))),
          added(vocabulary, stripping_of(metadata)) {
        const bool letters = rule != nullptr && !rule->characters;
        vocabulary.spell(letters ? Vocabulary::Spelling::letters : Vocabulary::Spelling::escaped_space);
        const auto prefix = [&](bool otherwise) {
            return metadata.find_boolean("tokenizer.ggml.add_space_prefix").value_or(otherwise);
        };
        if ((kind == "llama" || kind == "t5") && !vocabulary.has_scores()) {
            bad_input("{}: key 'tokenizer.ggml.scores' is missing", metadata.origin());
        }
        if (kind == "llama") {
            adds_space_prefix = prefix(true);
            segmenter = std::make_unique<Spm>(vocabulary, special.unknown, adds_space_prefix);
        } else if (kind == "t5") {
            adds_space_prefix = prefix(false);
            segmenter = std::make_unique<Unigram>(metadata, vocabulary, required(metadata, special.unknown, "unknown"),
                                                  adds_space_prefix);
        } else if (kind == "bert") {
            adds_space_prefix = true;  // every word's first piece is spelled with one
            segmenter =
                std::make_unique<WordPiece>(metadata, vocabulary, required(metadata, special.unknown, "unknown"));
            required(metadata, special.bos, "cls");
            required(metadata, special.separator, "seperator");
        } else {
            segmenter = std::make_unique<Bpe>(metadata, vocabulary, *rule);
        }
    }

    void check(int32_t id) const {
        if (id < 0 || id >= vocabulary.size()) {
            bad_input("token id {} is outside the vocabulary of {} tokens", id, vocabulary.size());
        }
    }
    bool is_hidden(int32_t id) const {
        return vocabulary.type(id) == TokenType::control || vocabulary.type(id) == TokenType::unknown;
    }
};

Tokenizer::Tokenizer(const Metadata& metadata) : parts_(std::make_unique<const Parts>(metadata)) {}
Tokenizer::~Tokenizer() = default;

bool Tokenizer::is_present(const Metadata& metadata) {
    const std::string* kind = metadata.find_string(kind_key);
    return kind != nullptr && *kind != "none" && *kind != "no_vocab";
}

std::shared_ptr<const Tokenizer> Tokenizer::from_metadata(const Metadata& metadata) {
    return std::shared_ptr<const Tokenizer>(new Tokenizer(metadata));
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
    if (text.size() > max_text)
        bad_input("a text of {} bytes is too long: at most {} are encoded", text.size(), max_text);
    const SpecialTokens& special = parts_->special;
    const bool is_bert = parts_->kind == "bert";
    std::vector<int32_t> ids;
    if (options.add_special && special.bos && (special.add_bos || is_bert)) ids.push_back(*special.bos);
    for (const AddedTokens::Fragment& fragment : parts_->added.split(text, options.parse_special)) {
        const bool goes_on = options.continuation && fragment.text.data() == text.data();
        if (fragment.token != Vocabulary::none) {
            ids.push_back(fragment.token);
        } else if (goes_on) {
            parts_->segmenter->encode_continuation(fragment.text, ids);
        } else {
            parts_->segmenter->encode(fragment.text, ids);
        }
    }
    const std::optional<int32_t> last = is_bert ? special.separator : special.add_eos ? special.eos : std::nullopt;
    if (options.add_special && last) ids.push_back(*last);
    return ids;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, DecodeOptions options) const {
    std::string text;
    bool at_start = !options.continuation;
    for (const int32_t id : ids) {
        std::string_view piece = this->piece(id);
        if (options.render_special && parts_->is_hidden(id)) piece = this->text(id);
        if (at_start && adds_space_prefix() && piece.starts_with(' ')) piece.remove_prefix(1);
        text += piece;
        at_start = bos() == id;
    }
    return text;
}

std::string_view Tokenizer::piece(int32_t id) const {
    parts_->check(id);
    return parts_->vocabulary.piece(id);
}

std::string_view Tokenizer::text(int32_t id) const {
    parts_->check(id);
    return parts_->vocabulary.text(id);
}

TokenType Tokenizer::type(int32_t id) const {
    parts_->check(id);
    return parts_->vocabulary.type(id);
}

std::optional<int32_t> Tokenizer::find(std::string_view text) const {
    const int32_t id = parts_->vocabulary.find(text);
    return id == Vocabulary::none ? std::nullopt : std::optional(id);
}

int32_t Tokenizer::size() const { return parts_->vocabulary.size(); }
std::string_view Tokenizer::kind() const { return parts_->kind; }
std::string_view Tokenizer::pre() const { return parts_->rule == nullptr ? "" : parts_->rule->name; }
std::optional<int32_t> Tokenizer::bos() const { return parts_->special.bos; }
std::optional<int32_t> Tokenizer::eos() const { return parts_->special.eos; }
std::optional<int32_t> Tokenizer::eot() const { return parts_->special.eot; }
std::optional<int32_t> Tokenizer::eom() const { return parts_->special.eom; }
std::optional<int32_t> Tokenizer::unknown() const { return parts_->special.unknown; }
std::optional<int32_t> Tokenizer::separator() const { return parts_->special.separator; }
std::optional<int32_t> Tokenizer::padding() const { return parts_->special.padding; }
std::optional<int32_t> Tokenizer::mask() const { return parts_->special.mask; }
bool Tokenizer::add_bos() const { return parts_->special.add_bos; }
bool Tokenizer::add_eos() const { return parts_->special.add_eos; }
bool Tokenizer::adds_space_prefix() const { return parts_->adds_space_prefix; }
const std::vector<int32_t>& Tokenizer::end_of_generation() const { return parts_->special.end_of_generation; }

bool Tokenizer::is_end_of_generation(int32_t id) const {
    const std::vector<int32_t>& ids = end_of_generation();
    return std::binary_search(ids.begin(), ids.end(), id);
}

}  // namespace toy
