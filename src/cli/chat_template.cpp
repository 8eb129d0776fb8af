// toy chat-template: what a conversation becomes for a model.
#include "text/chat_template.h"

#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/inference_flags.h"
#include "cli/output.h"
#include "cli/prompt.h"
#include "core/error.h"
#include "io/gguf.h"
#include "io/quote.h"
#include "text/conversation_encoder.h"

namespace toy::cli {
namespace {

using Json = ChatTemplate::Json;

struct Conversation {
    std::string name = "the example";
    Json messages;
    ChatTemplate::Options options;
};

// A conversation for those who only want to see the template at work.
Json example(bool is_answered) {
    Json messages = Json::array({{{"role", "user"}, {"content", "Hello!"}},
                                 {{"role", "assistant"}, {"content", "Hello. How can I help?"}},
                                 {{"role", "user"}, {"content", "What is 1 + 1?"}}});
    if (is_answered) messages.push_back({{"role", "assistant"}, {"content", "It is 2."}});
    return messages;
}

// An array of messages, or an object with "messages", perhaps "tools", and variables of the template.
Conversation read_conversation(const Arguments& arguments) {
    Conversation conversation;
    conversation.options.add_generation_prompt = arguments.on("generation-prompt");
    if (!arguments.given("messages") && !has_standard_input()) {
        conversation.messages = example(arguments.on("mask"));
        return conversation;
    }
    const std::string path = arguments.given("messages") ? arguments.text("messages") : "-";
    conversation.name = path == "-" ? "standard input" : path;
    Json json = Json::parse(read_text(path), nullptr, false);
    if (json.is_discarded()) bad_input("{}: is not JSON", conversation.name);
    if (json.is_object()) {
        if (!json.contains("messages")) bad_input("{}: has no \"messages\"", conversation.name);
        conversation.messages = json["messages"];
        json.erase("messages");
        if (json.contains("tools")) conversation.options.tools = json["tools"];
        json.erase("tools");
        conversation.options.extra = std::move(json);
    } else {
        conversation.messages = std::move(json);
    }
    return conversation;
}

void print_tokens(const Tokenizer& tokenizer, const TrainingText& text) {
    std::string lines;
    for (size_t i = 0; i < text.ids.size(); ++i) {
        const int32_t id = text.ids[i];
        const std::string_view piece = tokenizer.piece(id).empty() ? tokenizer.text(id) : tokenizer.piece(id);
        lines += fmt::format("{}\t{}\t{}\n", text.is_target[i] ? '+' : '-', id, quote(piece));
    }
    print(lines);
}

int run(const Arguments& arguments) {
    const Gguf file = Gguf::open(find_model(arguments.positional(0)));
    if (!Tokenizer::is_present(file.metadata())) bad_input("{}: holds no tokenizer", file.path().string());
    const auto tokenizer = Tokenizer::from_metadata(file.metadata());
    const ChatTemplate chat = ChatTemplate::from_metadata(file.metadata(), *tokenizer, arguments.text("variant"));
    Conversation conversation = read_conversation(arguments);
    const bool is_masked = arguments.on("mask");
    if (is_masked) conversation.options.add_generation_prompt = false;
    const std::string text = chat.render(conversation.messages, conversation.options);
    TrainingText tokens;
    if (is_masked) {
        const ConversationEncoder encoder(chat, *tokenizer, conversation.options);
        tokens = encoder.encode(conversation.messages, conversation.name);
    } else {
        tokens.ids = encode_chat(*tokenizer, text);
    }
    if (arguments.on("json")) {
        Json json = {
            {"format", "toy/chat-template-v1"}, {"model", file.path().string()}, {"text", text}, {"ids", tokens.ids}};
        if (is_masked) json["is_target"] = tokens.is_target;
        print_json(json);
    } else if (is_masked) {
        print_tokens(*tokenizer, tokens);
    } else {
        print(is_terminal() ? without_controls(text) + (text.ends_with('\n') ? "" : "\n") : text);
    }
    return k_ok;
}

}  // namespace

extern const Command k_chat_template;
const Command k_chat_template{
    .name = "chat-template",
    .summary = "show what a conversation becomes for a model",
    .description =
        "Runs the chat template of a model's file over a conversation and prints the text, or with --mask the tokens "
        "with a + before those that training counts: what the assistant says, through its end-of-turn token.\n\n"
        "The conversation is JSON: an array of messages ({\"role\": \"user\", \"content\": \"…\"}), or an object with "
        "\"messages\", perhaps \"tools\", and whatever else the template asks for (\"enable_thinking\": false). "
        "Without "
        "--messages it is read from standard input where that is a pipe or a file, else it is a short example.",
    .positionals = {model_word()},
    .flags = {{.name = "messages",
               .letter = 'm',
               .kind = Kind::file,
               .value = "FILE",
               .summary = "read the conversation from a file, or from standard input for -"},
              {.name = "generation-prompt",
               .summary = "end with what comes before the next answer",
               .starts_on = true,
               .can_be_negated = true},
              {.name = "mask",
               .summary = "print the tokens, with a + before those that training counts, - before others"},
              {.name = "variant",
               .kind = Kind::text,
               .value = "NAME",
               .summary = "the template of that name, where the file has several (tokenizer.chat_template.NAME)"}},
    .refused = {},
    .examples = {"toy chat-template model.gguf", "toy chat-template model.gguf --messages chat.json --mask"},
    .run = run,
};

}  // namespace toy::cli
