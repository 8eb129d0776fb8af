#pragma once
#include <cstdint>
#include <vector>

#include "models/weights.h"

namespace toy {

/// The values that a weight begins training from scratch with, row-major, from its name, the Spec and a seed: normal
/// with deviation 0.02, what ends in the residual sum (attn_output, ffn_down and their like) divided by √(2L) (GPT-2,
/// Radford et al. 2019); norms 1, biases 0; state spaces as in arXiv 2312.00752 and 2405.21060. No two weights draw the
/// same numbers, whatever the order in which they are made.
std::vector<float> initial_weight(const WeightEntry& entry, const Spec& spec, uint64_t seed);

}  // namespace toy
