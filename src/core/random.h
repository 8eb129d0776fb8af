#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>

namespace toy {

/// The 64-bit finaliser of splitmix64 (Steele, Lea, Flood 2014): every bit of the input moves every bit of the output.
constexpr uint64_t mix64(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/// Counter-based random numbers: the i-th number of a seed, computed from both alone. Nothing to save or restore, the
/// same on every machine, and independent of who else draws.
class Random {
 public:
    explicit constexpr Random(uint64_t seed, uint64_t counter = 0) : seed_(mix64(seed)), counter_(counter) {}

    constexpr uint64_t bits() { return mix64(seed_ ^ mix64(counter_++)); }
    /// Uniform in [0, 1), 53 bits.
    constexpr double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
    /// Normal with mean 0 and variance 1 (Box and Muller 1958).
    double normal() {
        const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
        return radius * std::cos(2.0 * std::numbers::pi * uniform());
    }

 private:
    uint64_t seed_;
    uint64_t counter_;
};

}  // namespace toy
