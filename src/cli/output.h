#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace toy::cli {

/// Standard output was closed by its reader (`toy … | head`): the program ends quietly.
struct OutputClosed {};

/// Writes to standard output at once, unbuffered. Throws OutputClosed, or Error{failure} where the target refuses (a
/// full disk).
void print(std::string_view text);
/// The value as indented JSON and a line break. Bytes that are not UTF-8 appear as U+FFFD.
void print_json(const nlohmann::ordered_json& value);
/// Writes to standard error; what cannot be written is dropped.
void print_error(std::string_view text);

/// "toy: warning: …" on standard error.
void print_warning(std::string_view sentence);

/// Whether standard output is a terminal.
bool is_terminal();
/// The text as a terminal may see it: control characters other than line break and tab become U+FFFD, since a terminal
/// obeys them and neither a model nor a file of a stranger should command it.
std::string without_controls(std::string_view text);

}  // namespace toy::cli
