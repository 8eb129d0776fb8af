#include "text/byte_letters.h"

#include <array>

#include "text/utf8.h"

namespace toy {
namespace {

struct Alphabet {
    std::array<char32_t, 256> letter{};
    std::array<int16_t, 0x144> byte{};  // -1: no letter of the alphabet
};

constexpr Alphabet make_alphabet() {
    Alphabet result;
    result.byte.fill(-1);
    char32_t next = 0x100;
    for (int b = 0; b < 256; ++b) {
        const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xFF && b != 0xAD);
        const char32_t letter = printable ? static_cast<char32_t>(b) : next++;
        result.letter[b] = letter;
        result.byte[letter] = static_cast<int16_t>(b);
    }
    return result;
}

constexpr Alphabet alphabet = make_alphabet();
static_assert(alphabet.letter[' '] == 0x120 && alphabet.letter[0xAD] == 0x143);

}  // namespace

char32_t byte_to_letter(uint8_t byte) { return alphabet.letter[byte]; }

bool append_bytes_of_letters(std::string& bytes, std::string_view text) {
    const size_t before = bytes.size();
    while (!text.empty()) {
        const utf8::Character next = utf8::decode(text);
        if (!next.valid || next.code >= alphabet.byte.size() || alphabet.byte[next.code] < 0) {
            bytes.resize(before);
            return false;
        }
        bytes += static_cast<char>(alphabet.byte[next.code]);
        text.remove_prefix(next.length);
    }
    return true;
}

}  // namespace toy
