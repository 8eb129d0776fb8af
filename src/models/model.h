#pragma once
#include <filesystem>
#include <memory>

#include "io/gguf.h"
#include "models/weights.h"
#include "tensor/params.h"

namespace toy {

/// A model file opened for computing: its metadata, its weights (mapped where the device allows) and its decoder.
struct Model {
    Gguf file;
    Params params;
    Decoder decoder;
    std::vector<Tensor> matrices;  ///< the weights that activations are multiplied with, experts' stacks among them

    /// Throws Error{bad_input} with one sentence that names the key or tensor that is missing, unknown or of another
    /// shape.
    static std::shared_ptr<const Model> load(const std::filesystem::path& path, const Device& device);

    const Spec& spec() const { return decoder.spec; }
    /// Elements of all weights; a tied head counts once.
    int64_t parameter_count() const;
    /// Bytes of all weights in the file.
    size_t weight_bytes() const;

    Model(Gguf opened, const Device& device) : file(std::move(opened)), params(device) {}
};

}  // namespace toy
