#include "text/jinja/lexer.h"

#include <algorithm>
#include <charconv>

#include "io/quote.h"
#include "text/jinja/run.h"
#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace toy::jinja {
namespace {

using Type = Token::Type;

constexpr std::string_view k_symbols[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
                                          "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Bytes of characters outside ASCII count as letters; what they are, Jinja2 checks and we do not.
bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_name(char c) { return is_name_start(c) || is_digit(c); }

std::string with_plain_line_breaks(std::string_view source) {
    std::string text;
    text.reserve(source.size());
    for (size_t i = 0; i < source.size(); ++i) {
        if (source[i] == '\r') {
            text += '\n';
            if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
        } else {
            text += source[i];
        }
    }
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

class Lexer {
 public:
    Lexer(Run& run, std::string_view source) : run_(run), text_(with_plain_line_breaks(source)) {}

    std::vector<Token> all() {
        while (at_ < text_.size()) read_data();
        add(Type::end, "");
        return std::move(tokens_);
    }

 private:
    char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
    std::string_view rest() const { return std::string_view(text_).substr(at_); }
    bool starts(std::string_view what) const { return rest().starts_with(what); }

    void add(Type type, std::string text) {
        Token token;
        token.type = type;
        token.text = std::move(text);
        token.line = line_;
        tokens_.push_back(std::move(token));
    }

    void advance(size_t count) {
        line_ += static_cast<int>(std::count(text_.begin() + static_cast<ptrdiff_t>(at_),
                                             text_.begin() + static_cast<ptrdiff_t>(at_ + count), '\n'));
        at_ += count;
    }

    [[noreturn]] void refuse(std::string_view why) {
        run_.line = line_;
        run_.fail("{}", why);
    }

    void read_data();
    void add_data(std::string_view data, char sign, bool is_variable);
    bool read_raw(std::string_view data);
    void read_comment();
    void read_tag(std::string_view end, Type end_type);
    bool read_end(std::string_view end, Type type);
    void read_token();
    void read_number();
    void read_string();
    void read_escape(std::string& value);
    void read_code(std::string& value, size_t digits);
    void read_symbol();
    void skip_space() { advance(space_prefix(rest())); }

    Run& run_;
    std::string text_;
    size_t at_ = 0;
    int line_ = 1;
    bool starts_line_ = true;  // what came before ends with a line break
    std::string brackets_;     // those open in the tag, as their closing ones
    std::vector<Token> tokens_;
};

// Text up to the next tag, then the tag.
void Lexer::read_data() {
    size_t tag = at_;
    while (true) {
        tag = text_.find('{', tag);
        if (tag == std::string::npos || tag + 1 >= text_.size()) {
            add(Type::data, text_.substr(at_));
            advance(text_.size() - at_);
            return;
        }
        const char second = text_[tag + 1];
        if (second == '{' || second == '%' || second == '#') break;
        ++tag;
    }
    const std::string_view data = std::string_view(text_).substr(at_, tag - at_);
    const char kind = text_[tag + 1];
    if (kind == '%' && read_raw(data)) return;
    char sign = tag + 2 < text_.size() ? text_[tag + 2] : '\0';
    if (sign != '-' && sign != '+') sign = '\0';
    add_data(data, sign, kind == '{');
    advance(tag - at_ + 2 + (sign ? 1 : 0));
    starts_line_ = false;
    if (kind == '#') return read_comment();
    add(kind == '{' ? Type::variable_begin : Type::block_begin, "");
    if (kind == '{') {
        read_tag("}}", Type::variable_end);
    } else {
        read_tag("%}", Type::block_end);
    }
}

void Lexer::add_data(std::string_view data, char sign, bool is_variable) {
    if (sign == '-') {
        data = strip(data, {}, Side::right);
    } else if (sign != '+' && !is_variable) {
        const size_t line_break = data.rfind('\n');
        const size_t begin = line_break == std::string_view::npos ? 0 : line_break + 1;
        const bool is_line = begin > 0 || starts_line_;
        if (is_line && space_prefix(data.substr(begin)) == data.size() - begin) data = data.substr(0, begin);
    }
    if (!data.empty()) add(Type::data, std::string(data));
}

// {% raw %} … {% endraw %}: everything inside is text.
bool Lexer::read_raw(std::string_view data) {
    const size_t begin = at_ + data.size();
    size_t at = begin + 2;
    char sign = at < text_.size() && (text_[at] == '-' || text_[at] == '+') ? text_[at] : '\0';
    if (sign) ++at;
    const auto space = [&] { at += space_prefix(std::string_view(text_).substr(at)); };
    const auto skip = [&](std::string_view word) {
        const bool found = std::string_view(text_).substr(at).starts_with(word);
        if (found) at += word.size();
        return found;
    };
    space();
    if (!skip("raw")) return false;
    space();
    const bool strips = skip("-%}");
    if (!strips && !skip("%}")) return false;
    if (strips) space();
    add_data(data, sign, false);
    advance(at - at_);
    for (size_t tag = text_.find("{%", at); tag != std::string::npos; tag = text_.find("{%", tag + 1)) {
        at = tag + 2;
        sign = at < text_.size() && (text_[at] == '-' || text_[at] == '+') ? text_[at] : '\0';
        if (sign) ++at;
        space();
        if (!skip("endraw")) continue;
        space();
        const size_t close = at;
        if (!skip("-%}") && !skip("+%}") && !skip("%}")) continue;
        starts_line_ = false;
        add_data(std::string_view(text_).substr(at_, tag - at_), sign, false);
        advance(close - at_);
        return read_end("%}", Type::end);
    }
    refuse("{% raw %} has no {% endraw %}");
}

void Lexer::read_comment() {
    const size_t end = text_.find("#}", at_);
    if (end == std::string::npos) refuse("a comment has no end");
    const bool has_sign = end > at_ && (text_[end - 1] == '-' || text_[end - 1] == '+');
    advance(end - at_ - (has_sign ? 1 : 0));
    read_end("#}", Type::end);
}

// The end of a tag, with the white space that it takes with it; `Type::end` for those that make no token.
bool Lexer::read_end(std::string_view end, Type type) {
    const size_t start = at_;
    const bool is_variable = type == Type::variable_end;
    const char sign = peek();
    if ((sign == '-' || (sign == '+' && !is_variable)) && rest().substr(1).starts_with(end)) {
        if (type != Type::end) add(type, "");
        advance(1 + end.size());
        if (sign == '-') skip_space();
    } else if (starts(end)) {
        if (type != Type::end) add(type, "");
        advance(end.size());
        if (!is_variable && peek() == '\n') advance(1);
    } else {
        return false;
    }
    starts_line_ = at_ > start && text_[at_ - 1] == '\n';
    return true;
}

void Lexer::read_tag(std::string_view end, Type end_type) {
    brackets_.clear();
    while (true) {
        if (brackets_.empty() && read_end(end, end_type)) return;
        if (at_ >= text_.size()) refuse("the template ends inside a tag");
        if (const size_t space = space_prefix(rest())) {
            advance(space);
        } else {
            read_token();
        }
    }
}

void Lexer::read_token() {
    const char c = peek();
    if (is_digit(c)) return read_number();
    if (c == '\'' || c == '"') return read_string();
    if (!is_name_start(c)) return read_symbol();
    size_t length = 1;
    while (is_name(peek(length))) ++length;
    add(Type::name, text_.substr(at_, length));
    advance(length);
}

void Lexer::read_number() {
    size_t length = 0;
    const auto digits = [&] {
        while (is_digit(peek(length)) || (peek(length) == '_' && is_digit(peek(length + 1)))) ++length;
    };
    digits();
    bool is_real = false;
    const bool follows_dot = at_ > 0 && text_[at_ - 1] == '.';  // as in x.0.1
    if (!follows_dot && peek(length) == '.' && is_digit(peek(length + 1))) {
        is_real = true;
        ++length;
        digits();
    }
    if (!follows_dot && (peek(length) == 'e' || peek(length) == 'E')) {
        const size_t sign = peek(length + 1) == '+' || peek(length + 1) == '-' ? 1 : 0;
        if (is_digit(peek(length + 1 + sign))) {
            is_real = true;
            length += 1 + sign;
            digits();
        }
    }
    std::string text = text_.substr(at_, length);
    std::erase(text, '_');
    if (!is_real && text.size() > 1 && text[0] == '0' && text.find_first_not_of('0') != std::string::npos) {
        refuse("a number begins with 0");
    }
    if (is_name_start(peek(length))) refuse("a number ends in a letter");
    add(is_real ? Type::real : Type::integer, text);
    Token& token = tokens_.back();
    const auto read = [&](auto& value) { return std::from_chars(text.data(), text.data() + text.size(), value).ec; };
    if ((is_real ? read(token.real) : read(token.integer)) != std::errc()) refuse("a number is too large");
    advance(length);
}

void Lexer::read_string() {
    const char quote_sign = peek();
    const size_t start = at_;
    std::string value;
    advance(1);
    while (peek() != quote_sign || at_ >= text_.size()) {
        if (at_ >= text_.size()) {
            at_ = start;
            refuse("a string has no end");
        }
        if (peek() == '\\') {
            read_escape(value);
        } else {
            value += peek();
            advance(1);
        }
    }
    advance(1);
    add(Type::string, std::move(value));
}

void Lexer::read_escape(std::string& value) {
    static constexpr std::string_view letters = "abfnrtv\\'\"";
    static constexpr std::string_view meanings = "\a\b\f\n\r\t\v\\'\"";
    const char letter = peek(1);
    const size_t known = letters.find(letter);
    if (at_ + 1 < text_.size() && known != std::string_view::npos) {
        value += meanings[known];
        return advance(2);
    }
    if (letter == '\n') return advance(2);
    if (letter == 'x') return read_code(value, 2);
    if (letter == 'u') return read_code(value, 4);
    if (letter == 'U') return read_code(value, 8);
    if (letter == 'N') refuse("characters by their name (\\N{…}) are not supported");
    if (letter >= '0' && letter <= '7') {
        char32_t code = 0;
        size_t length = 1;
        while (length <= 3 && peek(length) >= '0' && peek(length) <= '7') {
            code = code * 8 + static_cast<char32_t>(peek(length++) - '0');
        }
        utf8::append(value, code);
        return advance(length);
    }
    value += '\\';
    advance(1);
}

void Lexer::read_code(std::string& value, size_t digits) {
    uint32_t code = 0;
    const char* begin = text_.data() + at_ + 2;
    const bool is_there = at_ + 2 + digits <= text_.size();
    const auto [end, error] = std::from_chars(begin, begin + (is_there ? digits : 0), code, 16);
    if (!is_there || end != begin + digits || error != std::errc()) refuse("a string has a broken \\x, \\u or \\U");
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) refuse("a string names a character that does not exist");
    utf8::append(value, code);
    advance(2 + digits);
}

void Lexer::read_symbol() {
    for (const std::string_view symbol : k_symbols) {
        if (!starts(symbol)) continue;
        const size_t opening = std::string_view("([{").find(symbol);
        if (opening != std::string_view::npos) brackets_ += ")]}"[opening];
        if (symbol == ")" || symbol == "]" || symbol == "}") {
            if (brackets_.empty() || brackets_.back() != symbol[0]) refuse(fmt::format("unexpected '{}'", symbol));
            brackets_.pop_back();
        }
        add(Type::symbol, std::string(symbol));
        return advance(symbol.size());
    }
    refuse(fmt::format("unexpected character {}", quote(rest().substr(0, 1))));
}

}  // namespace

std::vector<Token> tokenize(Run& run, std::string_view source) {
    const size_t most = run.limits().template_bytes;
    if (source.size() > most) run.fail("the template has {} bytes, and at most {} are read", source.size(), most);
    if (utf8::valid_prefix(source) != source.size()) run.fail("the template is not UTF-8");
    return Lexer(run, source).all();
}

}  // namespace toy::jinja
