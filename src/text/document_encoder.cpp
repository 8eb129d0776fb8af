#include "text/document_encoder.h"

#include <algorithm>

#include "core/error.h"

namespace toy {
namespace {

/// Whether any token but the first, before which nothing stands, is to be predicted.
bool has_target(const Document& document) {
    return !document.ids.empty() &&
           std::find(document.is_target.begin() + 1, document.is_target.end(), true) != document.is_target.end();
}

bool predicts_all(const Document& document) {
    return std::find(document.is_target.begin(), document.is_target.end(), false) == document.is_target.end();
}

bool others_speak(const nlohmann::ordered_json& messages) {
    return std::any_of(messages.begin(), messages.end(), [](const auto& message) {
        return message["role"] != "assistant" && message.contains("content") && message["content"] != "";
    });
}

}  // namespace

std::vector<int32_t> DocumentEncoder::ids_of(std::string_view text, bool continuation) const {
    return tokenizer_.encode(
        text, {.add_special = false, .parse_special = options_.parse_special, .continuation = continuation});
}

Document DocumentEncoder::begin(bool predicted) const {
    Document document;
    const std::optional<int32_t> bos = tokenizer_.bos();
    if (tokenizer_.add_bos() && bos) document.append(*bos, predicted);
    return document;
}

Document DocumentEncoder::text(std::string_view text) const {
    Document document = begin(true);
    document.append(ids_of(text, false), true);
    if (const auto end = tokenizer_.eos()) document.append(*end, true);
    return document;
}

Document DocumentEncoder::stretch(std::string_view text) const {
    Document document;
    document.append(ids_of(text, false), true);
    return document;
}

Document DocumentEncoder::completion(std::string_view prompt, std::string_view completion) const {
    const std::optional<int32_t> end = tokenizer_.eos();
    if (!end) {
        bad_input(
            "completions need an end-of-text token, which the vocabulary has not: the model would not learn to "
            "stop");
    }
    Document document = begin(false);
    document.append(ids_of(prompt, false), false);
    document.append(ids_of(completion, !prompt.empty()), true);
    document.append(*end, true);
    return document;
}

Document DocumentEncoder::conversation(const nlohmann::ordered_json& messages) const {
    if (!options_.conversations) {
        bad_input("'messages' need a chat template, and this model has none; write 'prompt' and 'completion' instead");
    }
    Document document = options_.conversations(messages);
    if (document.ids.size() != document.is_target.size()) {
        failure("the chat template's encoder gave {} tokens but {} marks", document.ids.size(),
                document.is_target.size());
    }
    if (!has_target(document)) bad_input("nothing of the conversation is to be predicted: does the assistant speak?");
    if (predicts_all(document) && others_speak(messages)) {
        bad_input(
            "everything of the conversation would be predicted, the user's messages too: the chat template does "
            "not tell who speaks");
    }
    return document;
}

Document DocumentEncoder::encode(const Sample& sample) const {
    if (const auto* plain = std::get_if<PlainSample>(&sample)) return text(plain->text);
    if (const auto* pair = std::get_if<CompletionSample>(&sample)) return completion(pair->prompt, pair->completion);
    return conversation(std::get<ConversationSample>(sample).messages);
}

}  // namespace toy
