#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/jinja/value.h"

namespace toy::jinja {

/// What a method, a filter or a function does with the value before it.
using Function = Value (*)(Run& run, const Value& self, const Arguments& arguments);
using MethodTable = std::unordered_map<std::string_view, Function>;

const MethodTable& text_methods();

/// Filters by name; one table for texts and numbers, one for lists and dicts.
const MethodTable& text_filters();
const MethodTable& list_filters();
/// Tests by name; their value is a boolean.
const MethodTable& tests();

/// The result of the filter or test of that name. Throws where there is none.
Value apply_filter(Run& run, std::string_view name, const Value& value, const Arguments& arguments);
bool apply_test(Run& run, std::string_view name, const Value& value, const Arguments& arguments);

/// str.splitlines.
std::vector<std::string_view> lines(std::string_view text, bool with_ends);
/// str.replace; `most` below 0: all.
std::string replaced(Run& run, std::string_view text, std::string_view from, std::string_view to, int64_t most);

}  // namespace toy::jinja
