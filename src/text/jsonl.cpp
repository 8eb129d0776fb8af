#include "text/jsonl.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "io/quote.h"

namespace toy {
namespace {

using Json = nlohmann::json;

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

Json parse(std::string_view line) {
    if (line.size() > k_jsonl_max_line) {
        bad_input("the line has {} bytes; at most {} are read", line.size(), k_jsonl_max_line);
    }
    try {
        return Json::parse(line);
    } catch (const Json::parse_error& error) {
        bad_input("the line is no JSON: its byte {} cannot stand there", error.byte);
    } catch (const Json::exception&) {
        bad_input("the line holds a number that is out of range");
    }
}

const std::string& string_of(const Json& object, std::string_view key, std::string_view where = "") {
    const auto found = object.find(key);
    if (found == object.end()) bad_input("{}the key '{}' is missing", where, key);
    if (!found->is_string()) bad_input("{}the key '{}' is {}, expected a string", where, key, found->type_name());
    return found->get_ref<const std::string&>();
}

Turn read_turn(const Json& message, size_t number) {
    const std::string where = fmt::format("message {}: ", number);
    if (!message.is_object()) bad_input("{}is {}, expected an object", where, message.type_name());
    for (const auto& [key, value] : message.items()) {
        if (key == "role" || key == "content" || value.is_null()) continue;
        bad_input("{}has the key {}, which would not be trained on; only 'role' and 'content' are", where, quote(key));
    }
    return {string_of(message, "role", where), string_of(message, "content", where)};
}

ConversationSample read_conversation(const Json& messages) {
    if (!messages.is_array()) bad_input("the key 'messages' is {}, expected an array", messages.type_name());
    if (messages.empty()) bad_input("the key 'messages' is empty");
    ConversationSample sample;
    for (const Json& message : messages) sample.turns.push_back(read_turn(message, sample.turns.size() + 1));
    return sample;
}

Sample read_sample(std::string_view line) {
    const Json object = parse(line);
    if (!object.is_object()) bad_input("the line is {}, expected a JSON object", object.type_name());
    const bool text = object.contains("text"), messages = object.contains("messages");
    const bool completion = object.contains("prompt") || object.contains("completion");
    if (text + messages + completion == 0) {
        bad_input("the line has none of the keys 'text', 'prompt' with 'completion', and 'messages'");
    }
    if (text + messages + completion > 1) {
        bad_input(
            "the line has several of the keys 'text', 'prompt' with 'completion', and 'messages': which one is "
            "meant?");
    }
    if (messages) return read_conversation(object["messages"]);
    if (completion) return CompletionSample{string_of(object, "prompt"), string_of(object, "completion")};
    return PlainSample{string_of(object, "text")};
}

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

}  // namespace

void read_jsonl(std::string_view bytes, const std::filesystem::path& path,
                const std::function<void(const Sample&, size_t line)>& take) {
    if (bytes.starts_with(byte_order_mark)) bytes.remove_prefix(byte_order_mark.size());
    for (size_t line = 1; !bytes.empty(); ++line) {
        const size_t length = std::min(bytes.find('\n'), bytes.size());
        const std::string_view content = bytes.substr(0, length);
        bytes.remove_prefix(std::min(length + 1, bytes.size()));
        if (is_blank(content)) continue;
        try {
            take(read_sample(content), line);
        } catch (const Error& error) {
            if (error.kind() != Error::Kind::bad_input) throw;
            bad_input("{}: line {}: {}", path.native(), line, error.what());
        }
    }
}

}  // namespace toy
