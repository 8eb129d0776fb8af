#include "text/jinja/show.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "text/jinja/operators.h"
#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace toy::jinja {
namespace {

using Kind = Value::Kind;
using Flavour = Sequence::Flavour;

// Appends and counts; a value inside a list may be printed many times.
void append(Run& run, std::string& out, std::string_view text) {
    run.step(text.size());
    if (out.size() + text.size() > run.limits().text_bytes) {
        run.fail("a text would have more than {} bytes", run.limits().text_bytes);
    }
    out += text;
}

std::string repr_of_text(std::string_view text) {
    const bool is_double = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
    const char quote_sign = is_double ? '"' : '\'';
    std::string out(1, quote_sign);
    for (const char32_t code : characters(text)) {
        if (code == static_cast<char32_t>(quote_sign) || code == '\\') {
            out += '\\';
            out += static_cast<char>(code);
        } else if (code == '\n') {
            out += "\\n";
        } else if (code == '\r') {
            out += "\\r";
        } else if (code == '\t') {
            out += "\\t";
        } else if (is_printable(code)) {
            utf8::append(out, code);
        } else if (code < 0x100) {
            out += fmt::format("\\x{:02x}", static_cast<uint32_t>(code));
        } else if (code < 0x10000) {
            out += fmt::format("\\u{:04x}", static_cast<uint32_t>(code));
        } else {
            out += fmt::format("\\U{:08x}", static_cast<uint32_t>(code));
        }
    }
    return out + quote_sign;
}

void append_repr(Run& run, std::string& out, const Value& value);

void append_items(Run& run, std::string& out, const Sequence& sequence) {
    bool is_first = true;
    for (const Value& item : sequence.items) {
        if (!is_first) append(run, out, ", ");
        is_first = false;
        append_repr(run, out, item);
    }
}

void append_sequence(Run& run, std::string& out, const Value& value) {
    const Sequence& sequence = value.sequence();
    switch (sequence.flavour) {
        case Flavour::list:
        case Flavour::tuple: {
            const bool is_list = sequence.flavour == Flavour::list;
            append(run, out, is_list ? "[" : "(");
            append_items(run, out, sequence);
            if (!is_list && sequence.items.size() == 1) append(run, out, ",");
            return append(run, out, is_list ? "]" : ")");
        }
        case Flavour::keys:
        case Flavour::values:
        case Flavour::items:
            append(run, out, value.type_name());
            append(run, out, "([");
            append_items(run, out, sequence);
            return append(run, out, "])");
        case Flavour::range: return append(run, out, sequence.note);
        case Flavour::generator:
            run.fail("a {} cannot be printed; the filter list makes a list of it", value.type_name());
    }
}

void append_dict(Run& run, std::string& out, const Dict& dict) {
    append(run, out, "{");
    bool is_first = true;
    for (const auto& [key, item] : dict.entries()) {
        if (!is_first) append(run, out, ", ");
        is_first = false;
        append_repr(run, out, key);
        append(run, out, ": ");
        append_repr(run, out, item);
    }
    append(run, out, "}");
}

void append_repr(Run& run, std::string& out, const Value& value) {
    switch (value.kind()) {
        case Kind::undefined: return append(run, out, "Undefined");
        case Kind::none: return append(run, out, "None");
        case Kind::boolean: return append(run, out, value.boolean() ? "True" : "False");
        case Kind::integer: return append(run, out, std::to_string(value.integer()));
        case Kind::real: return append(run, out, show_real(value.real()));
        case Kind::text:
            return append(run, out,
                          value.is_safe() ? "Markup(" + repr_of_text(value.text()) + ")" : repr_of_text(value.text()));
        case Kind::sequence: return append_sequence(run, out, value);
        case Kind::dict: return append_dict(run, out, value.dict());
        case Kind::object: run.fail("a {} cannot be printed", value.type_name());
    }
}

// JSON, as Python's encoder writes it.
class JsonWriter {
 public:
    JsonWriter(Run& run, const JsonStyle& style) : run_(run), style_(style) {}
    std::string out;

    void write(const Value& value, int level) {
        switch (value.kind()) {
            case Kind::none: return append(run_, out, "null");
            case Kind::boolean: return append(run_, out, value.boolean() ? "true" : "false");
            case Kind::integer: return append(run_, out, std::to_string(value.integer()));
            case Kind::real: return append(run_, out, show(value.real()));
            case Kind::text: return write_text(value.text());
            case Kind::dict: return write_dict(value.dict(), level);
            case Kind::sequence:
                if (value.is_sequence(Flavour::list) || value.is_sequence(Flavour::tuple)) {
                    return write_list(value.sequence(), level);
                }
                break;
            case Kind::undefined: run_.fail("{}, so it has no JSON", value.hint());
            case Kind::object: break;
        }
        run_.fail("a value of type {} has no JSON", value.type_name());
    }

 private:
    static std::string show(double value) {
        if (std::isnan(value)) return "NaN";
        if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
        return show_real(value);
    }

    void break_line(int level) {
        if (!style_.is_indented) return;
        append(run_, out, "\n");
        for (int i = 0; i < level; ++i) append(run_, out, style_.indent);
    }

    void write_text(std::string_view text) {
        std::string escaped = "\"";
        for (const char32_t code : characters(text)) {
            static constexpr std::string_view letters = "\"\\\n\r\t\f\b", names = "\"\\nrtfb";
            const size_t known = code < 0x80 ? letters.find(static_cast<char>(code)) : std::string_view::npos;
            if (known != std::string_view::npos) {
                escaped += '\\';
                escaped += names[known];
            } else if (code < 0x20 || (style_.ensure_ascii && code > 0x7E && code < 0x10000)) {
                escaped += fmt::format("\\u{:04x}", static_cast<uint32_t>(code));
            } else if (style_.ensure_ascii && code >= 0x10000) {
                const uint32_t rest = code - 0x10000;
                escaped += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
            } else {
                utf8::append(escaped, code);
            }
        }
        append(run_, out, escaped + '"');
    }

    void write_list(const Sequence& list, int level) {
        if (list.items.empty()) return append(run_, out, "[]");
        append(run_, out, "[");
        bool is_first = true;
        for (const Value& item : list.items) {
            if (!is_first) append(run_, out, style_.item_separator);
            is_first = false;
            break_line(level + 1);
            write(item, level + 1);
        }
        break_line(level);
        append(run_, out, "]");
    }

    std::string key_text(const Value& key) {
        if (key.is_text()) return key.text();
        if (key.is(Kind::real)) return show(key.real());
        if (key.is(Kind::boolean)) return key.boolean() ? "true" : "false";
        if (key.is_none()) return "null";
        if (key.is(Kind::integer)) return std::to_string(key.integer());
        run_.fail("a key of type {} has no JSON", key.type_name());
    }

    void write_dict(const Dict& dict, int level) {
        if (dict.entries().empty()) return append(run_, out, "{}");
        std::vector<const Dict::Entry*> entries;
        for (const auto& entry : dict.entries()) entries.push_back(&entry);
        if (style_.sort_keys) {
            std::ranges::stable_sort(entries,
                                     [&](const auto* a, const auto* b) { return less(run_, a->first, b->first); });
        }
        append(run_, out, "{");
        bool is_first = true;
        for (const auto* entry : entries) {
            if (!is_first) append(run_, out, style_.item_separator);
            is_first = false;
            break_line(level + 1);
            write_text(key_text(entry->first));
            append(run_, out, style_.key_separator);
            write(entry->second, level + 1);
        }
        break_line(level);
        append(run_, out, "}");
    }

    Run& run_;
    const JsonStyle& style_;
};

}  // namespace

std::string show_real(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    char buffer[64];
    const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific).ptr;
    const std::string shortest(buffer, end);
    const size_t e = shortest.find('e');
    const int exponent = std::stoi(shortest.substr(e + 1));
    if (exponent < -4 || exponent >= 16) return shortest;  // both write at least two digits of the exponent
    const auto plain = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed).ptr;
    const std::string text(buffer, plain);
    return text.find('.') == std::string::npos ? text + ".0" : text;
}

std::string to_text(Run& run, const Value& value) {
    if (value.is_undefined()) return "";
    if (value.is_text()) return value.text();
    return to_repr(run, value);
}

std::string to_repr(Run& run, const Value& value) {
    std::string out;
    append_repr(run, out, value);
    return out;
}

std::string to_json(Run& run, const Value& value, const JsonStyle& style) {
    JsonWriter writer(run, style);
    writer.write(value, 0);
    return std::move(writer.out);
}

}  // namespace toy::jinja
