#pragma once
#include <cstddef>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>

namespace toy {

/// What one line of a JSONL file says. Other keys of the line are its own affair and are not read.
struct PlainSample {
    std::string text;  ///< {"text": …}: all of it is to be predicted
};
struct CompletionSample {
    std::string prompt, completion;  ///< {"prompt": …, "completion": …}: only the completion is
};
struct ConversationSample {
    /// {"messages": [{"role": …, "content": …}, …]}: what the assistant says is. An array of at least one object with a
    /// "role"; what else stands in them is for the chat template.
    nlohmann::ordered_json messages;
};
using Sample = std::variant<PlainSample, CompletionSample, ConversationSample>;

constexpr size_t k_jsonl_max_line = size_t{1} << 28;  ///< bytes
constexpr size_t k_jsonl_max_keys = 1000;             ///< of one object

/// Calls `take(sample, line)` for each line of the UTF-8 text `bytes`, lines counted from 1; lines of white space alone
/// are skipped. Throws Error{bad_input} naming `path` and the line for what is no JSON object, has none or several of
/// the three kinds, a key of the wrong type, or
/// an object of too many keys. An Error of kind bad_input that `take` throws gets both put before it.
void read_jsonl(std::string_view bytes, const std::filesystem::path& path,
                const std::function<void(const Sample&, size_t line)>& take);

}  // namespace toy
