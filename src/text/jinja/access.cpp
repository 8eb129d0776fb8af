// Attributes, elements and slices.
#include <algorithm>

#include "io/quote.h"
#include "text/jinja/methods.h"
#include "text/jinja/operators.h"
#include "text/jinja/unicode.h"

namespace toy::jinja {
namespace {

using Kind = Value::Kind;
using Flavour = Sequence::Flavour;

bool has_index(const Value& value) {
    return value.is_sequence(Flavour::list) || value.is_sequence(Flavour::tuple) || value.is_sequence(Flavour::range);
}

Value missing(const Value& value, std::string_view name) {
    return Value::undefined(fmt::format("a value of type {} has no attribute {}", value.type_name(), quote(name)));
}

// A method or an attribute, nothing else.
std::optional<Value> own_attribute(Run& run, const Value& value, std::string_view name) {
    if (value.is(Kind::object)) return value.object().attribute(run, name);
    if (changes_in_place(value, name)) {
        return Value::undefined(
            fmt::format("{} is not allowed: templates cannot change a value in place", quote(name)));
    }
    return find_method(run, value, name);
}

// One end of a slice as Python clamps it.
int64_t clamp(int64_t at, int64_t size, bool is_backward) {
    if (at < 0) at += size;
    return std::clamp<int64_t>(at, is_backward ? -1 : 0, is_backward ? size - 1 : size);
}

int64_t whole(Run& run, const Value& value) {
    const auto number = value.as_index();
    if (!number) run.fail("a slice needs whole numbers, not {}", value.type_name());
    // Beyond any size; keeps the sums below from overflowing.
    return std::clamp<int64_t>(*number, -(int64_t{1} << 40), int64_t{1} << 40);
}

}  // namespace

Value attribute(Run& run, const Value& value, std::string_view name) {
    if (value.is_undefined()) run.fail("{}", value.hint());
    if (auto found = own_attribute(run, value, name)) return *found;
    if (value.is(Kind::dict)) {
        if (const Value* found = value.dict().find(name)) return *found;
    }
    return missing(value, name);
}

Value item(Run& run, const Value& value, const Value& key) {
    if (value.is_undefined()) run.fail("{}", value.hint());
    if (value.is(Kind::dict)) {
        if (const Value* found = value.dict().find(key)) return *found;
    }
    if (const auto index = key.as_index(); index && (has_index(value) || value.is_text())) {
        const auto size = static_cast<int64_t>(length_of(run, value));
        const int64_t at = *index < 0 ? *index + size : *index;
        if (at < 0 || at >= size) return Value::undefined(fmt::format("there is no element {}", *index));
        if (!value.is_text()) return value.sequence().items[static_cast<size_t>(at)];
        const size_t begin = byte_of(value.text(), static_cast<size_t>(at));
        const size_t end = begin + byte_of(std::string_view(value.text()).substr(begin), 1);
        return make_text(run, value.text().substr(begin, end - begin), value.is_safe());
    }
    if (key.is_text()) {
        if (auto found = own_attribute(run, value, key.text())) return *found;
        return missing(value, key.text());
    }
    return Value::undefined(fmt::format("a value of type {} has no such element", value.type_name()));
}

Value slice(Run& run, const Value& value, const Value* from, const Value* to, const Value* step) {
    if (value.is_undefined()) run.fail("{}", value.hint());
    if (!value.is_text() && !has_index(value)) run.fail("a value of type {} has no slices", value.type_name());
    const auto given = [](const Value* part) { return part && !part->is_none(); };
    const int64_t stride = given(step) ? whole(run, *step) : 1;
    if (stride == 0) run.fail("a slice with steps of zero");
    const std::u32string codes = value.is_text() ? characters(value.text()) : std::u32string();
    run.step(value.is_text() ? value.text().size() : 0);
    const auto size = static_cast<int64_t>(value.is_text() ? codes.size() : value.sequence().items.size());
    const bool is_backward = stride < 0;
    const int64_t begin = given(from) ? clamp(whole(run, *from), size, is_backward) : (is_backward ? size - 1 : 0);
    const int64_t end = given(to) ? clamp(whole(run, *to), size, is_backward) : (is_backward ? -1 : size);
    std::u32string text;
    List items;
    for (int64_t at = begin; is_backward ? at > end : at < end; at += stride) {
        if (value.is_text()) {
            text += codes[static_cast<size_t>(at)];
        } else {
            items.push_back(value.sequence().items[static_cast<size_t>(at)]);
        }
    }
    if (value.is_text()) return make_text(run, utf8_of(text), value.is_safe());
    const bool is_range =
        value.is_sequence(Flavour::range);  // whose slices Python makes ranges too; these print as lists
    return make_sequence(run, std::move(items), is_range ? Flavour::list : value.sequence().flavour);
}

}  // namespace toy::jinja
