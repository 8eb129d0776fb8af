#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/gguf_writer.h"
#include "tensor/dtype.h"

namespace toy::test {

/// A small random model of a family under llama.cpp's names of keys and tensors, written down apart from src/models:
/// what llama.cpp takes, we must take.
struct FamilyModel {
    struct Weight {
        std::string name;
        std::vector<int64_t> shape;  ///< row-major
    };
    std::string name;                                 ///< "gemma2"; a variant has a suffix: "gemma2-27b"
    std::string architecture;                         ///< general.architecture
    std::vector<std::pair<std::string, Value>> keys;  ///< without the architecture's prefix
    std::vector<Weight> weights;
    bool is_encoder = false;
};

/// All of them, variants after the family that they belong to.
std::vector<std::string> family_model_names();
/// Throws Error for a name that tells no model.
FamilyModel family_model(std::string_view name);

/// Whether a model of that name is deep, so that its tests take long under sanitizers; their suites begin with Slow.
bool is_slow_family(std::string_view name);

/// The model with its first two blocks alone, which is quicker, and where rounding does not grow through many layers.
FamilyModel with_two_blocks(FamilyModel model);

/// The model with its matrices in that type (rows that are no whole K-quant blocks in q8_0, as llama.cpp's quantiser
/// does it), and a vocabulary of 512 tokens.
void write_family_model(const FamilyModel& model, DType type, const std::filesystem::path& path);

/// The file of "gemma2:q8_0", made once in a temporary folder that goes when the process ends.
const std::filesystem::path& family_file(std::string_view name_and_type);

}  // namespace toy::test
