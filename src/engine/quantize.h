#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "engine/quantize_types.h"
#include "io/imatrix.h"

namespace toy {

struct QuantizeOptions {
    const FileType* target = nullptr;              ///< null: all tensors keep their type
    const ImportanceMatrix* importance = nullptr;  ///< or null
    bool is_pure = false;                          ///< one type in place of a mixture
    bool may_requantize = false;                   ///< from types that are quantised already, which loses twice
    bool is_dry_run = false;  ///< nothing is converted or written, and no importance matrix is asked for
    int threads = 1;
    /// Called with the bytes of the input that are done, and their number; may throw to stop.
    std::function<void(uint64_t done, uint64_t total)> progress = {};
};

/// What was done.
struct QuantizeReport {
    std::vector<TypeChoice> tensors;                 ///< they point into the input
    std::vector<std::string> without_importance;     ///< tensors that changed their type and that the matrix lacks
    std::vector<std::string> asking_for_importance;  ///< of a dry run without a matrix: tensors that need one
    uint64_t bytes_before = 0, bytes_after = 0;      ///< of the tensors
    size_t fallbacks() const;
};

/// Writes the model with other types, for any architecture that GGUF has: tensors and bytes as llama.cpp v0.5.0's
/// llama-quantize writes them for the same input. Keys are copied; general.quantization_version and general.file_type
/// are set, and quantize.imatrix.* where there is an importance matrix; a split model becomes one file. Rows are
/// converted in parallel, a piece of a tensor at a time; the result depends neither on threads nor on pieces.
///
/// Throws Error{bad_input}, before anything is written, where the output is the input, a tensor is quantised already
/// and may not be again, or one needs an importance that is not there or has another size; and where values are not
/// finite or too large for their type. Error{failure} where the disk refuses. Then nothing is left behind.
QuantizeReport quantize(const Gguf& input, const std::filesystem::path& output, const QuantizeOptions& options);

}  // namespace toy
