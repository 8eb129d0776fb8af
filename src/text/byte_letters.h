#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace toy {

/// GPT-2's alphabet: each of the 256 bytes as one printable letter, so that a vocabulary of byte strings is a list of
/// texts. Printable Latin-1 characters stand for themselves, the other 68 bytes are U+0100 and up, in order ("Ġ" is the
/// space). Source: bytes_to_unicode in github.com/openai/gpt-2/blob/master/src/encoder.py.
char32_t byte_to_letter(uint8_t byte);

/// Appends the bytes that the letters of `text` stand for. False, with nothing appended, where one is not of the
/// alphabet.
bool append_bytes_of_letters(std::string& bytes, std::string_view text);

}  // namespace toy
