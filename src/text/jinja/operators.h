#pragma once
#include <string>

#include "text/jinja/ast.h"
#include "text/jinja/value.h"

namespace toy::jinja {

/// Python's bool().
bool truth(const Value& value);
/// Python's ==, which holds between numbers of any type and between two undefined values.
bool equal(Run& run, const Value& a, const Value& b);
/// Python's <. Throws where the types have no order.
bool less(Run& run, const Value& a, const Value& b);
bool compare(Run& run, Comparison comparison, const Value& a, const Value& b);
/// Python's `item in container`.
bool contains(Run& run, const Value& container, const Value& item);
Value arithmetic(Run& run, Operator operation, const Value& a, const Value& b);
Value negative(Run& run, const Value& value);

/// The elements of anything that can be iterated: the keys of a dict, the characters of a text, nothing of an undefined
/// value. A generator is spent by it.
List elements(Run& run, const Value& value);
bool is_iterable(const Value& value);
/// Python's len().
size_t length_of(Run& run, const Value& value);

/// value.name as Jinja2 finds it: a method, an attribute, or an element of that key; else undefined.
Value attribute(Run& run, const Value& value, std::string_view name);
/// value[key], likewise.
Value item(Run& run, const Value& value, const Value& key);
/// value[from:to:step]; null where nothing is given.
Value slice(Run& run, const Value& value, const Value* from, const Value* to, const Value* step);
/// The call of a function, macro or method.
Value call(Run& run, const Value& callee, const Arguments& arguments);

/// HTML's &, <, >, ' and " replaced, as Markup does it.
std::string escaped(std::string_view text);

}  // namespace toy::jinja
