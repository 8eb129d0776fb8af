#include "engine/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace toy {

double Schedule::at(int64_t step) const {
    if (step < warmup) return rate * static_cast<double>(step + 1) / static_cast<double>(warmup);
    constexpr double k_decay_share = 0.1;  // of all steps
    const auto whole = static_cast<double>(std::max<int64_t>(steps, 1));
    const double begin = kind == Kind::wsd
                             ? std::max<double>(static_cast<double>(warmup), whole * (1.0 - k_decay_share))
                             : static_cast<double>(warmup);
    const double done =
        begin >= whole ? 1.0 : std::clamp((static_cast<double>(step) - begin) / (whole - begin), 0.0, 1.0);
    switch (kind) {
        case Kind::constant: return rate;
        case Kind::cosine: return least + 0.5 * (rate - least) * (1.0 + std::cos(std::numbers::pi * done));
        case Kind::linear:
        case Kind::wsd: break;
    }
    return rate + (least - rate) * done;
}

std::optional<Schedule::Kind> schedule_kind(std::string_view name) {
    if (name == "constant") return Schedule::Kind::constant;
    if (name == "linear") return Schedule::Kind::linear;
    if (name == "cosine") return Schedule::Kind::cosine;
    if (name == "wsd") return Schedule::Kind::wsd;
    return std::nullopt;
}

}  // namespace toy
