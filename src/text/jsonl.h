#pragma once
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/document.h"

namespace toy {

/// What one line of a JSONL file says. Other keys of the line are its own affair and are not read.
struct PlainSample {
    std::string text;  ///< {"text": …}: all of it is to be predicted
};
struct CompletionSample {
    std::string prompt, completion;  ///< {"prompt": …, "completion": …}: only the completion is
};
struct ConversationSample {
    std::vector<Turn> turns;  ///< {"messages": [{"role": …, "content": …}, …]}: what the assistant says is
};
using Sample = std::variant<PlainSample, CompletionSample, ConversationSample>;

constexpr size_t k_jsonl_max_line = size_t{1} << 28;  ///< bytes

/// Calls `take(sample, line)` for each line of the UTF-8 text `bytes`, lines counted from 1; lines of white space alone
/// are skipped. Throws Error{bad_input} naming `path` and the line for what is no JSON object, has none or several of
/// the three kinds, or a key of the wrong type. An Error of kind bad_input that `take` throws gets both put before it.
void read_jsonl(std::string_view bytes, const std::filesystem::path& path,
                const std::function<void(const Sample&, size_t line)>& take);

}  // namespace toy
