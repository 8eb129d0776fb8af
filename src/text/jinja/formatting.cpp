#include "text/jinja/formatting.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "io/quote.h"
#include "text/jinja/operators.h"
#include "text/jinja/show.h"
#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace toy::jinja {
namespace {

using Kind = Value::Kind;

// [[fill]align][sign][#][0][width][,][.precision][type]; format % value knows the same but for fill and align.
struct Format {
    std::string fill = " ";
    char align = 0;  // < > ^ =
    char sign = '-';
    char type = 0;
    bool is_alternate = false, has_commas = false;
    size_t width = 0;
    int precision = -1;
};

constexpr size_t k_most_width = 10'000;
constexpr int k_most_precision = 100;

size_t read_count(Run& run, std::string_view text, size_t& at, size_t most) {
    size_t value = 0;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
        value = value * 10 + static_cast<size_t>(text[at++] - '0');
        if (value > most) run.fail("a format asks for more than {} characters", most);
    }
    return value;
}

std::string padded(const std::string& text, const Format& format, char usual) {
    const size_t size = length(text);
    if (size >= format.width) return text;
    const size_t missing = format.width - size;
    const char align = format.align ? format.align : usual;
    size_t left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
    std::string out;
    const bool has_sign = align == '=' && (text.starts_with('-') || text.starts_with('+') || text.starts_with(' '));
    if (has_sign) out += text[0];
    for (size_t i = 0; i < left; ++i) out += format.fill;
    out += has_sign ? text.substr(1) : text;
    for (size_t i = left; i < missing; ++i) out += format.fill;
    return out;
}

std::string with_commas(const std::string& digits) {
    const size_t end = std::min(digits.find_first_not_of("0123456789"), digits.size());
    std::string out;
    for (size_t i = 0; i < end; ++i) {
        if (i > 0 && (end - i) % 3 == 0) out += ',';
        out += digits[i];
    }
    return out + digits.substr(end);
}

std::string show_integer(int64_t value, const Format& format) {
    const auto size = value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
    std::string digits;
    switch (format.type) {
        case 'x': digits = fmt::format("{:x}", size); break;
        case 'X': digits = fmt::format("{:X}", size); break;
        case 'o': digits = fmt::format("{:o}", size); break;
        case 'b': digits = fmt::format("{:b}", size); break;
        default: digits = fmt::format("{}", size);
    }
    const bool is_based = std::string_view("xXob").find(format.type) != std::string_view::npos;
    if (format.is_alternate && format.type && is_based) digits = std::string("0") + format.type + digits;
    if (format.has_commas) digits = with_commas(digits);
    if (value < 0) return "-" + digits;
    return format.sign == '-' ? digits : format.sign + digits;
}

std::string show_float(double value, const Format& format) {
    const int precision = format.precision < 0 ? 6 : format.precision;
    const double size = std::abs(value);
    std::string digits;
    if (!std::isfinite(value)) {
        digits = std::isnan(value) ? "nan" : "inf";
    } else {
        switch (format.type) {
            case 'e': digits = fmt::format("{:.{}e}", size, precision); break;
            case 'E': digits = fmt::format("{:.{}E}", size, precision); break;
            case 'g': digits = fmt::format("{:.{}g}", size, std::max(precision, 1)); break;
            case 'G': digits = fmt::format("{:.{}G}", size, std::max(precision, 1)); break;
            case '%': digits = fmt::format("{:.{}f}%", size * 100, precision); break;
            default: digits = fmt::format("{:.{}f}", size, precision);
        }
    }
    if (format.has_commas) digits = with_commas(digits);
    if (std::signbit(value) && !std::isnan(value)) return "-" + digits;
    return format.sign == '-' ? digits : format.sign + digits;
}

std::string cut(std::string text, int precision) {
    if (precision >= 0) text.resize(byte_of(text, static_cast<size_t>(precision)));
    return text;
}

// ---- format % value

class Percent {
 public:
    Percent(Run& run, const Value& format, const Value& value) : run_(run), text_(format.text()), value_(value) {}

    std::string all() {
        std::string out;
        while (at_ < text_.size()) {
            const size_t sign = std::min(text_.find('%', at_), text_.size());
            out.append(text_, at_, sign - at_);
            at_ = sign + 1;
            if (sign < text_.size()) out += one();
            run_.step(out.size() / 64);
            if (out.size() > run_.limits().text_bytes) run_.fail("a formatted text is too long");
        }
        const bool is_tuple = value_.is_sequence(Sequence::Flavour::tuple);
        const bool takes_any = value_.is(Kind::dict) || value_.is_sequence(Sequence::Flavour::list);
        if (!takes_any && used_ < (is_tuple ? value_.sequence().items.size() : 1)) {
            run_.fail("a format has fewer places than there are values");
        }
        return out;
    }

 private:
    std::string one() {
        Format format;
        const Value* named = nullptr;
        if (peek() == '(') {
            const size_t end = text_.find(')', at_);
            if (end == std::string::npos || !value_.is(Kind::dict)) run_.fail("a format names a value without a dict");
            named = value_.dict().find(std::string_view(text_).substr(at_ + 1, end - at_ - 1));
            if (!named)
                run_.fail("a format names {}, which the dict lacks", quote(text_.substr(at_ + 1, end - at_ - 1)));
            at_ = end + 1;
        }
        read_flags(format);
        format.width = read_count(run_, text_, at_, k_most_width);
        if (peek() == '.') {
            ++at_;
            format.precision = static_cast<int>(read_count(run_, text_, at_, k_most_precision));
        }
        if (at_ >= text_.size()) run_.fail("a format ends behind its %");
        format.type = text_[at_++];
        if (format.type == '%') return "%";
        return show(named ? *named : next(), format);
    }

    void read_flags(Format& format) {
        for (; std::string_view("-+ 0#").find(peek()) != std::string_view::npos && peek(); ++at_) {
            if (peek() == '-') format.align = '<';
            if (peek() == '+' || (peek() == ' ' && format.sign != '+')) format.sign = peek();
            if (peek() == '#') format.is_alternate = true;
            if (peek() == '0' && format.align != '<') {
                format.align = '=';
                format.fill = "0";
            }
        }
        if (format.align == '<') format.fill = " ";
    }

    std::string show(const Value& value, Format format) {
        switch (format.type) {
            case 's':
            case 'r': {
                format.fill = " ";
                if (format.align == '=') format.align = '>';
                const std::string text = format.type == 's' ? to_text(run_, value) : to_repr(run_, value);
                return padded(cut(text, format.precision), format, '>');
            }
            case 'd':
            case 'i':
            case 'u': {
                if (!value.is_number()) run_.fail("%d wants a number, not {}", value.type_name());
                const double real = value.as_real();
                if (value.is(Kind::real) && !(std::abs(real) < 9e18)) run_.fail("%d wants a number of at most 64 bits");
                return padded(show_integer(value.as_index().value_or(static_cast<int64_t>(real)), format), format, '>');
            }
            case 'x':
            case 'X':
            case 'o':
                if (!value.as_index()) run_.fail("%{} wants a whole number, not {}", format.type, value.type_name());
                return padded(show_integer(*value.as_index(), format), format, '>');
            case 'e':
            case 'E':
            case 'f':
            case 'F':
            case 'g':
            case 'G':
                if (!value.is_number()) run_.fail("%{} wants a number, not {}", format.type, value.type_name());
                return padded(show_float(value.as_real(), format), format, '>');
            default: run_.fail("a format has no meaning for %{}", quote(std::string(1, format.type)));
        }
    }

    const Value& next() {
        const bool is_tuple = value_.is_sequence(Sequence::Flavour::tuple);
        const size_t count = is_tuple ? value_.sequence().items.size() : 1;
        if (used_ >= count) run_.fail("a format has more places than there are values");
        return is_tuple ? value_.sequence().items[used_++] : (++used_, value_);
    }

    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    Run& run_;
    const std::string& text_;
    const Value& value_;
    size_t at_ = 0, used_ = 0;
};

// ---- str.format

Format read_format(Run& run, std::string_view text) {
    Format format;
    size_t at = 0;
    static constexpr std::string_view aligns = "<>^=";
    const auto is_align = [&](size_t i) { return i < text.size() && aligns.find(text[i]) != std::string_view::npos; };
    const size_t first = text.empty() ? 0 : byte_of(text, 1);
    if (!text.empty() && is_align(first)) {
        format.fill = std::string(text.substr(0, first));
        format.align = text[first];
        at = first + 1;
    } else if (is_align(0)) {
        format.align = text[at++];
    }
    const auto peek = [&] { return at < text.size() ? text[at] : '\0'; };
    if (peek() == '+' || peek() == '-' || peek() == ' ') format.sign = text[at++];
    if (peek() == '#') format.is_alternate = ++at > 0;
    if (peek() == '0') {
        ++at;
        if (!format.align) {
            format.align = '=';
            format.fill = "0";
        }
    }
    format.width = read_count(run, text, at, k_most_width);
    if (peek() == ',') format.has_commas = ++at > 0;
    if (peek() == '.') {
        ++at;
        format.precision = static_cast<int>(read_count(run, text, at, k_most_precision));
    }
    if (at < text.size()) format.type = text[at++];
    if (at != text.size()) run.fail("the format {} is not supported", quote(text));
    return format;
}

std::string apply_format(Run& run, const Value& value, std::string_view spec) {
    if (spec.empty()) return to_text(run, value);
    const Format format = read_format(run, spec);
    static constexpr std::string_view for_reals = "eEfFgG%", for_integers = "dxXobn";
    const bool is_real_type = format.type && for_reals.find(format.type) != std::string_view::npos;
    const bool is_integer_type = format.type && for_integers.find(format.type) != std::string_view::npos;
    if (value.is_number() && is_real_type) return padded(show_float(value.as_real(), format), format, '>');
    if (value.as_index() && (is_integer_type || (!format.type && value.is(Kind::integer)))) {
        return padded(show_integer(*value.as_index(), format), format, '>');
    }
    if (value.is(Kind::real) && !format.type && format.precision < 0) {
        return padded(show_real(value.real()), format, '>');
    }
    const bool is_plain = format.align != '=' && (!format.type || format.type == 's');
    if (!value.is_text() || !is_plain)
        run.fail("the format {} is not supported for a value of type {}", quote(spec), value.type_name());
    return padded(cut(value.text(), format.precision), format, '<');
}

class Braces {
 public:
    Braces(Run& run, std::string_view text, const Arguments& arguments)
        : run_(run), text_(text), arguments_(arguments) {}

    std::string all() {
        std::string out;
        for (size_t at = 0; at < text_.size();) {
            const char c = text_[at];
            const bool is_double = at + 1 < text_.size() && text_[at + 1] == c;
            if ((c == '{' || c == '}') && is_double) {
                out += c;
                at += 2;
            } else if (c == '{') {
                const size_t end = text_.find('}', at);
                if (end == std::string_view::npos) run_.fail("a format has a {{ without }}");
                const std::string part = field(text_.substr(at + 1, end - at - 1));
                run_.step(part.size());
                out += part;
                at = end + 1;
            } else if (c == '}') {
                run_.fail("a format has a }} without {{");
            } else {
                out += c;
                ++at;
            }
            if (out.size() > run_.limits().text_bytes) run_.fail("a formatted text is too long");
        }
        return out;
    }

 private:
    std::string field(std::string_view field) {
        if (field.find('{') != std::string_view::npos) run_.fail("formats inside formats are not supported");
        const size_t colon = field.find(':');
        const std::string_view spec = colon == std::string_view::npos ? "" : field.substr(colon + 1);
        std::string_view name = field.substr(0, colon);
        char conversion = 0;
        if (const size_t mark = name.find('!'); mark != std::string_view::npos) {
            conversion = mark + 1 < name.size() ? name[mark + 1] : '\0';
            if (conversion != 's' && conversion != 'r')
                run_.fail("a format has no meaning for {}", quote(name.substr(mark)));
            name = name.substr(0, mark);
        }
        const Value value = find(name);
        if (conversion == 's') return apply_format(run_, Value::text(to_text(run_, value)), spec);
        if (conversion == 'r') return apply_format(run_, Value::text(to_repr(run_, value)), spec);
        return apply_format(run_, value, spec);
    }

    Value find(std::string_view path) {
        size_t at = std::min(path.find_first_of(".["), path.size());
        Value value = argument(path.substr(0, at));
        while (at < path.size()) {
            const bool is_item = path[at] == '[';
            size_t end = is_item ? path.find(']', at) : std::min(path.find_first_of(".[", at + 1), path.size());
            if (end == std::string_view::npos) run_.fail("a format has a [ without ]");
            const std::string part(path.substr(at + 1, end - at - 1));
            int64_t number = 0;
            const bool is_number =
                is_item &&
                std::from_chars(part.data(), part.data() + part.size(), number).ptr == part.data() + part.size() &&
                !part.empty();
            value = is_number ? item(run_, value, number)
                    : is_item ? item(run_, value, Value::text(part))
                              : attribute(run_, value, part);
            at = end + (is_item ? 1 : 0);
        }
        return value;
    }

    Value argument(std::string_view name) {
        const List& positional = arguments_.positional;
        size_t index = next_;
        if (name.empty()) ++next_;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
        if (name.empty() || (error == std::errc() && end == name.data() + name.size())) {
            if (index >= positional.size()) run_.fail("a format asks for more values than there are");
            return positional[index];
        }
        for (const auto& [known, value] : arguments_.named) {
            if (known == name) return value;
        }
        run_.fail("a format names {}, which is not given", quote(name));
    }

    Run& run_;
    std::string_view text_;
    const Arguments& arguments_;
    size_t next_ = 0;
};

}  // namespace

Value format_percent(Run& run, const Value& format, const Value& value) {
    return make_text(run, Percent(run, format, value).all(), format.is_safe());
}

std::string format_braces(Run& run, std::string_view format, const Arguments& arguments) {
    return Braces(run, format, arguments).all();
}

std::string format_time(Run& run, const std::string& format) {
    if (format.size() > 256) run.fail("a format of a time has more than 256 bytes");
    if (format.empty()) return "";
    char buffer[4096];
    const size_t size = std::strftime(buffer, sizeof(buffer), format.c_str(), &run.now());
    if (size == 0) run.fail("the time has no text in the format {}", quote(format));
    return {buffer, size};
}

}  // namespace toy::jinja
