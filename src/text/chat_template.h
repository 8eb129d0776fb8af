#pragma once
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/metadata.h"
#include "text/jinja/template.h"
#include "text/tokenizer.h"

namespace toy {

/// How a model wants conversations spelled: the Jinja template of its file (`tokenizer.chat_template`), run as Hugging
/// Face's transformers runs it. Immutable; serves any number of threads.
class ChatTemplate {
 public:
    using Json = nlohmann::ordered_json;

    /// What a template sees beside the messages.
    struct Options {
        bool add_generation_prompt = true;  ///< end with what comes before the next answer
        Json tools = nullptr;               ///< an array of function descriptions, or null
        Json extra = Json::object();        ///< more variables, as {"enable_thinking": false}
        std::optional<std::tm> now = {};    ///< for strftime_now; nothing: the local time
    };

    /// Whether the file has any.
    static bool is_present(const Metadata& metadata);
    /// The names of the file's other templates (`tokenizer.chat_template.NAME`), as "tool_use".
    static std::vector<std::string> variants(const Metadata& metadata);
    /// The template of that name; "" is the one without a name. Throws Error{bad_input} where the file has none of that
    /// name, or it is none that we can run, with the key and the line.
    static ChatTemplate from_metadata(const Metadata& metadata, const Tokenizer& tokenizer,
                                      std::string_view variant = {});
    /// A template that is given by its text; `name` stands in sentences.
    ChatTemplate(std::string name, std::string_view source, const Tokenizer& tokenizer);

    /// The conversation as the model reads it; `messages` is an array of objects with a "role". Throws
    /// Error{bad_input} where it is not, where the template refuses the conversation, and where it fails.
    std::string render(const Json& messages, const Options& options) const;
    /// The same, with the places of what {% generation %} blocks wrote.
    jinja::Template::Output render_with_spans(const Json& messages, const Options& options) const;
    /// Whether the template says itself, by {% generation %}, what the assistant says.
    bool has_generation() const { return template_.has_generation(); }

 private:
    jinja::Template template_;
    Json tokens_;  // bos_token, eos_token, …
};

/// The ids of a rendered conversation: control tokens that it spells become those tokens, and it begins with exactly
/// one BOS where the tokenizer adds one (templates that write it themselves do not double it). Training and inference
/// both come through here.
std::vector<int32_t> encode_chat(const Tokenizer& tokenizer, std::string_view text);

}  // namespace toy
