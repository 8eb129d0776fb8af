#pragma once
#include <string>
#include <vector>

#include "io/gguf.h"
#include "io/model_file.h"

namespace toy {

/// What becomes of one tensor.
struct TypeChoice {
    const GgufTensor* tensor;
    DType type;
    DType wanted;  ///< another than `type` where the tensor's rows are no whole number of its blocks
    /// The choice would be useless without an importance matrix. (It may also be impossible: needs_importance(type).)
    bool asks_for_importance = false;
};

/// The types of a file type that is written from `file`, as llama.cpp v0.5.0 chooses them (src/llama-quant.cpp), in the
/// order in which it writes tensors: those outside blocks, then block by block, by name. Larger types go where errors
/// hurt most: to the head, to attention's values, to ffn_down, to the first and last layers. `is_pure`: all the same
/// type. Throws Error{bad_input} where the file lacks the keys that decide, or rows fit no type.
std::vector<TypeChoice> choose_types(const Gguf& file, const FileType& target, bool is_pure, bool has_importance);

/// The tensors in that order, each as it is.
std::vector<TypeChoice> keep_types(const Gguf& file);

}  // namespace toy
