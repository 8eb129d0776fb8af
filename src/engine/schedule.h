#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace toy {

/// The learning rate of each step.
struct Schedule {
    enum class Kind {
        constant,
        linear,  ///< falls in a straight line to `least`
        cosine,  ///< falls along half a cosine to `least` (arXiv 1608.03983)
        wsd,     ///< warm-up, stable, decay: constant, then linear over the last tenth (arXiv 2404.06395)
    };
    Kind kind = Kind::cosine;
    double rate = 1e-3;  ///< the highest
    double least = 0.0;  ///< that of the end
    int64_t warmup = 0;  ///< steps in which the rate rises in a straight line, before anything else
    int64_t steps = 1;   ///< of the whole run; later ones have the rate of the end

    /// Of step 0, 1, …: (step + 1)/warmup of the highest while it rises.
    double at(int64_t step) const;
};

/// "constant", "linear", "cosine", "wsd".
std::optional<Schedule::Kind> schedule_kind(std::string_view name);

}  // namespace toy
