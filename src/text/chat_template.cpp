#include "text/chat_template.h"

#include <fmt/ranges.h>

#include "core/error.h"
#include "io/quote.h"

namespace toy {
namespace {

using Json = ChatTemplate::Json;

constexpr std::string_view k_key = "tokenizer.chat_template";

const std::string& source_of(const Metadata& metadata, std::string_view variant) {
    const std::string key = variant.empty() ? std::string(k_key) : fmt::format("{}.{}", k_key, variant);
    if (const std::string* source = metadata.find_string(key)) return *source;
    const std::vector<std::string> others = ChatTemplate::variants(metadata);
    if (variant.empty() && others.empty()) {
        bad_input("{}: has no chat template (key '{}'), so it cannot take conversations", metadata.origin(), k_key);
    }
    bad_input("{}: has no key {}; its other chat templates are: {}", metadata.origin(), quote(key),
              others.empty() ? "none" : quote(fmt::format("{}", fmt::join(others, ", "))));
}

// The names under which transformers passes special tokens.
Json token_texts(const Tokenizer& tokenizer) {
    const std::pair<const char*, std::optional<int32_t>> roles[] = {
        {"bos_token", tokenizer.bos()},       {"eos_token", tokenizer.eos()},     {"unk_token", tokenizer.unknown()},
        {"sep_token", tokenizer.separator()}, {"pad_token", tokenizer.padding()}, {"mask_token", tokenizer.mask()},
    };
    Json texts = Json::object();
    for (const auto& [name, id] : roles) {
        if (id) texts[name] = tokenizer.text(*id);
    }
    return texts;
}

void check_messages(const Json& messages) {
    if (!messages.is_array()) bad_input("the messages of a conversation are no array");
    for (size_t i = 0; i < messages.size(); ++i) {
        const Json& message = messages[i];
        if (!message.is_object()) bad_input("message {} is no object", i + 1);
        const auto role = message.find("role");
        if (role == message.end() || !role->is_string()) bad_input("message {} has no \"role\" that is a text", i + 1);
    }
}

}  // namespace

bool ChatTemplate::is_present(const Metadata& metadata) { return metadata.has(k_key) || !variants(metadata).empty(); }

std::vector<std::string> ChatTemplate::variants(const Metadata& metadata) {
    const std::string prefix = std::string(k_key) + ".";
    std::vector<std::string> names;
    for (const auto& [key, value] : metadata.entries()) {
        if (key.starts_with(prefix)) names.push_back(key.substr(prefix.size()));
    }
    return names;
}

ChatTemplate ChatTemplate::from_metadata(const Metadata& metadata, const Tokenizer& tokenizer,
                                         std::string_view variant) {
    const std::string& source = source_of(metadata, variant);
    return ChatTemplate(fmt::format("{}: chat template{}{}", metadata.origin(), variant.empty() ? "" : " ", variant),
                        source, tokenizer);
}

ChatTemplate::ChatTemplate(std::string name, std::string_view source, const Tokenizer& tokenizer)
    : template_(jinja::Template::compile(std::move(name), source)), tokens_(token_texts(tokenizer)) {}

jinja::Template::Output ChatTemplate::render_with_spans(const Json& messages, const Options& options) const {
    check_messages(messages);
    if (!options.tools.is_null() && !options.tools.is_array()) bad_input("the tools of a conversation are no array");
    if (!options.extra.is_object()) bad_input("the extra variables of a chat template are no object");
    Json variables = tokens_;
    variables["messages"] = messages;
    variables["tools"] = options.tools;
    variables["documents"] = nullptr;  // transformers passes it, and some templates ask
    variables["add_generation_prompt"] = options.add_generation_prompt;
    for (const auto& [name, value] : options.extra.items()) variables[name] = value;
    return template_.render(variables, options.now ? *options.now : jinja::local_time());
}

std::string ChatTemplate::render(const Json& messages, const Options& options) const {
    return render_with_spans(messages, options).text;
}

std::vector<int32_t> encode_chat(const Tokenizer& tokenizer, std::string_view text) {
    std::vector<int32_t> ids = tokenizer.encode(text, {.add_special = false, .parse_special = true});
    const auto bos = tokenizer.bos();
    const bool lacks_bos = tokenizer.add_bos() && bos && (ids.empty() || ids.front() != *bos);
    if (lacks_bos) ids.insert(ids.begin(), *bos);
    return ids;
}

}  // namespace toy
