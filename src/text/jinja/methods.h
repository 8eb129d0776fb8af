#pragma once
#include <optional>
#include <string_view>

#include "text/jinja/value.h"

namespace toy::jinja {

/// The method of that name, bound to the value: those of str, dict, list and tuple that read; nothing where the type
/// has none of that name.
std::optional<Value> find_method(Run& run, const Value& value, std::string_view name);
/// Whether it is a method that would change the value, as append and pop; the sandbox of chat templates hides those.
bool changes_in_place(const Value& value, std::string_view name);

}  // namespace toy::jinja
