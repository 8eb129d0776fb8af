#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace toy::utf8 {

constexpr char32_t replacement = 0xFFFD;

/// One step through bytes that may not be UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
struct Character {
    char32_t code = replacement;
    size_t length = 1;
    bool valid = false;  ///< false: one stray byte, `code` is U+FFFD
};

/// The character at the start of `text`, which must not be empty.
Character decode(std::string_view text);
void append(std::string& text, char32_t code);
/// The length of the longest prefix of whole, valid characters.
size_t valid_prefix(std::string_view text);
/// How many bytes at the end (0 to 3) begin a character that bytes to come can complete.
size_t incomplete_suffix(std::string_view text);
/// Every byte that is part of no valid character becomes U+FFFD.
std::string repaired(std::string_view text);

}  // namespace toy::utf8
