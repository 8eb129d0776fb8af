#include "text/special_tokens.h"

#include <algorithm>
#include <array>
#include <span>

#include "core/error.h"
#include "core/log.h"

namespace toy {
namespace {

using Id = std::optional<int32_t>;
using Names = std::span<const std::string_view>;

// The lists are those of llama.cpp's loader; where several of a list are in one vocabulary, the first here wins.
constexpr std::array<std::string_view, 11> end_of_turn_names = {
    "<|eot_id|>",  // Llama 3
    "<|im_end|>",  // ChatML
    "<|end|>",     // Phi-3
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "<｜end▁of▁sentence｜>",  // DeepSeek
    "<end_of_utterance>",
};
constexpr std::array<std::string_view, 1> end_of_message_names = {"<|eom_id|>"};
// Tokens of infilling, at which a completion ends as well.
constexpr std::array<std::string_view, 5> infill_padding_names = {"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>",
                                                                  "[PAD]"};
constexpr std::array<std::string_view, 5> infill_repository_names = {"<|fim_repo|>", "<|repo_name|>", "<fim-repo>",
                                                                     "<REPO>", "<reponame>"};
constexpr std::array<std::string_view, 1> infill_separator_names = {"<|file_sep|>"};
// These mark parts of an infill prompt and end nothing, but they are control tokens all the same.
constexpr std::array<std::string_view, 8> infill_prefix_names = {"<|fim_prefix|>",  "<fim-prefix>", "<fim_prefix>",
                                                                 "<｜fim▁begin｜>", "<PRE>",        "▁<PRE>",
                                                                 "<|code_prefix|>", "<|prefix|>"};
constexpr std::array<std::string_view, 8> infill_suffix_names = {"<|fim_suffix|>",  "<fim-suffix>", "<fim_suffix>",
                                                                 "<｜fim▁hole｜>",  "<SUF>",        "▁<SUF>",
                                                                 "<|code_suffix|>", "<|suffix|>"};
constexpr std::array<std::string_view, 8> infill_middle_names = {"<|fim_middle|>",  "<fim-middle>", "<fim_middle>",
                                                                 "<｜fim▁end｜>",   "<MID>",        "▁<MID>",
                                                                 "<|code_middle|>", "<|middle|>"};
constexpr std::array<std::string_view, 22> end_of_generation_names = {
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",  // gpt-oss
    "<|flush|>",
    "<|calls|>",  // Solar Open
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",  // Kimi K2
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<|tool_response>",  // Gemma 4
    "<｜end▁of▁sentence｜>",
    "[e~[",
};
// gpt-oss: these shape its answer, and programs that parse it must see them.
constexpr std::array<std::string_view, 4> visible_names = {"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"};

class Reader {
 public:
    Reader(const Metadata& metadata, Vocabulary& vocabulary) : metadata_(metadata), vocabulary_(vocabulary) {}

    /// The id under that key; where the key is absent, the token of that text.
    Id from_key(std::string_view role, std::string_view conventional_text = {}) const {
        const std::string key = fmt::format("tokenizer.ggml.{}_token_id", role);
        const auto value = metadata_.find_integer(key);
        if (!value) return conventional_text.empty() ? Id() : named(conventional_text);
        if (*value == -1 || *value == UINT32_MAX) return std::nullopt;  // how converters write "none"
        if (*value < 0 || *value >= vocabulary_.size()) {
            bad_input("{}: key '{}' is {}, outside the vocabulary of {} tokens", metadata_.origin(), key, *value,
                      vocabulary_.size());
        }
        return static_cast<int32_t>(*value);
    }

    Id named(std::string_view text) const {
        const int32_t id = vocabulary_.find(text);
        return id == Vocabulary::none ? Id() : id;
    }

    /// The first of the names in the vocabulary, made a control token.
    Id first_of(Names names) const {
        for (const std::string_view name : names) {
            if (const Id id = named(name)) {
                make_control(*id);
                return id;
            }
        }
        return std::nullopt;
    }

    void make_control(int32_t id) const { vocabulary_.set_type(id, TokenType::control); }

    bool flag(std::string_view key, bool otherwise) const {
        return metadata_.find_boolean(fmt::format("tokenizer.ggml.{}", key)).value_or(otherwise);
    }

    const Metadata& metadata() const { return metadata_; }

 private:
    const Metadata& metadata_;
    Vocabulary& vocabulary_;
};

void erase(std::vector<int32_t>& ids, int32_t id) { ids.erase(std::remove(ids.begin(), ids.end(), id), ids.end()); }
bool contains(const std::vector<int32_t>& ids, Id id) {
    return id && std::find(ids.begin(), ids.end(), *id) != ids.end();
}

/// The token of that role: of the key, of the key as older converters write it, or of the names.
Id infill(const Reader& reader, std::string_view role, Names names, std::string_view older_role = {}) {
    Id id = reader.from_key(role);
    if (!id && !older_role.empty()) id = reader.from_key(older_role);
    return id ? id : reader.first_of(names);
}

std::vector<int32_t> find_end_of_generation(const Reader& reader, Vocabulary& vocabulary,
                                            const SpecialTokens& special) {
    std::vector<int32_t> ids;
    const auto add = [&](Id id) {
        if (id) ids.push_back(*id);
    };
    add(infill(reader, "fim_pad", infill_padding_names));
    add(infill(reader, "fim_rep", infill_repository_names));
    add(infill(reader, "fim_sep", infill_separator_names));
    for (const std::string_view name : end_of_generation_names) {
        if (const Id id = reader.named(name)) {
            reader.make_control(*id);
            ids.push_back(*id);
        }
    }
    for (const std::string_view name : visible_names) {
        if (const Id id = reader.named(name)) vocabulary.set_type(*id, TokenType::user_defined);
    }
    add(special.eos);
    add(special.eot);
    add(special.eom);

    // gpt-oss and Solar Open: "<|end|>" ends one message of several.
    const Id end = reader.named("<|end|>");
    const bool calls = contains(ids, reader.named("<|call|>")) || contains(ids, reader.named("<|calls|>"));
    const bool several = contains(ids, reader.named("<|return|>")) || contains(ids, reader.named("<|flush|>"));
    if (end && contains(ids, end) && calls && several) {
        erase(ids, *end);
        vocabulary.set_type(*end, TokenType::user_defined);
    }
    // Gemma 4: "</s>" is HTML there.
    const Id strike = reader.named("</s>");
    if (strike && contains(ids, strike) && contains(ids, reader.named("<|tool_response>"))) {
        erase(ids, *strike);
        vocabulary.set_type(*strike, TokenType::normal);
    }
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
}

/// Whether to add that token: asking for one that the file does not name is a contradiction if the file itself asks,
/// and worth a warning if only the kind's convention does.
bool resolve_add(const Reader& reader, std::string_view key, bool conventional, Id id, std::string_view role) {
    const bool wanted = reader.flag(key, conventional);
    if (!wanted || id) return wanted;
    if (reader.metadata().has(fmt::format("tokenizer.ggml.{}", key))) {
        bad_input("{}: key 'tokenizer.ggml.{}' is true, but key 'tokenizer.ggml.{}_token_id' names no token",
                  reader.metadata().origin(), key, role);
    }
    logging::warn("{}: key 'tokenizer.ggml.{}_token_id' is missing; no such token is added to prompts",
                  reader.metadata().origin(), role);
    return false;
}

}  // namespace

SpecialTokens SpecialTokens::read(const Metadata& metadata, Vocabulary& vocabulary, const Defaults& defaults) {
    const Reader reader(metadata, vocabulary);
    SpecialTokens special;
    special.bos = reader.from_key("bos");
    if (!special.bos) special.bos = reader.from_key("cls", defaults.bos);
    special.eos = reader.from_key("eos", defaults.eos);
    special.eot = reader.from_key("eot");
    special.eom = reader.from_key("eom");
    special.unknown = reader.from_key("unknown", defaults.unknown);
    special.separator = reader.from_key("seperator", defaults.separator);  // GGUF's own spelling
    special.padding = reader.from_key("padding", defaults.padding);
    special.mask = reader.from_key("mask", defaults.mask);
    if (!special.eot) special.eot = reader.first_of(end_of_turn_names);
    if (!special.eom) special.eom = reader.first_of(end_of_message_names);
    infill(reader, "fim_pre", infill_prefix_names, "prefix");
    infill(reader, "fim_suf", infill_suffix_names, "suffix");
    infill(reader, "fim_mid", infill_middle_names, "middle");
    special.end_of_generation = find_end_of_generation(reader, vocabulary, special);

    special.add_bos = resolve_add(reader, "add_bos_token", defaults.add_bos, special.bos, "bos");
    special.add_eos = resolve_add(reader, "add_eos_token", defaults.add_eos, special.eos, "eos");
    if (defaults.always_bos && !special.add_bos && special.bos) {
        logging::warn(
            "{}: key 'tokenizer.ggml.add_bos_token' is false, which is wrong for this tokenizer; BOS is added",
            metadata.origin());
        special.add_bos = true;
    }
    return special;
}

}  // namespace toy
