#include "text/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace toy::utf8 {
namespace {

/// What a lead byte announces: the length, and the range that the second byte must lie in (it excludes overlong forms,
/// surrogates and code points above U+10FFFF). Length 0: no lead byte.
struct Lead {
    size_t length;
    uint8_t low = 0x80, high = 0xBF;
};

Lead lead(uint8_t byte) {
    if (byte < 0x80) return {1};
    if (byte < 0xC2) return {0};
    if (byte < 0xE0) return {2};
    if (byte == 0xE0) return {3, 0xA0, 0xBF};
    if (byte == 0xED) return {3, 0x80, 0x9F};
    if (byte < 0xF0) return {3};
    if (byte == 0xF0) return {4, 0x90, 0xBF};
    if (byte < 0xF4) return {4};
    if (byte == 0xF4) return {4, 0x80, 0x8F};
    return {0};
}

/// How many of the first bytes fit that lead: its length where the character is whole.
size_t matched(std::string_view text, const Lead& kind) {
    size_t n = 1;
    while (n < kind.length && n < text.size()) {
        const auto byte = static_cast<uint8_t>(text[n]);
        const bool fits = n == 1 ? byte >= kind.low && byte <= kind.high : (byte & 0xC0) == 0x80;
        if (!fits) break;
        ++n;
    }
    return n;
}

}  // namespace

Character decode(std::string_view text) {
    const auto first = static_cast<uint8_t>(text[0]);
    if (first < 0x80) return {first, 1, true};
    const Lead kind = lead(first);
    if (kind.length == 0 || matched(text, kind) < kind.length) return {};
    char32_t code = first & (0xFFu >> (kind.length + 1));
    for (size_t i = 1; i < kind.length; ++i) code = code << 6 | (static_cast<uint8_t>(text[i]) & 0x3Fu);
    return {code, kind.length, true};
}

void append(std::string& text, char32_t code) {
    const auto continuation = [&](int shift) { text += static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
    if (code < 0x80) {
        text += static_cast<char>(code);
    } else if (code < 0x800) {
        text += static_cast<char>(0xC0 | code >> 6);
        continuation(0);
    } else if (code < 0x10000) {
        text += static_cast<char>(0xE0 | code >> 12);
        continuation(6);
        continuation(0);
    } else {
        text += static_cast<char>(0xF0 | code >> 18);
        continuation(12);
        continuation(6);
        continuation(0);
    }
}

size_t valid_prefix(std::string_view text) {
    size_t at = 0;
    while (at < text.size()) {
        uint64_t eight;  // runs of ASCII, eight bytes a step
        while (at + 8 <= text.size() &&
               (std::memcpy(&eight, text.data() + at, 8), (eight & 0x8080808080808080u) == 0)) {
            at += 8;
        }
        if (at == text.size()) break;
        const Character next = decode(text.substr(at));
        if (!next.valid) break;
        at += next.length;
    }
    return at;
}

size_t incomplete_suffix(std::string_view text) {
    for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
        const std::string_view tail = text.substr(text.size() - back);
        const auto byte = static_cast<uint8_t>(tail[0]);
        if ((byte & 0xC0) == 0x80) continue;
        const Lead kind = lead(byte);
        return kind.length > back && matched(tail, kind) == back ? back : 0;
    }
    return 0;
}

std::string repaired(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const size_t good = valid_prefix(text);
        result += text.substr(0, good);
        text.remove_prefix(good);
        if (text.empty()) break;
        append(result, replacement);
        text.remove_prefix(1);
    }
    return result;
}

}  // namespace toy::utf8
