#include "run/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace toy {
namespace {

// The round distance (1, 2 or 5 times a power of ten) that cuts `range` into about `count` parts.
double round_distance(double range, int count) {
    const double raw = range / std::max(count, 1);
    const double power = std::pow(10.0, std::floor(std::log10(raw)));
    for (double factor : {1.0, 2.0, 5.0}) {
        if (factor * power >= raw * 0.999) return factor * power;
    }
    return 10.0 * power;
}

}  // namespace

Axis::Axis(double low, double high, Scale scale)
    : low_(std::min(low, high)), high_(std::max(low, high)), scale_(scale) {
    // What is one value, or so nearly one that ticks between could not be told apart, gets some room.
    const double room = std::max(std::abs(high_) * 1e-6, 1e-12);
    if (high_ - low_ >= room) return;
    const double half = high_ != 0 ? std::abs(high_) * 0.1 : 1.0;
    low_ -= half;
    high_ += half;
}

bool Axis::takes(double value) const { return std::isfinite(value) && (scale_ == Scale::linear || value > 0); }

double Axis::place(double value) const {
    if (scale_ == Scale::log) return std::log(value / low_) / std::log(high_ / low_);
    return (value - low_) / (high_ - low_);
}

std::vector<double> Axis::linear_ticks(int count) const {
    const double distance = round_distance(high_ - low_, count);
    std::vector<double> ticks;
    // Multiples, so that nothing adds up; and 0 where ceil() says -0.
    for (double k = std::ceil(low_ / distance - 1e-9); k * distance <= high_ + distance * 1e-9; ++k) {
        ticks.push_back(k * distance + 0.0);
    }
    return ticks;
}

std::vector<double> Axis::ticks(int count) const {
    if (scale_ == Scale::linear) return linear_ticks(count);
    const double first = std::floor(std::log10(low_));
    const double last = std::ceil(std::log10(high_));
    const int every = std::max(1, static_cast<int>(std::ceil((last - first) / std::max(count, 1))));
    for (const std::vector<double>& factors : {std::vector<double>{1}, {1, 3}, {1, 2, 5}}) {
        std::vector<double> ticks;
        for (double power = first; power <= last; power += every) {
            for (double factor : factors) {
                const double value = factor * std::pow(10.0, power);
                if (value >= low_ * (1 - 1e-9) && value <= high_ * (1 + 1e-9)) ticks.push_back(value);
            }
        }
        if (every > 1 || static_cast<int>(ticks.size()) * 2 > count) return ticks;
    }
    return linear_ticks(count);  // less than a decade or so: round values, at logarithmic places
}

Axis Axis::rounded(int count) const {
    if (scale_ == Scale::log) return *this;
    const double distance = round_distance(high_ - low_, count);
    Axis wide = *this;
    wide.low_ = std::floor(low_ / distance + 1e-9) * distance;
    wide.high_ = std::ceil(high_ / distance - 1e-9) * distance;
    return wide;
}

std::string Axis::label(double value) {
    constexpr std::array<std::pair<double, const char*>, 3> k_units = {{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
    const double size = std::abs(value);
    for (const auto& [unit, letter] : k_units) {
        if (size >= unit * 10 || (unit > 1e3 && size >= unit)) return fmt::format("{:.4g}{}", value / unit, letter);
    }
    return fmt::format("{:.4g}", value);
}

}  // namespace toy
