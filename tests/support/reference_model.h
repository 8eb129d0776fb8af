#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace toy::test {

/// Logits [T·V] of a random model with f32 weights, computed in double with plain loops, straight from the definition
/// of the architecture: no cache, no ggml. For what llama.cpp leaves out (Mistral's window) it is the only reference.
std::vector<double> reference_logits(std::string_view recipe, std::span<const int32_t> tokens);

}  // namespace toy::test
