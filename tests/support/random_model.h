#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/gguf_writer.h"
#include "models/spec.h"
#include "tensor/dtype.h"

namespace toy::test {

/// A small random Llama, told by its name: "f32-d64-g3" has f32 weights, heads of 64 and 3 query heads to each key
/// head. Suffixes: "-tied" (no output.weight), "-w8" (a window of 8), "-llama3" (rope factors), "-bias" (biases
/// everywhere).
struct Recipe {
    std::string name;
    DType type = DType::F32;
    Spec spec;
};
/// Throws Error for a name that tells no model.
Recipe recipe(std::string_view name);

/// Weights of the recipe as float32, by tensor name, row-major; the same on every machine.
std::vector<float> random_weight(std::string_view recipe, std::string_view tensor, const std::vector<int64_t>& shape);

/// Writes the model as a GGUF file, with a vocabulary of 3 control tokens, 256 bytes and words to fill.
void write_random_model(const Recipe& recipe, const std::filesystem::path& path);

/// Writes it into a fresh temporary folder, which goes when the process ends, and returns the path; once per name.
const std::filesystem::path& random_model(std::string_view name);

/// What random models have in common: a number drawn from a name, the vocabulary of 3 control tokens, 256 bytes and
/// words up to 512 tokens, and the temporary folder that goes when the process ends.
uint64_t seed_of(std::string_view text);
void set_vocabulary(GgufWriter& w);
const std::filesystem::path& models_folder();

/// `n` token ids of the model's vocabulary, the first one BOS; the same on every machine.
std::vector<int32_t> random_tokens(int64_t vocabulary, size_t n, uint64_t seed = 1);

}  // namespace toy::test
