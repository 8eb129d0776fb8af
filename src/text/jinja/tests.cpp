// What stands behind `is`.
#include <cmath>

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

template <bool (*check)(const Value&)>
Value plain(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "the test", arguments, {});
    return check(self);
}

template <Comparison comparison>
Value compared(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "the test", arguments, {"other"}, 1);
    return compare(run, comparison, self, given.value(0));
}

bool is_same(const Value& a, const Value& b) {
    if (a.kind() != b.kind()) return false;
    switch (a.kind()) {
        case Kind::none:
        case Kind::undefined: return true;
        case Kind::boolean: return a.boolean() == b.boolean();
        case Kind::integer: return a.integer() == b.integer();
        case Kind::real: return a.real() == b.real();
        case Kind::text: return a.text() == b.text();
        case Kind::sequence: return &a.sequence() == &b.sequence();
        case Kind::dict: return &a.dict() == &b.dict();
        case Kind::object: return &a.object() == &b.object();
    }
    return false;
}

Value same_as(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "sameas", arguments, {"other"}, 1);
    return is_same(self, given.value(0));
}

bool is_sequence(const Value& value) {
    if (value.is_undefined() || value.is_text() || value.is(Kind::dict))
        return true;  // as in Python, all have a length
    return value.is_sequence(Flavour::list) || value.is_sequence(Flavour::tuple) || value.is_sequence(Flavour::range);
}

bool is_defined(const Value& v) { return !v.is_undefined(); }
bool is_undefined(const Value& v) { return v.is_undefined(); }
bool is_none(const Value& v) { return v.is_none(); }
bool is_boolean(const Value& v) { return v.is(Kind::boolean); }
bool is_true(const Value& v) { return v.is(Kind::boolean) && v.boolean(); }
bool is_false(const Value& v) { return v.is(Kind::boolean) && !v.boolean(); }
bool is_integer(const Value& v) { return v.is(Kind::integer); }
bool is_float(const Value& v) { return v.is(Kind::real); }
bool is_number(const Value& v) { return v.is_number(); }
bool is_string(const Value& v) { return v.is_text(); }
bool is_mapping(const Value& v) { return v.is(Kind::dict); }
bool is_callable(const Value& v) { return v.is_undefined() || (v.is(Kind::object) && v.object().is_callable()); }
bool is_escaped(const Value& v) { return v.is_safe(); }

Value remainder_is(Run& run, const Value& self, const Value& divisor, int64_t wanted) {
    return equal(run, arithmetic(run, Operator::modulo, self, divisor), wanted);
}

Value divisible_by(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "divisibleby", arguments, {"num"}, 1);
    return remainder_is(run, self, given.value(0), 0);
}

Value is_odd(Run& run, const Value& self, const Arguments&) { return remainder_is(run, self, int64_t{2}, 1); }
Value is_even(Run& run, const Value& self, const Arguments&) { return remainder_is(run, self, int64_t{2}, 0); }
Value upper_case(Run& run, const Value& self, const Arguments&) { return is_upper(to_text(run, self)); }
Value lower_case(Run& run, const Value& self, const Arguments&) { return is_lower(to_text(run, self)); }

Value is_filter(Run& run, const Value& self, const Arguments&) {
    const std::string name = to_text(run, self);
    return text_filters().contains(name) || list_filters().contains(name);
}
Value is_test(Run& run, const Value& self, const Arguments&) { return tests().contains(to_text(run, self)); }

}  // namespace

const MethodTable& tests() {
    static const MethodTable table = {
        {"defined", plain<is_defined>},
        {"undefined", plain<is_undefined>},
        {"none", plain<is_none>},
        {"boolean", plain<is_boolean>},
        {"true", plain<is_true>},
        {"false", plain<is_false>},
        {"integer", plain<is_integer>},
        {"float", plain<is_float>},
        {"number", plain<is_number>},
        {"string", plain<is_string>},
        {"mapping", plain<is_mapping>},
        {"sequence", plain<is_sequence>},
        {"iterable", plain<is_iterable>},
        {"callable", plain<is_callable>},
        {"escaped", plain<is_escaped>},
        {"sameas", same_as},
        {"divisibleby", divisible_by},
        {"odd", is_odd},
        {"even", is_even},
        {"upper", upper_case},
        {"lower", lower_case},
        {"filter", is_filter},
        {"test", is_test},
        {"in", compared<Comparison::in>},
        {"==", compared<Comparison::equal>},
        {"eq", compared<Comparison::equal>},
        {"equalto", compared<Comparison::equal>},
        {"!=", compared<Comparison::unequal>},
        {"ne", compared<Comparison::unequal>},
        {"<", compared<Comparison::less>},
        {"lt", compared<Comparison::less>},
        {"lessthan", compared<Comparison::less>},
        {"<=", compared<Comparison::less_equal>},
        {"le", compared<Comparison::less_equal>},
        {">", compared<Comparison::greater>},
        {"gt", compared<Comparison::greater>},
        {"greaterthan", compared<Comparison::greater>},
        {">=", compared<Comparison::greater_equal>},
        {"ge", compared<Comparison::greater_equal>},
    };
    return table;
}

bool apply_test(Run& run, std::string_view name, const Value& value, const Arguments& arguments) {
    run.step();
    const auto found = tests().find(name);
    if (found == tests().end()) run.fail("there is no test {}", quote(name));
    return truth(found->second(run, value, arguments));
}

}  // namespace toy::jinja
