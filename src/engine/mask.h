#pragma once
#include <cstdint>
#include <span>

namespace toy {

/// Fills one row of an attention mask with float16 bits: 0 for the keys 0..position that lie in the window (0: all of
/// them), −inf for all others. Key i is the one at position i.
void fill_causal_row(std::span<uint16_t> row, int64_t position, int window);

}  // namespace toy
