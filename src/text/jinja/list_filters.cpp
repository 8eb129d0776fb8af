// Filters of lists and dicts, as Jinja2 defines them. What Python makes lazily is made at once here, but stays a
// generator to those who look: always true, without length, and spent once read.
#include <algorithm>
#include <charconv>

#include "io/quote.h"
#include "text/jinja/method_tables.h"
#include "text/jinja/operators.h"
#include "text/jinja/parameters.h"
#include "text/jinja/show.h"
#include "text/jinja/unicode.h"

namespace toy::jinja {
namespace {

using Kind = Value::Kind;
using Flavour = Sequence::Flavour;

Value generator(Run& run, List items) { return make_sequence(run, std::move(items), Flavour::generator); }

// Python notices only when the generator is read that its source has no elements; some templates never read it.
Value generator_over(Run& run, const Value& source) {
    run.take(sizeof(Sequence));
    auto refusal = fmt::format("a value of type {} has no elements to go through", source.type_name());
    return std::make_shared<const Sequence>(Sequence{Flavour::generator, {}, 0, false, std::move(refusal)});
}

Value lower_case(Run& run, const Value& value) { return value.is_text() ? make_text(run, lower(value.text())) : value; }

// "a.b.0": the attribute of an attribute, whole numbers as indices.
Value path_of(Run& run, Value value, const Value& path, const Value* fallback = nullptr) {
    const auto step = [&](const Value& key) {
        value = item(run, value, key);
        if (fallback && !fallback->is_none() && value.is_undefined()) value = *fallback;
    };
    if (path.is_none()) return value;
    if (!path.is_text()) {
        step(path);
        return value;
    }
    std::string_view rest = path.text();
    while (true) {
        const std::string_view part = rest.substr(0, rest.find('.'));
        int64_t number = 0;
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
        const bool is_number = error == std::errc() && end == part.data() + part.size() && number >= 0;
        step(is_number ? Value(number) : Value::text(std::string(part)));
        if (part.size() == rest.size()) return value;
        rest.remove_prefix(part.size() + 1);
    }
}

Value length_filter(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "length", arguments, {});
    return static_cast<int64_t>(length_of(run, self));
}

Value list(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "list", arguments, {});
    return make_sequence(run, elements(run, self));
}

Value first(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "first", arguments, {});
    const List items = elements(run, self);
    return items.empty() ? Value::undefined("No first item, sequence was empty") : items.front();
}

Value last(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "last", arguments, {});
    if (self.is_sequence(Flavour::generator)) run.fail("a generator has no last element");
    const List items = elements(run, self);
    return items.empty() ? Value::undefined("No last item, sequence was empty") : items.back();
}

Value join(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "join", arguments, {"d", "attribute"});
    const std::string separator = given.find(0) ? to_text(run, given.value(0)) : "";
    std::string out;
    bool is_first = true;
    for (const Value& element : elements(run, self)) {
        const std::string part = to_text(run, given.has(1) ? path_of(run, element, given.value(1)) : element);
        run.step(part.size() + separator.size());
        if (out.size() + part.size() + separator.size() > run.limits().text_bytes)
            run.fail("a joined text is too long");
        if (!is_first) out += separator;
        is_first = false;
        out += part;
    }
    return make_text(run, std::move(out));
}

Value items(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "items", arguments, {});
    List pairs;
    if (self.is_undefined()) return generator(run, {});
    if (!self.is(Kind::dict)) return generator_over(run, self);
    for (const auto& [key, value] : self.dict().entries()) {
        pairs.push_back(make_sequence(run, {key, value}, Flavour::tuple));
    }
    return generator(run, std::move(pairs));
}

// Sorts stably by the keys, which are made once.
List sorted(Run& run, List values, const List& keys, bool is_reversed) {
    std::vector<size_t> order(values.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, [&](size_t a, size_t b) {
        return is_reversed ? less(run, keys[b], keys[a]) : less(run, keys[a], keys[b]);
    });
    List result;
    for (const size_t i : order) result.push_back(values[i]);
    return result;
}

Value dictsort(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "dictsort", arguments, {"case_sensitive", "by", "reverse"});
    const std::string by = given.text(1, "key");
    if (by != "key" && by != "value") run.fail("dictsort sorts by 'key' or 'value'");
    if (self.is_undefined()) run.fail("{}", self.hint());
    if (!self.is(Kind::dict)) run.fail("dictsort wants a dict, not {}", self.type_name());
    List pairs, keys;
    for (const auto& [key, value] : self.dict().entries()) {
        pairs.push_back(make_sequence(run, {key, value}, Flavour::tuple));
        const Value& what = by == "key" ? key : value;
        keys.push_back(given.on(0) ? what : lower_case(run, what));
    }
    return make_sequence(run, sorted(run, std::move(pairs), keys, given.on(2)));
}

Value sort(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "sort", arguments, {"reverse", "case_sensitive", "attribute"});
    List values = elements(run, self), keys;
    std::vector<Value> paths;  // several, with commas between them
    if (given.has(2) && given.value(2).is_text()) {
        std::string_view rest = given.value(2).text();
        for (size_t at = 0; at != std::string_view::npos;
             rest.remove_prefix(at == std::string_view::npos ? 0 : at + 1)) {
            at = rest.find(',');
            paths.push_back(Value::text(std::string(rest.substr(0, at))));
        }
    } else {
        paths.push_back(given.has(2) ? given.value(2) : Value::none());
    }
    for (const Value& value : values) {
        List key;
        for (const Value& path : paths) {
            const Value part = path_of(run, value, path);
            key.push_back(given.on(1) ? part : lower_case(run, part));
        }
        keys.push_back(make_sequence(run, std::move(key)));
    }
    return make_sequence(run, sorted(run, std::move(values), keys, given.on(0)));
}

Value unique(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "unique", arguments, {"case_sensitive", "attribute"});
    if (!is_iterable(self)) return generator_over(run, self);
    Dict seen;
    List result;
    for (const Value& value : elements(run, self)) {
        Value key = given.has(1) ? path_of(run, value, given.value(1)) : value;
        if (!given.on(0)) key = lower_case(run, key);
        if (seen.find(key)) continue;
        seen.set(run, key, true);
        result.push_back(value);
    }
    return generator(run, std::move(result));
}

Value extreme(Run& run, const Value& self, const Arguments& arguments, bool is_max) {
    const Parameters given(run, is_max ? "max" : "min", arguments, {"case_sensitive", "attribute"});
    Value best = Value::undefined("No aggregated item, sequence was empty"), best_key;
    bool is_first = true;
    for (const Value& value : elements(run, self)) {
        Value key = given.has(1) ? path_of(run, value, given.value(1)) : value;
        if (!given.on(0)) key = lower_case(run, key);
        if (is_first || (is_max ? less(run, best_key, key) : less(run, key, best_key))) {
            best = value;
            best_key = key;
        }
        is_first = false;
    }
    return best;
}

Value sum(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "sum", arguments, {"attribute", "start"});
    Value total = given.find(1) ? given.value(1) : Value(int64_t{0});
    for (const Value& value : elements(run, self)) {
        total = arithmetic(run, Operator::add, total, given.has(0) ? path_of(run, value, given.value(0)) : value);
    }
    return total;
}

Value reverse(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "reverse", arguments, {});
    if (self.is_text()) {
        std::u32string codes = characters(self.text());
        std::ranges::reverse(codes);
        return make_text(run, utf8_of(codes), self.is_safe());
    }
    List values = elements(run, self);
    std::ranges::reverse(values);
    // Python reverses generators into a list, all else into an iterator.
    if (self.is_sequence(Flavour::generator)) return make_sequence(run, std::move(values));
    return generator(run, std::move(values));
}

Value batch(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "batch", arguments, {"linecount", "fill_with"}, 1);
    const int64_t size = given.integer(0);
    if (!is_iterable(self)) return generator_over(run, self);
    if (size < 1) run.fail("batch wants at least one element in each");
    List batches, current;
    for (const Value& value : elements(run, self)) {
        if (static_cast<int64_t>(current.size()) == size)
            batches.push_back(make_sequence(run, std::exchange(current, {})));
        current.push_back(value);
    }
    if (!current.empty() && given.has(1)) {
        if (size > 1'000'000) run.fail("batch would fill up to {} elements", size);
        current.resize(static_cast<size_t>(size), given.value(1));
    }
    if (!current.empty()) batches.push_back(make_sequence(run, std::move(current)));
    return generator(run, std::move(batches));
}

Value attr(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "attr", arguments, {"name"}, 1);
    // Attributes only: the elements of a dict are none.
    if (self.is(Kind::dict) && self.dict().find(given.text(0))) return Value::undefined("a dict has no such attribute");
    return attribute(run, self, given.text(0));
}

// The arguments behind the first `count`.
Arguments rest_of(const Arguments& arguments, size_t count) {
    Arguments rest = arguments;
    rest.positional.erase(rest.positional.begin(), rest.positional.begin() + static_cast<ptrdiff_t>(count));
    return rest;
}

std::string name_at(Run& run, const Arguments& arguments, size_t i) {
    if (!arguments.positional[i].is_text()) run.fail("the name of a filter or test is no text");
    return arguments.positional[i].text();
}

Value map(Run& run, const Value& self, const Arguments& arguments) {
    List result;
    if (!truth(self)) return generator(run, {});  // also None, as in Jinja2
    if (!is_iterable(self)) return generator_over(run, self);
    if (arguments.positional.empty()) {
        const Parameters given(run, "map", arguments, {"attribute", "default"}, 1);
        const Value* fallback = given.find(1);
        for (const Value& value : elements(run, self)) {
            result.push_back(path_of(run, value, given.value(0), fallback));
        }
        return generator(run, std::move(result));
    }
    const std::string name = name_at(run, arguments, 0);
    const Arguments rest = rest_of(arguments, 1);
    for (const Value& value : elements(run, self)) result.push_back(apply_filter(run, name, value, rest));
    return generator(run, std::move(result));
}

// select, reject, and the two that look at an attribute; without the name of a test, truth decides.
Value choose(Run& run, const Value& self, const Arguments& arguments, bool wanted, bool by_attribute) {
    const size_t offset = by_attribute ? 1 : 0;
    if (!truth(self)) return generator(run, {});  // also None, as in Jinja2
    if (!is_iterable(self)) return generator_over(run, self);
    if (arguments.positional.size() < offset) run.fail("selectattr and rejectattr need the name of an attribute");
    const bool has_test = arguments.positional.size() > offset;
    const std::string name = has_test ? name_at(run, arguments, offset) : "";
    const Arguments rest = has_test ? rest_of(arguments, offset + 1) : Arguments();
    List result;
    for (const Value& value : elements(run, self)) {
        const Value what = by_attribute ? path_of(run, value, arguments.positional[0]) : value;
        const bool holds = has_test ? apply_test(run, name, what, rest) : truth(what);
        if (holds == wanted) result.push_back(value);
    }
    return generator(run, std::move(result));
}

Value groupby(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "groupby", arguments, {"attribute", "default", "case_sensitive"}, 1);
    List values = elements(run, self), keys;
    for (const Value& value : values) {
        const Value key = path_of(run, value, given.value(0), given.find(1));
        keys.push_back(given.on(2) ? key : lower_case(run, key));
    }
    const List ordered = sorted(run, std::move(values), keys, false);
    List groups, group;
    Value current;
    const auto flush = [&] {
        if (group.empty()) return;
        const Value key = path_of(run, group.front(), given.value(0), given.find(1));
        const Value members = make_sequence(run, std::exchange(group, {}));
        groups.push_back(make_sequence(run, {key, members}, Flavour::tuple));
    };
    for (const Value& value : ordered) {
        Value key = path_of(run, value, given.value(0), given.find(1));
        if (!given.on(2)) key = lower_case(run, key);
        if (!group.empty() && !equal(run, key, current)) flush();
        current = key;
        group.push_back(value);
    }
    flush();
    return make_sequence(run, std::move(groups));
}

}  // namespace

const MethodTable& list_filters() {
    static const MethodTable table = {
        {"length", length_filter},
        {"count", length_filter},
        {"list", list},
        {"first", first},
        {"last", last},
        {"join", join},
        {"items", items},
        {"dictsort", dictsort},
        {"sort", sort},
        {"unique", unique},
        {"min", [](Run& r, const Value& s, const Arguments& a) { return extreme(r, s, a, false); }},
        {"max", [](Run& r, const Value& s, const Arguments& a) { return extreme(r, s, a, true); }},
        {"sum", sum},
        {"reverse", reverse},
        {"batch", batch},
        {"attr", attr},
        {"map", map},
        {"groupby", groupby},
        {"select", [](Run& r, const Value& s, const Arguments& a) { return choose(r, s, a, true, false); }},
        {"reject", [](Run& r, const Value& s, const Arguments& a) { return choose(r, s, a, false, false); }},
        {"selectattr", [](Run& r, const Value& s, const Arguments& a) { return choose(r, s, a, true, true); }},
        {"rejectattr", [](Run& r, const Value& s, const Arguments& a) { return choose(r, s, a, false, true); }},
    };
    return table;
}

Value apply_filter(Run& run, std::string_view name, const Value& value, const Arguments& arguments) {
    run.step();
    for (const MethodTable* table : {&text_filters(), &list_filters()}) {
        const auto found = table->find(name);
        if (found != table->end()) return found->second(run, value, arguments);
    }
    run.fail("there is no filter {}", quote(name));
}

}  // namespace toy::jinja
