// Filters of texts and numbers, as Jinja2 defines them (tojson as Hugging Face's transformers does).
#include <algorithm>
#include <charconv>
#include <cmath>

#include "text/jinja/formatting.h"
#include "text/jinja/method_tables.h"
#include "text/jinja/operators.h"
#include "text/jinja/parameters.h"
#include "text/jinja/show.h"
#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace toy::jinja {
namespace {

using Kind = Value::Kind;

// A text as it is, anything else as it prints.
Value soft_text(Run& run, const Value& value) { return value.is_text() ? value : make_text(run, to_text(run, value)); }

template <std::string (*change)(std::string_view)>
Value changed(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "the filter", arguments, {});
    const Value text = soft_text(run, self);
    return make_text(run, change(text.text()), text.is_safe());
}

Value trim(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "trim", arguments, {"chars"});
    const Value text = soft_text(run, self);
    run.step(text.text().size());
    if (given.has(0) && given.text(0).empty()) return text;
    return make_text(run, std::string(strip(text.text(), given.text(0), Side::both)), text.is_safe());
}

// The first letter of every word upper case, the others lower; words end at white space and - ( { [ <.
Value title_filter(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "title", arguments, {});
    const Value text = soft_text(run, self);
    std::string out, word;
    const auto flush = [&] {
        if (!word.empty()) {
            const size_t first = byte_of(word, 1);
            out += upper(word.substr(0, first)) + lower(word.substr(first));
        }
        word.clear();
    };
    for (const char32_t code : characters(text.text())) {
        const bool is_border =
            is_space(code) ||
            (code < 0x80 && std::string_view("-({[<").find(static_cast<char>(code)) != std::string_view::npos);
        if (is_border) flush();
        utf8::append(is_border ? out : word, code);
    }
    flush();
    return make_text(run, std::move(out), text.is_safe());
}

Value replace(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "replace", arguments, {"old", "new", "count"}, 2);
    return make_text(run, replaced(run, to_text(run, self), to_text(run, given.value(0)), to_text(run, given.value(1)),
                                   given.integer(2, -1)));
}

Value indent(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "indent", arguments, {"width", "first", "blank"});
    if (self.is_undefined()) run.fail("{}", self.hint());
    if (!self.is_text()) run.fail("indent wants a text, not {}", self.type_name());
    const bool is_text = given.has(0) && given.value(0).is_text();
    const int64_t width = is_text ? 0 : given.integer(0, 4);
    if (width > 10'000) run.fail("indent wants a width of at most 10000");
    const std::string margin =
        is_text ? given.text(0) : std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
    const std::string whole = self.text() + "\n";
    run.take(2 * whole.size());
    std::string out = given.on(1) ? margin : "";
    bool is_first = true;
    for (const std::string_view line : lines(whole, false)) {
        run.step(margin.size());
        if (!is_first) out += "\n";
        if (!is_first && (!line.empty() || given.on(2))) out += margin;
        is_first = false;
        out += line;
        if (out.size() > run.limits().text_bytes) run.fail("an indented text is too long");
    }
    return make_text(run, std::move(out), self.is_safe());
}

Value truncate(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "truncate", arguments, {"length", "killwords", "end", "leeway"});
    const std::string end = given.text(2, "...");
    const int64_t most = given.integer(0, 255), leeway = given.integer(3, 5);
    const auto end_size = static_cast<int64_t>(length(end));
    const bool is_sane = most >= end_size && leeway >= 0 && leeway < (1 << 30) && most < (int64_t{1} << 40);
    if (!is_sane) run.fail("truncate to a length shorter than its end");
    if (static_cast<int64_t>(length_of(run, self)) <= most + leeway) return self;
    if (!self.is_text()) run.fail("truncate wants a text, not {}", self.type_name());
    const std::string& text = self.text();
    std::string head = text.substr(0, byte_of(text, static_cast<size_t>(most - end_size)));
    if (!given.on(1)) head = head.substr(0, head.rfind(' '));
    return make_text(run, head + end, self.is_safe());
}

Value tojson(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
    JsonStyle style;
    style.ensure_ascii = given.on(0);
    style.sort_keys = given.on(3);
    if (given.has(1)) {
        const bool is_text = given.value(1).is_text();
        const int64_t width = is_text ? 0 : given.integer(1);
        if (width > 1000) run.fail("tojson wants an indent of at most 1000");
        style.is_indented = true;
        style.indent = is_text ? given.text(1) : std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
        style.item_separator = ",";
    }
    if (given.has(2)) {
        const List separators = elements(run, given.value(2));
        if (separators.size() != 2) run.fail("tojson wants two separators");
        style.item_separator = to_text(run, separators[0]);
        style.key_separator = to_text(run, separators[1]);
    }
    return make_text(run, to_json(run, self, style));
}

// What Python's float() makes of a text; nothing where it refuses.
std::optional<double> read_real(std::string_view text) {
    text = strip(text, {}, Side::both);
    if (text.starts_with('+') && !text.substr(1).starts_with('-')) text.remove_prefix(1);
    std::string plain(text);
    std::erase(plain, '_');
    double value = 0;
    const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
    if (error == std::errc::invalid_argument || end != plain.data() + plain.size()) return {};
    return value;
}

std::optional<double> real_of(Run& run, const Value& value) {
    if (value.is_undefined()) run.fail("{}", value.hint());
    if (value.is_number()) return value.as_real();
    return value.is_text() ? read_real(value.text()) : std::nullopt;
}

Value whole(Run& run, double value) {
    if (!(std::abs(value) < 9.2e18)) run.fail("a whole number beyond 64 bits");
    return static_cast<int64_t>(value);
}

Value int_filter(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "int", arguments, {"default", "base"});
    const int64_t base = given.integer(1, 10);
    if (base < 2 || base > 36) run.fail("int wants a base from 2 to 36");
    if (const auto number = self.as_index()) return *number;
    if (self.is_text()) {
        std::string digits(strip(self.text(), {}, Side::both));
        std::erase(digits, '_');
        if (digits.starts_with('+')) digits.erase(0, 1);
        int64_t value = 0;
        const char* begin = digits.data();
        const auto [end, error] = std::from_chars(begin, begin + digits.size(), value, static_cast<int>(base));
        if (error == std::errc() && end == begin + digits.size()) return value;
        if (error == std::errc::result_out_of_range) run.fail("a whole number beyond 64 bits");
    }
    if (const auto real = real_of(run, self); real && std::isfinite(*real)) return whole(run, *real);
    return given.find(0) ? given.value(0) : Value(int64_t{0});
}

Value float_filter(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "float", arguments, {"default"});
    if (const auto real = real_of(run, self)) return *real;
    return given.find(0) ? given.value(0) : Value(0.0);
}

Value round_filter(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "round", arguments, {"precision", "method"});
    const int64_t precision = given.integer(0, 0);
    const std::string method = given.text(1, "common");
    if (!self.is_number()) run.fail("round wants a number, not {}", self.type_name());
    if (precision < 0 || precision > 15) run.fail("round wants a precision from 0 to 15");
    if (method != "common" && method != "ceil" && method != "floor") run.fail("round knows common, ceil and floor");
    const double value = self.as_real();
    if (method == "common") {
        if (self.as_index()) return *self.as_index();
        return std::stod(fmt::format("{:.{}f}", value, precision));  // to even at a tie of the exact value, as Python
    }
    const double scale = std::pow(10.0, static_cast<double>(precision));
    const double scaled = method == "ceil" ? std::ceil(value * scale) : std::floor(value * scale);
    return scaled / scale;
}

Value abs_filter(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "abs", arguments, {});
    if (!self.is_number()) run.fail("abs wants a number, not {}", self.type_name());
    if (self.is(Kind::real)) return std::abs(self.real());
    return *self.as_index() < 0 ? negative(run, self) : Value(*self.as_index());
}

Value default_filter(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "default", arguments, {"default_value", "boolean"});
    const bool is_missing = self.is_undefined() || (given.on(1) && !truth(self));
    if (!is_missing) return self;
    return given.find(0) ? given.value(0) : make_text(run, "");
}

Value string_filter(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "string", arguments, {});
    return soft_text(run, self);
}

Value safe(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "safe", arguments, {});
    return make_text(run, to_text(run, self), true);
}

Value escape(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "escape", arguments, {});
    return self.is_safe() ? self : make_text(run, escaped(to_text(run, self)), true);
}

Value force_escape(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "forceescape", arguments, {});
    return make_text(run, escaped(to_text(run, self)), true);
}

Value format_filter(Run& run, const Value& self, const Arguments& arguments) {
    if (!arguments.named.empty() && !arguments.positional.empty()) run.fail("format wants values or names, not both");
    const Value format = soft_text(run, self);
    if (arguments.named.empty()) {
        return format_percent(run, format, make_sequence(run, arguments.positional, Sequence::Flavour::tuple));
    }
    Dict dict;
    for (const auto& [name, value] : arguments.named) dict.set(run, make_text(run, name), value);
    return format_percent(run, format, make_dict(run, std::move(dict)));
}

Value wordcount(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "wordcount", arguments, {});
    int64_t count = 0;
    bool was_word = false;
    for (const char32_t code : characters(to_text(run, self))) {
        std::string character;
        utf8::append(character, code);
        const bool is_word = code == '_' || is_alnum(character);
        count += is_word && !was_word;
        was_word = is_word;
    }
    return count;
}

}  // namespace

const MethodTable& text_filters() {
    static const MethodTable table = {
        {"upper", changed<upper>},
        {"lower", changed<lower>},
        {"capitalize", changed<capitalize>},
        {"title", title_filter},
        {"trim", trim},
        {"replace", replace},
        {"indent", indent},
        {"truncate", truncate},
        {"tojson", tojson},
        {"int", int_filter},
        {"float", float_filter},
        {"round", round_filter},
        {"abs", abs_filter},
        {"default", default_filter},
        {"d", default_filter},
        {"string", string_filter},
        {"safe", safe},
        {"escape", escape},
        {"e", escape},
        {"forceescape", force_escape},
        {"format", format_filter},
        {"wordcount", wordcount},
    };
    return table;
}

}  // namespace toy::jinja
