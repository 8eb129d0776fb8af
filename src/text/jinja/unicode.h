#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace toy::jinja {

// What Python's str does with characters. Texts are UTF-8; positions and lengths count characters.

enum class Side { both, left, right };

/// Python's str.isspace for one character.
bool is_space(char32_t code);
/// How many bytes at the start are white space.
size_t space_prefix(std::string_view text);
/// Takes characters off the ends: those in `characters`, or white space where there are none.
std::string_view strip(std::string_view text, std::string_view characters, Side side);

/// Number of characters.
size_t length(std::string_view text);
std::u32string characters(std::string_view text);
std::string utf8_of(std::u32string_view characters);
/// The byte at which the n-th character starts; the size of the text from the end on.
size_t byte_of(std::string_view text, size_t character);

/// Letter by letter (and "ß" becomes "SS"), not the few other characters that Unicode maps to several.
std::string upper(std::string_view text);
std::string lower(std::string_view text);
/// The first character upper case, the others lower case.
std::string capitalize(std::string_view text);
/// str.title: every letter after one that is none is upper case, the others lower case.
std::string title(std::string_view text);
std::string swapcase(std::string_view text);
bool is_upper(std::string_view text);  ///< str.isupper
bool is_lower(std::string_view text);  ///< str.islower
bool is_alpha(std::string_view text);  ///< str.isalpha
bool is_digit(std::string_view text);  ///< str.isdigit, for decimal digits
bool is_alnum(std::string_view text);  ///< str.isalnum
/// Whether repr shows the character as it is.
bool is_printable(char32_t code);

}  // namespace toy::jinja
