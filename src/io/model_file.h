#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "io/gguf.h"

namespace toy {

/// A value of general.file_type, as llama.cpp numbers them (include/llama.h, llama_ftype).
struct FileType {
    int64_t code;
    std::string_view name;  ///< "Q4_K_M"
    DType type;             ///< the element type that most of such a file is made of
};
/// All of them, in the order of their codes.
std::span<const FileType> file_types();

/// What a GGUF file says of the model in it.
struct ModelFacts {
    std::string family;  ///< general.architecture
    int64_t n_params;    ///< elements of all tensors, exactly
    std::string type;  ///< the name of general.file_type ("Q4_K_M") where the tensors bear it out, else type_of_most()
    uint64_t size_b;   ///< bytes of all its files
};

/// Why a file is not a model that can run by itself ("is an adapter, not a model"), or nothing for a model.
std::optional<std::string> why_not_a_model(const Gguf& gguf);
/// Precondition: the file is a model.
ModelFacts model_facts(const Gguf& gguf);
/// The element type that most elements have, in upper case ("Q8_0"); empty where there are no tensors.
std::string type_of_most(const Gguf& gguf);

}  // namespace toy
