#pragma once
#include <filesystem>
#include <functional>

#include "io/metadata.h"
#include "models/decoder.h"
#include "models/weights.h"

namespace toy {

/// What is written beside a model's own keys and weights.
struct SaveOptions {
    /// The type that a weight is written in; empty: as it lies in memory. It is asked for matrices and embeddings; all
    /// else is f32. Types that need an importance matrix are refused.
    std::function<DType(const WeightEntry&)> type_of;
    /// Whose keys that begin with "tokenizer." are copied as they are, and whose file must not be the one written; or
    /// null.
    const Metadata* tokenizer = nullptr;
    /// More keys ("general.license"); general.name replaces the Spec's.
    Metadata extra = Metadata();
};

/// Writes the model as a GGUF file that Model::load and llama.cpp read, in one atomic step: keys as write_spec has
/// them, general.file_type after the type that most of the weights have, tensors as weight_table lists them. Weights
/// are read from their device in pieces, so the file may be larger than the memory that is left. The same model and
/// options give the same bytes. Precondition: all weights are there.
///
/// Throws Error{bad_input} where no architecture can say the Spec, a weight's type does not fit its rows, or the
/// tokenizer has another number of tokens; Error{failure} where the disk refuses. Then nothing is left behind.
void save_model(const std::filesystem::path& path, const Decoder& model, const SaveOptions& options);

}  // namespace toy
