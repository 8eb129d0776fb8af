#include "text/jinja/operators.h"

#include <algorithm>
#include <cmath>

#include "io/quote.h"
#include "text/jinja/formatting.h"
#include "text/jinja/methods.h"
#include "text/jinja/show.h"
#include "text/jinja/unicode.h"

namespace toy::jinja {
namespace {

using Kind = Value::Kind;
using Flavour = Sequence::Flavour;

[[noreturn]] void refuse_types(Run& run, std::string_view what, const Value& a, const Value& b) {
    if (a.is_undefined()) run.fail("{}", a.hint());
    if (b.is_undefined()) run.fail("{}", b.hint());
    run.fail("{} does not go with values of type {} and {}", what, a.type_name(), b.type_name());
}

bool equal_sequences(Run& run, const Sequence& a, const Sequence& b) {
    if (&a == &b) return true;
    if (a.flavour != b.flavour || a.items.size() != b.items.size()) return false;
    if (a.flavour == Flavour::generator || a.flavour == Flavour::values) return false;
    for (size_t i = 0; i < a.items.size(); ++i) {
        if (!equal(run, a.items[i], b.items[i])) return false;
    }
    return true;
}

bool equal_dicts(Run& run, const Dict& a, const Dict& b) {
    if (a.entries().size() != b.entries().size()) return false;
    for (const auto& [key, value] : a.entries()) {
        const Value* other = b.find(key);
        if (!other || !equal(run, value, *other)) return false;
    }
    return true;
}

bool equal_numbers(const Value& a, const Value& b) {
    if (a.is(Kind::real) || b.is(Kind::real)) return a.as_real() == b.as_real();
    return *a.as_index() == *b.as_index();
}

bool less_sequences(Run& run, const Sequence& a, const Sequence& b) {
    for (size_t i = 0; i < std::min(a.items.size(), b.items.size()); ++i) {
        if (!equal(run, a.items[i], b.items[i])) return less(run, a.items[i], b.items[i]);
    }
    return a.items.size() < b.items.size();
}

// Whole numbers, with Python's floor and without its numbers beyond 64 bits.
Value integer_arithmetic(Run& run, Operator operation, int64_t a, int64_t b) {
    int64_t result = 0;
    bool overflows = false;
    switch (operation) {
        case Operator::add: overflows = __builtin_add_overflow(a, b, &result); break;
        case Operator::subtract: overflows = __builtin_sub_overflow(a, b, &result); break;
        case Operator::multiply: overflows = __builtin_mul_overflow(a, b, &result); break;
        case Operator::divide:
            if (b == 0) run.fail("division by zero");
            return static_cast<double>(a) / static_cast<double>(b);
        case Operator::floor_divide:
        case Operator::modulo: {
            if (b == 0) run.fail("division by zero");
            if (b == -1) {
                overflows = operation == Operator::floor_divide && __builtin_sub_overflow(int64_t{0}, a, &result);
                break;
            }
            const int64_t rest = a % b;
            const bool rounds_down = rest != 0 && (rest < 0) != (b < 0);
            result = operation == Operator::modulo ? rest + (rounds_down ? b : 0) : a / b - (rounds_down ? 1 : 0);
            break;
        }
        case Operator::power: {
            if (b < 0 && a == 0) run.fail("division by zero");
            if (b < 0) return std::pow(static_cast<double>(a), static_cast<double>(b));
            result = 1;
            for (int64_t i = 0; i < b && !overflows; ++i) {
                overflows = __builtin_mul_overflow(result, a, &result);
                run.step();
            }
            break;
        }
    }
    if (overflows) run.fail("a whole number beyond 64 bits");
    return result;
}

// The floor of a / b and the rest that has b's sign, as Python computes them.
std::pair<double, double> floor_and_rest(double a, double b) {
    double rest = std::fmod(a, b);
    double quotient = (a - rest) / b;
    if (rest == 0) {
        rest = std::copysign(0.0, b);
    } else if ((b < 0) != (rest < 0)) {
        rest += b;
        quotient -= 1;
    }
    if (quotient == 0) return {std::copysign(0.0, a / b), rest};
    const double floor = std::floor(quotient);
    return {quotient - floor > 0.5 ? floor + 1 : floor, rest};
}

Value real_arithmetic(Run& run, Operator operation, double a, double b) {
    const bool divides =
        operation == Operator::divide || operation == Operator::floor_divide || operation == Operator::modulo;
    if (divides && b == 0) run.fail("division by zero");
    switch (operation) {
        case Operator::add: return a + b;
        case Operator::subtract: return a - b;
        case Operator::multiply: return a * b;
        case Operator::divide: return a / b;
        case Operator::floor_divide: return floor_and_rest(a, b).first;
        case Operator::modulo: return floor_and_rest(a, b).second;
        case Operator::power: return std::pow(a, b);
    }
    return a;
}

Value add_texts(Run& run, const Value& a, const Value& b) {
    run.take(a.text().size() + b.text().size());
    if (a.is_safe() == b.is_safe()) return Value::text(a.text() + b.text(), a.is_safe());
    return make_text(run, a.is_safe() ? a.text() + escaped(b.text()) : escaped(a.text()) + b.text(), true);
}

Value repeat(Run& run, const Value& value, int64_t count) {
    const auto times = static_cast<size_t>(std::max<int64_t>(count, 0));
    const size_t size = value.is_text() ? value.text().size() : value.sequence().items.size();
    if (size == 0) return value;
    if (times > run.limits().text_bytes / size) run.fail("a value repeated {} times is too large", count);
    if (value.is_text()) {
        run.take(size * times);
        std::string text;
        text.reserve(size * times);
        for (size_t i = 0; i < times; ++i) text += value.text();
        return Value::text(std::move(text), value.is_safe());
    }
    run.take_list(size * times);
    List items;
    for (size_t i = 0; i < times; ++i) {
        items.insert(items.end(), value.sequence().items.begin(), value.sequence().items.end());
    }
    return make_sequence(run, std::move(items), value.sequence().flavour);
}

bool repeats(const Value& value) {
    return value.is_text() || value.is_sequence(Flavour::list) || value.is_sequence(Flavour::tuple);
}

}  // namespace

bool truth(const Value& value) {
    switch (value.kind()) {
        case Kind::undefined:
        case Kind::none: return false;
        case Kind::boolean: return value.boolean();
        case Kind::integer: return value.integer() != 0;
        case Kind::real: return value.real() != 0;
        case Kind::text: return !value.text().empty();
        case Kind::sequence: return value.is_sequence(Flavour::generator) || !value.sequence().items.empty();
        case Kind::dict: return !value.dict().entries().empty();
        case Kind::object: return true;
    }
    return false;
}

bool equal(Run& run, const Value& a, const Value& b) {
    run.step();
    if (a.is_number() && b.is_number()) return equal_numbers(a, b);
    if (a.kind() != b.kind()) return false;
    switch (a.kind()) {
        case Kind::text: run.step(std::min(a.text().size(), b.text().size())); return a.text() == b.text();
        case Kind::sequence: return equal_sequences(run, a.sequence(), b.sequence());
        case Kind::dict: return equal_dicts(run, a.dict(), b.dict());
        case Kind::object: return &a.object() == &b.object();
        default: return true;  // undefined, none
    }
}

bool less(Run& run, const Value& a, const Value& b) {
    run.step();
    if (a.is_number() && b.is_number()) {
        if (a.is(Kind::real) || b.is(Kind::real)) return a.as_real() < b.as_real();
        return *a.as_index() < *b.as_index();
    }
    if (a.is_text() && b.is_text()) {
        run.step(std::min(a.text().size(), b.text().size()));
        return a.text() < b.text();  // UTF-8 sorts as its code points do
    }
    for (const Flavour flavour : {Flavour::list, Flavour::tuple}) {
        if (a.is_sequence(flavour) && b.is_sequence(flavour)) return less_sequences(run, a.sequence(), b.sequence());
    }
    refuse_types(run, "an order", a, b);
}

bool compare(Run& run, Comparison comparison, const Value& a, const Value& b) {
    switch (comparison) {
        case Comparison::equal: return equal(run, a, b);
        case Comparison::unequal: return !equal(run, a, b);
        case Comparison::less: return less(run, a, b);
        case Comparison::greater: return less(run, b, a);
        // Not "not greater": NaN is neither.
        case Comparison::less_equal: return less(run, a, b) || equal(run, a, b);
        case Comparison::greater_equal: return less(run, b, a) || equal(run, a, b);
        case Comparison::in: return contains(run, b, a);
        case Comparison::not_in: return !contains(run, b, a);
    }
    return false;
}

bool contains(Run& run, const Value& container, const Value& item) {
    if (container.is_text()) {
        if (!item.is_text()) refuse_types(run, "'in'", item, container);
        run.step(container.text().size());
        return container.text().find(item.text()) != std::string::npos;
    }
    if (container.is(Kind::dict)) {
        const bool is_hashable = !item.is(Kind::dict) && !item.is_sequence(Flavour::list);
        if (!is_hashable) run.fail("a value of type {} cannot be the key of a dict", item.type_name());
        return container.dict().find(item) != nullptr;
    }
    if (!is_iterable(container)) refuse_types(run, "'in'", item, container);
    if (container.is_sequence(Flavour::generator)) {
        for (const Value& element : elements(run, container)) {
            if (equal(run, element, item)) return true;
        }
        return false;
    }
    if (!container.is(Kind::sequence)) return false;  // undefined
    for (const Value& element : container.sequence().items) {
        if (equal(run, element, item)) return true;
    }
    return false;
}

Value arithmetic(Run& run, Operator operation, const Value& a, const Value& b) {
    static constexpr std::string_view symbols[] = {"+", "-", "*", "/", "//", "%", "**"};
    if (a.is_number() && b.is_number()) {
        if (a.is(Kind::real) || b.is(Kind::real)) return real_arithmetic(run, operation, a.as_real(), b.as_real());
        return integer_arithmetic(run, operation, *a.as_index(), *b.as_index());
    }
    if (operation == Operator::add && a.is_text() && b.is_text()) return add_texts(run, a, b);
    if (operation == Operator::modulo && a.is_text() && !b.is_undefined()) return format_percent(run, a, b);
    if (operation == Operator::multiply && repeats(a) && b.as_index()) return repeat(run, a, *b.as_index());
    if (operation == Operator::multiply && repeats(b) && a.as_index()) return repeat(run, b, *a.as_index());
    const bool both_lists = a.is(Kind::sequence) && b.is(Kind::sequence) && repeats(a) && repeats(b) &&
                            a.sequence().flavour == b.sequence().flavour;
    if (operation == Operator::add && both_lists) {
        run.take_list(a.sequence().items.size() + b.sequence().items.size());
        List items = a.sequence().items;
        items.insert(items.end(), b.sequence().items.begin(), b.sequence().items.end());
        return make_sequence(run, std::move(items), a.sequence().flavour);
    }
    refuse_types(run, symbols[static_cast<size_t>(operation)], a, b);
}

Value negative(Run& run, const Value& value) {
    if (value.is(Kind::real)) return -value.real();
    if (value.is_undefined()) run.fail("{}", value.hint());
    if (!value.as_index()) run.fail("a value of type {} has no negative", value.type_name());
    return integer_arithmetic(run, Operator::subtract, 0, *value.as_index());
}

bool is_iterable(const Value& value) {
    return value.is_undefined() || value.is_text() || value.is(Kind::sequence) || value.is(Kind::dict);
}

List elements(Run& run, const Value& value) {
    List items;
    switch (value.kind()) {
        case Kind::undefined: break;
        case Kind::sequence: {
            const Sequence& sequence = value.sequence();
            if (sequence.flavour == Flavour::generator && !sequence.note.empty()) run.fail("{}", sequence.note);
            if (sequence.flavour == Flavour::generator && std::exchange(sequence.is_spent, true)) break;
            run.take_list(sequence.items.size());
            items = sequence.items;
            break;
        }
        case Kind::dict:
            run.take_list(value.dict().entries().size());
            for (const auto& entry : value.dict().entries()) items.push_back(entry.first);
            break;
        case Kind::text:
            run.take_list(value.text().size());
            for (const char32_t code : characters(value.text())) {
                items.push_back(make_text(run, utf8_of({&code, 1}), value.is_safe()));
            }
            break;
        default: run.fail("a value of type {} has no elements to go through", value.type_name());
    }
    return items;
}

size_t length_of(Run& run, const Value& value) {
    if (value.is_undefined()) return 0;
    if (value.is_text()) {
        run.step(value.text().size());
        return length(value.text());
    }
    if (value.is(Kind::dict)) return value.dict().entries().size();
    if (value.is(Kind::sequence) && !value.is_sequence(Flavour::generator)) return value.sequence().items.size();
    run.fail("a value of type {} has no length", value.type_name());
}

Value call(Run& run, const Value& callee, const Arguments& arguments) {
    if (callee.is_undefined()) run.fail("{}", callee.hint());
    if (!callee.is(Kind::object) || !callee.object().is_callable()) {
        run.fail("a value of type {} cannot be called", callee.type_name());
    }
    return callee.object().call(run, arguments);
}

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '\'': out += "&#39;"; break;
            case '"': out += "&#34;"; break;
            default: out += c;
        }
    }
    return out;
}

}  // namespace toy::jinja
