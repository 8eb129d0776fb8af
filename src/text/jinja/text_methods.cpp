// Python's methods of str, those that templates use.
#include <algorithm>

#include "text/jinja/formatting.h"
#include "text/jinja/method_tables.h"
#include "text/jinja/operators.h"
#include "text/jinja/parameters.h"
#include "text/jinja/show.h"
#include "text/jinja/unicode.h"

namespace toy::jinja {
namespace {

using Flavour = Sequence::Flavour;

Value same_kind(Run& run, const Value& self, std::string text) {
    return make_text(run, std::move(text), self.is_safe());
}

Value strip_method(Run& run, const Value& self, const Arguments& arguments, Side side) {
    const Parameters given(run, "strip", arguments, {"chars"});
    run.step(self.text().size());
    if (given.has(0) && given.text(0).empty()) return self;
    return same_kind(run, self, std::string(strip(self.text(), given.text(0), side)));
}

// Where the character before byte `at` starts. Precondition: at > 0.
size_t before(std::string_view text, size_t at) {
    do {
        --at;
    } while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
    return at;
}

// Split at white space, at most `most` times, from the left or the right.
std::vector<std::string_view> split_words(std::string_view text, int64_t most, bool from_right) {
    std::vector<std::string_view> parts;
    text = strip(text, {}, from_right ? Side::right : Side::left);
    while (!text.empty()) {
        if (most >= 0 && static_cast<int64_t>(parts.size()) == most) {
            parts.push_back(text);
            break;
        }
        size_t at = 0;
        if (from_right) {
            at = text.size();
            while (at > 0 && strip(text.substr(0, at), {}, Side::right).size() == at) at = before(text, at);
            parts.push_back(text.substr(at));
            text = strip(text.substr(0, at), {}, Side::right);
        } else {
            while (at < text.size() && space_prefix(text.substr(at)) == 0) at += byte_of(text.substr(at), 1);
            parts.push_back(text.substr(0, at));
            text = strip(text.substr(at), {}, Side::left);
        }
    }
    return parts;
}

std::vector<std::string_view> split_at(std::string_view text, std::string_view separator, int64_t most,
                                       bool from_right) {
    std::vector<std::string_view> parts;
    while (most < 0 || static_cast<int64_t>(parts.size()) < most) {
        const size_t at = from_right ? text.rfind(separator) : text.find(separator);
        if (at == std::string_view::npos) break;
        parts.push_back(from_right ? text.substr(at + separator.size()) : text.substr(0, at));
        text = from_right ? text.substr(0, at) : text.substr(at + separator.size());
    }
    parts.push_back(text);
    return parts;
}

Value split_method(Run& run, const Value& self, const Arguments& arguments, bool from_right) {
    const Parameters given(run, "split", arguments, {"sep", "maxsplit"});
    const std::string separator = given.text(0);
    if (given.has(0) && separator.empty()) run.fail("split at an empty text");
    const int64_t most = given.integer(1, -1);
    run.step(self.text().size());
    auto parts =
        given.has(0) ? split_at(self.text(), separator, most, from_right) : split_words(self.text(), most, from_right);
    if (from_right) std::ranges::reverse(parts);
    run.take_list(parts.size());
    List items;
    for (const auto part : parts) items.push_back(same_kind(run, self, std::string(part)));
    return make_sequence(run, std::move(items));
}

Value splitlines(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "splitlines", arguments, {"keepends"});
    List items;
    for (const std::string_view line : lines(self.text(), given.on(0))) {
        items.push_back(same_kind(run, self, std::string(line)));
    }
    return make_sequence(run, std::move(items));
}

Value partition(Run& run, const Value& self, const Arguments& arguments, bool from_right) {
    const Parameters given(run, "partition", arguments, {"sep"}, 1);
    const std::string separator = given.text(0);
    const std::string& text = self.text();
    if (separator.empty()) run.fail("partition at an empty text");
    const size_t at = from_right ? text.rfind(separator) : text.find(separator);
    const auto part = [&](std::string_view bytes) { return same_kind(run, self, std::string(bytes)); };
    if (at == std::string::npos) {
        return make_sequence(run, from_right ? List{part(""), part(""), self} : List{self, part(""), part("")},
                             Flavour::tuple);
    }
    return make_sequence(run, {part(text.substr(0, at)), part(separator), part(text.substr(at + separator.size()))},
                         Flavour::tuple);
}

// The part text[start:end] that the arguments `first` and the next ask for, and where it starts; nothing where it
// starts beyond the end, so that not even an empty text is in it.
struct Part {
    std::string_view text;
    size_t start = 0;
};
std::optional<Part> part_of(const Value& self, const Parameters& given, size_t first) {
    const std::string_view text = self.text();
    const auto size = static_cast<int64_t>(length(text));
    const auto place = [&](size_t i, int64_t usual) {
        const int64_t at = given.integer(i, usual);
        return at < 0 ? std::max<int64_t>(at + size, 0) : at;
    };
    const int64_t start = place(first, 0), end = std::min(place(first + 1, size), size);
    if (start > end) return {};
    const size_t begin = byte_of(text, static_cast<size_t>(start));
    return Part{text.substr(begin, byte_of(text, static_cast<size_t>(end)) - begin), static_cast<size_t>(start)};
}

Value begins_or_ends(Run& run, const Value& self, const Arguments& arguments, bool at_end) {
    const Parameters given(run, at_end ? "endswith" : "startswith", arguments, {"prefix", "start", "end"}, 1);
    const Value& wanted = given.value(0);
    const auto part = part_of(self, given, 1);
    const auto matches = [&](const Value& affix) {
        if (!affix.is_text()) run.fail("startswith and endswith want a text, not {}", affix.type_name());
        return part && (at_end ? part->text.ends_with(affix.text()) : part->text.starts_with(affix.text()));
    };
    if (!wanted.is_sequence(Flavour::tuple)) return matches(wanted);
    return std::ranges::any_of(wanted.sequence().items, matches);
}

Value replace_method(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "replace", arguments, {"old", "new", "count"}, 2);
    return same_kind(run, self, replaced(run, self.text(), given.text(0), given.text(1), given.integer(2, -1)));
}

Value find_method_of(Run& run, const Value& self, const Arguments& arguments, bool from_right, bool must_be) {
    const Parameters given(run, "find", arguments, {"sub", "start", "end"}, 1);
    const std::string wanted = given.text(0);
    run.step(self.text().size());
    const auto part = part_of(self, given, 1);
    const size_t at = !part ? std::string::npos : from_right ? part->text.rfind(wanted) : part->text.find(wanted);
    if (at == std::string::npos && must_be) run.fail("the text is not found");
    if (at == std::string::npos) return int64_t{-1};
    return static_cast<int64_t>(part->start + length(part->text.substr(0, at)));
}

Value count_method(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "count", arguments, {"sub", "start", "end"}, 1);
    const std::string wanted = given.text(0);
    run.step(self.text().size());
    const auto part = part_of(self, given, 1);
    if (!part) return int64_t{0};
    const std::string_view text = part->text;
    if (wanted.empty()) return static_cast<int64_t>(length(text) + 1);
    int64_t count = 0;
    for (size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + wanted.size())) ++count;
    return count;
}

Value join_method(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "join", arguments, {"iterable"}, 1);
    std::string out;
    bool is_first = true;
    for (const Value& part : elements(run, given.value(0))) {
        if (!part.is_text()) run.fail("join wants texts, not {}", part.type_name());
        run.take((is_first ? 0 : self.text().size()) + part.text().size());
        if (out.size() > run.limits().text_bytes) run.fail("a joined text is too long");
        if (!is_first) out += self.text();
        is_first = false;
        out += part.text();
    }
    return same_kind(run, self, std::move(out));
}

Value pad(Run& run, const Value& self, const Arguments& arguments, double left_share) {
    const Parameters given(run, "a method that pads", arguments, {"width", "fillchar"}, 1);
    const std::string fill = given.text(1, " ");
    if (length(fill) != 1) run.fail("padding wants one character");
    const auto size = static_cast<int64_t>(length(self.text()));
    const int64_t wanted = given.integer(0);
    if (wanted <= size) return self;
    const int64_t missing = wanted - size;
    if (static_cast<size_t>(missing) > run.limits().text_bytes / 4) run.fail("a padded text is too long");
    // str.center puts the odd one to the left where the width is odd.
    const int64_t left =
        left_share == 0.5 ? missing / 2 + (missing & wanted & 1) : static_cast<int64_t>(left_share) * missing;
    run.take(static_cast<size_t>(missing) * fill.size());
    std::string out;
    for (int64_t i = 0; i < left; ++i) out += fill;
    out += self.text();
    for (int64_t i = left; i < missing; ++i) out += fill;
    return same_kind(run, self, std::move(out));
}

Value zfill(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "zfill", arguments, {"width"}, 1);
    const auto size = static_cast<int64_t>(length(self.text()));
    const int64_t missing = given.integer(0) - size;
    if (missing <= 0) return self;
    if (static_cast<size_t>(missing) > run.limits().text_bytes) run.fail("a padded text is too long");
    const bool has_sign = self.text().starts_with('-') || self.text().starts_with('+');
    std::string out = self.text().substr(0, has_sign) + std::string(static_cast<size_t>(missing), '0');
    return same_kind(run, self, out + self.text().substr(has_sign));
}

Value remove_affix(Run& run, const Value& self, const Arguments& arguments, bool at_end) {
    const Parameters given(run, "removeprefix", arguments, {"prefix"}, 1);
    const std::string affix = given.text(0);
    const std::string& text = self.text();
    if (at_end ? !text.ends_with(affix) : !text.starts_with(affix)) return self;
    return same_kind(run, self, at_end ? text.substr(0, text.size() - affix.size()) : text.substr(affix.size()));
}

template <std::string (*change)(std::string_view)>
Value changed(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "a method of str", arguments, {});
    return same_kind(run, self, change(self.text()));
}

template <bool (*check)(std::string_view)>
Value checked(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "a method of str", arguments, {});
    run.step(self.text().size());
    return check(self.text());
}

bool all_space(std::string_view text) { return !text.empty() && space_prefix(text) == text.size(); }

}  // namespace

std::vector<std::string_view> lines(std::string_view text, bool with_ends) {
    std::vector<std::string_view> parts;
    size_t begin = 0;
    for (size_t at = 0; at < text.size();) {
        const auto step = byte_of(text.substr(at), 1);
        const char32_t code = characters(text.substr(at, step))[0];
        const bool is_break = (code >= 0x0A && code <= 0x0D) || (code >= 0x1C && code <= 0x1E) || code == 0x85 ||
                              code == 0x2028 || code == 0x2029;
        const size_t end = at;
        at += step;
        if (!is_break) continue;
        if (code == '\r' && at < text.size() && text[at] == '\n') ++at;
        parts.push_back(text.substr(begin, (with_ends ? at : end) - begin));
        begin = at;
    }
    if (begin < text.size()) parts.push_back(text.substr(begin));
    return parts;
}

std::string replaced(Run& run, std::string_view text, std::string_view from, std::string_view to, int64_t most) {
    run.step(text.size());
    std::string out;
    const auto grow = [&](std::string_view part) {
        run.step(part.size());
        if (out.size() + part.size() > run.limits().text_bytes) run.fail("a text with replacements is too long");
        out += part;
    };
    size_t at = 0;
    for (int64_t count = 0; most < 0 || count < most; ++count) {
        const size_t found = text.find(from, at);
        if (found == std::string_view::npos) break;
        if (from.empty()) {  // between all characters
            grow(to);
            if (at == text.size()) return out;
            const size_t step = byte_of(text.substr(at), 1);
            grow(text.substr(at, step));
            at += step;
            continue;
        }
        grow(text.substr(at, found - at));
        grow(to);
        at = found + from.size();
    }
    grow(text.substr(at));
    return out;
}

const MethodTable& text_methods() {
    static const MethodTable table = {
        {"strip", [](Run& r, const Value& s, const Arguments& a) { return strip_method(r, s, a, Side::both); }},
        {"lstrip", [](Run& r, const Value& s, const Arguments& a) { return strip_method(r, s, a, Side::left); }},
        {"rstrip", [](Run& r, const Value& s, const Arguments& a) { return strip_method(r, s, a, Side::right); }},
        {"split", [](Run& r, const Value& s, const Arguments& a) { return split_method(r, s, a, false); }},
        {"rsplit", [](Run& r, const Value& s, const Arguments& a) { return split_method(r, s, a, true); }},
        {"splitlines", splitlines},
        {"partition", [](Run& r, const Value& s, const Arguments& a) { return partition(r, s, a, false); }},
        {"rpartition", [](Run& r, const Value& s, const Arguments& a) { return partition(r, s, a, true); }},
        {"startswith", [](Run& r, const Value& s, const Arguments& a) { return begins_or_ends(r, s, a, false); }},
        {"endswith", [](Run& r, const Value& s, const Arguments& a) { return begins_or_ends(r, s, a, true); }},
        {"removeprefix", [](Run& r, const Value& s, const Arguments& a) { return remove_affix(r, s, a, false); }},
        {"removesuffix", [](Run& r, const Value& s, const Arguments& a) { return remove_affix(r, s, a, true); }},
        {"replace", replace_method},
        {"find", [](Run& r, const Value& s, const Arguments& a) { return find_method_of(r, s, a, false, false); }},
        {"rfind", [](Run& r, const Value& s, const Arguments& a) { return find_method_of(r, s, a, true, false); }},
        {"index", [](Run& r, const Value& s, const Arguments& a) { return find_method_of(r, s, a, false, true); }},
        {"rindex", [](Run& r, const Value& s, const Arguments& a) { return find_method_of(r, s, a, true, true); }},
        {"count", count_method},
        {"join", join_method},
        {"format", [](Run& r, const Value& s,
                      const Arguments& a) { return make_text(r, format_braces(r, s.text(), a), s.is_safe()); }},
        {"ljust", [](Run& r, const Value& s, const Arguments& a) { return pad(r, s, a, 0); }},
        {"rjust", [](Run& r, const Value& s, const Arguments& a) { return pad(r, s, a, 1); }},
        {"center", [](Run& r, const Value& s, const Arguments& a) { return pad(r, s, a, 0.5); }},
        {"zfill", zfill},
        {"upper", changed<upper>},
        {"lower", changed<lower>},
        {"casefold", changed<lower>},
        {"title", changed<title>},
        {"capitalize", changed<capitalize>},
        {"swapcase", changed<swapcase>},
        {"isspace", checked<all_space>},
        {"isupper", checked<is_upper>},
        {"islower", checked<is_lower>},
        {"isalpha", checked<is_alpha>},
        {"isdigit", checked<is_digit>},
        {"isdecimal", checked<is_digit>},
        {"isnumeric", checked<is_digit>},
        {"isalnum", checked<is_alnum>},
    };
    return table;
}

}  // namespace toy::jinja
