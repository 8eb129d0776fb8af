#include "engine/mask.h"

#include <algorithm>

namespace toy {

void fill_causal_row(std::span<uint16_t> row, int64_t position, int window) {
    constexpr uint16_t k_minus_infinity = 0xFC00;
    const auto end = static_cast<size_t>(std::clamp<int64_t>(position + 1, 0, static_cast<int64_t>(row.size())));
    const auto begin = static_cast<size_t>(window > 0 ? std::max<int64_t>(0, position + 1 - window) : 0);
    std::fill(row.begin(), row.end(), k_minus_infinity);
    if (begin < end)
        std::fill(row.begin() + static_cast<int64_t>(begin), row.begin() + static_cast<int64_t>(end), uint16_t{0});
}

}  // namespace toy
