#pragma once
#include <bit>
#include <cstdint>

namespace toy::kernels {

/// e^x to about two units in the last place of float32, for x ≤ 88; below −87 it stays at e^−87 (1e-38). Branch-free,
/// so that loops over it become vector code.
inline float exponential(float x) {
    x = x < -87.0f ? -87.0f : x;
    constexpr float shift = 0x1.8p23f;  // adding it leaves the nearest integer in the low bits
    const float shifted = x * 1.44269504f + shift;
    const int32_t whole = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(shift);
    const float n = shifted - shift;
    float r = x - n * 0.693359375f;  // ln 2 in two parts, the first one exact in few bits
    r = r + n * 2.12194440e-4f;
    // The Taylor series; |r| ≤ ln 2 / 2, so the first term left out is below 2^-27.
    float p = 1.0f / 5040.0f;
    p = p * r + 1.0f / 720.0f;
    p = p * r + 1.0f / 120.0f;
    p = p * r + 1.0f / 24.0f;
    p = p * r + 1.0f / 6.0f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return p * std::bit_cast<float>((whole + 127) << 23);
}

}  // namespace toy::kernels
