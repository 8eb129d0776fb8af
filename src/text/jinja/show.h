#pragma once
#include <string>

#include "text/jinja/value.h"

namespace toy::jinja {

/// Python's str(): what {{ value }} prints. Nothing for undefined. Throws for what has no text worth printing
/// (functions, generators).
std::string to_text(Run& run, const Value& value);
/// Python's repr(): strings in quotes.
std::string to_repr(Run& run, const Value& value);
/// Python's repr() of a float: the shortest digits that read back equal.
std::string show_real(double value);

/// How json.dumps is asked to write.
struct JsonStyle {
    std::string indent;  ///< of one level
    bool is_indented = false;
    std::string item_separator = ", ", key_separator = ": ";
    bool ensure_ascii = false;
    bool sort_keys = false;
};
/// Python's json.dumps. Throws where the value is no JSON (undefined, a function).
std::string to_json(Run& run, const Value& value, const JsonStyle& style);

}  // namespace toy::jinja
