#include "text/jsonl.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.h"

namespace toy {
namespace {

using Json = nlohmann::json;

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// Refuses objects of very many keys: JSON that keeps the order of its keys searches them one by one.
class KeyCounter {
 public:
    bool operator()(int depth, Json::parse_event_t event, const Json&) {
        const auto level = static_cast<size_t>(depth);
        if (event == Json::parse_event_t::object_start) {
            counts_.resize(level + 1);
            counts_.push_back(0);
        } else if (event == Json::parse_event_t::key && ++counts_.at(level) > k_jsonl_max_keys) {
            bad_input("an object of the line has more than {} keys", k_jsonl_max_keys);
        }
        return true;
    }

 private:
    std::vector<size_t> counts_;  // of the keys so far, by the depth at which they stand
};

Json parse(std::string_view line) {
    if (line.size() > k_jsonl_max_line) {
        bad_input("the line has {} bytes; at most {} are read", line.size(), k_jsonl_max_line);
    }
    try {
        return Json::parse(line, KeyCounter());
    } catch (const Json::parse_error& error) {
        bad_input("the line is no JSON: its byte {} cannot stand there", error.byte);
    } catch (const Json::exception&) {
        bad_input("the line holds a number that is out of range");
    }
}

const std::string& string_of(const Json& object, std::string_view key) {
    const auto found = object.find(key);
    if (found == object.end()) bad_input("the key '{}' is missing", key);
    if (!found->is_string()) bad_input("the key '{}' is {}, expected a string", key, found->type_name());
    return found->get_ref<const std::string&>();
}

/// `line` once more, since templates see the keys of a message in their order.
ConversationSample read_conversation(const Json& object, std::string_view line) {
    for (const std::string_view key : {"tools", "functions"}) {
        if (object.contains(key)) bad_input("the key '{}' would change the prompt, and it is not supported", key);
    }
    const Json& messages = object["messages"];
    if (!messages.is_array()) bad_input("the key 'messages' is {}, expected an array", messages.type_name());
    if (messages.empty()) bad_input("the key 'messages' is empty");
    for (size_t i = 0; i < messages.size(); ++i) {
        const Json& message = messages[i];
        if (!message.is_object()) bad_input("message {} is {}, expected an object", i + 1, message.type_name());
        if (!message.contains("role") || !message["role"].is_string()) {
            bad_input("message {} has no string under the key 'role'", i + 1);
        }
    }
    return {std::move(nlohmann::ordered_json::parse(line)["messages"])};
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
    if (messages) return read_conversation(object, line);
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
