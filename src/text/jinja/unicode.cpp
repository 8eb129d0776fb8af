#include "text/jinja/unicode.h"

#include <utf8proc.h>

#include "text/utf8.h"

namespace toy::jinja {
namespace {

utf8proc_category_t category(char32_t code) { return utf8proc_category(static_cast<utf8proc_int32_t>(code)); }
char32_t to_upper(char32_t code) {
    return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code)));
}
char32_t to_lower(char32_t code) {
    return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
}
char32_t to_title(char32_t code) {
    return static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(code)));
}

bool is_letter(char32_t code) {
    const auto kind = category(code);
    return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}
bool has_case(char32_t code) {
    const auto kind = category(code);
    return kind == UTF8PROC_CATEGORY_LU || kind == UTF8PROC_CATEGORY_LL || kind == UTF8PROC_CATEGORY_LT;
}

void append_upper(std::string& out, char32_t code) {
    if (code == 0xDF) {
        out += "SS";
    } else {
        utf8::append(out, to_upper(code));
    }
}

void append_title(std::string& out, char32_t code) {
    if (code == 0xDF) {
        out += "Ss";
    } else {
        utf8::append(out, to_title(code));
    }
}

// Every character has to be `wanted`, and there has to be one.
template <class Wanted>
bool all_of(std::string_view text, Wanted wanted) {
    for (const char32_t code : characters(text)) {
        if (!wanted(code)) return false;
    }
    return !text.empty();
}

}  // namespace

bool is_space(char32_t code) {
    if (code < 0x80) return code == ' ' || (code >= 9 && code <= 13) || (code >= 0x1C && code <= 0x1F);
    return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
           code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

size_t space_prefix(std::string_view text) {
    size_t at = 0;
    while (at < text.size()) {
        const auto character = utf8::decode(text.substr(at));
        if (!is_space(character.code)) break;
        at += character.length;
    }
    return at;
}

std::string_view strip(std::string_view text, std::string_view set, Side side) {
    const std::u32string wanted = characters(set);
    const auto goes = [&](char32_t code) {
        return set.empty() ? is_space(code) : wanted.find(code) != std::u32string::npos;
    };
    while (side != Side::right && !text.empty()) {
        const auto first = utf8::decode(text);
        if (!goes(first.code)) break;
        text.remove_prefix(first.length);
    }
    while (side != Side::left && !text.empty()) {
        size_t at = text.size() - 1;
        while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
        if (!goes(utf8::decode(text.substr(at)).code)) break;
        text = text.substr(0, at);
    }
    return text;
}

size_t length(std::string_view text) {
    size_t count = 0;
    for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    return count;
}

std::u32string characters(std::string_view text) {
    std::u32string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const auto character = utf8::decode(text);
        out += character.code;
        text.remove_prefix(character.length);
    }
    return out;
}

std::string utf8_of(std::u32string_view codes) {
    std::string out;
    for (const char32_t code : codes) utf8::append(out, code);
    return out;
}

size_t byte_of(std::string_view text, size_t character) {
    for (size_t at = 0; at < text.size(); ++at) {
        if ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) continue;
        if (character == 0) return at;
        --character;
    }
    return text.size();
}

std::string upper(std::string_view text) {
    std::string out;
    for (const char32_t code : characters(text)) append_upper(out, code);
    return out;
}

std::string lower(std::string_view text) {
    std::string out;
    for (const char32_t code : characters(text)) utf8::append(out, to_lower(code));
    return out;
}

std::string capitalize(std::string_view text) {
    if (text.empty()) return {};
    const auto first = utf8::decode(text);
    std::string out;
    append_title(out, first.code);
    return out + lower(text.substr(first.length));
}

std::string title(std::string_view text) {
    std::string out;
    bool was_letter = false;
    for (const char32_t code : characters(text)) {
        if (was_letter) {
            utf8::append(out, to_lower(code));
        } else {
            append_title(out, code);
        }
        was_letter = has_case(code);
    }
    return out;
}

std::string swapcase(std::string_view text) {
    std::string out;
    for (const char32_t code : characters(text)) {
        if (category(code) == UTF8PROC_CATEGORY_LU) {
            utf8::append(out, to_lower(code));
        } else {
            append_upper(out, code);
        }
    }
    return out;
}

bool is_upper(std::string_view text) {
    bool found = false;
    for (const char32_t code : characters(text)) {
        const auto kind = category(code);
        if (kind == UTF8PROC_CATEGORY_LL || kind == UTF8PROC_CATEGORY_LT) return false;
        found = found || kind == UTF8PROC_CATEGORY_LU;
    }
    return found;
}

bool is_lower(std::string_view text) {
    bool found = false;
    for (const char32_t code : characters(text)) {
        const auto kind = category(code);
        if (kind == UTF8PROC_CATEGORY_LU || kind == UTF8PROC_CATEGORY_LT) return false;
        found = found || kind == UTF8PROC_CATEGORY_LL;
    }
    return found;
}

bool is_alpha(std::string_view text) { return all_of(text, is_letter); }
bool is_digit(std::string_view text) {
    return all_of(text, [](char32_t code) { return category(code) == UTF8PROC_CATEGORY_ND; });
}
bool is_alnum(std::string_view text) {
    return all_of(text, [](char32_t code) {
        const auto kind = category(code);
        return is_letter(code) || kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL ||
               kind == UTF8PROC_CATEGORY_NO;
    });
}

bool is_printable(char32_t code) {
    if (code == ' ') return true;
    switch (category(code)) {
        case UTF8PROC_CATEGORY_CC:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_CS:
        case UTF8PROC_CATEGORY_CO:
        case UTF8PROC_CATEGORY_CN:
        case UTF8PROC_CATEGORY_ZL:
        case UTF8PROC_CATEGORY_ZP:
        case UTF8PROC_CATEGORY_ZS: return false;
        default: return true;
    }
}

}  // namespace toy::jinja
