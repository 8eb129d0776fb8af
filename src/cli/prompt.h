#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"
#include "text/tokenizer.h"

namespace toy::cli {

/// What a model is to continue: a text, or ids.
struct Prompt {
    std::string text;
    std::optional<std::vector<int32_t>> ids;
};

/// The flags that `read_prompt` reads.
std::vector<Flag> prompt_flags();
/// The prompt that the flags tell; without one of them standard input where it is a pipe or a file, else "Once upon a
/// time". One line break at the end of a file or of standard input does not count. Throws Error{bad_input}.
Prompt read_prompt(const Arguments& arguments);
/// The strings of --stop, with --escape as in the prompt.
std::vector<std::string> read_stops(const Arguments& arguments);

/// The ids of a prompt, with BOS where the model wants it; an empty text is BOS alone. Throws Error{bad_input} where
/// that model has none.
std::vector<int32_t> encode_prompt(const Tokenizer& tokenizer, const std::string& text, bool parse_special);

/// Replaces \n, \t, \r, \\, \", \' and \xHH by what they stand for. Throws Error{bad_input} naming `flag` for any other
/// backslash.
std::string unescaped(std::string_view text, std::string_view flag);

/// The whole file, or standard input for "-", at most 256 MiB. Throws Error{bad_input}.
std::string read_text(const std::string& path);

/// Whether standard input is a pipe or a file, so that something was given there.
bool has_standard_input();

}  // namespace toy::cli
