#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace toy::test {

/// Little-endian float32 values from base64.
inline std::vector<float> floats_from_base64(std::string_view text) {
    constexpr std::string_view k_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    uint32_t group = 0;
    int bits = 0;
    for (char c : text) {
        const size_t digit = k_digits.find(c);
        if (digit == k_digits.npos) break;  // padding
        group = group << 6 | static_cast<uint32_t>(digit);
        bits += 6;
        if (bits >= 8) bytes += static_cast<char>(group >> (bits -= 8) & 255);
    }
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return values;
}

}  // namespace toy::test
