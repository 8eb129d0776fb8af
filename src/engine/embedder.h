#pragma once
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "engine/full_sequence.h"

namespace toy {

/// An encoder made ready to embed texts: threads, and the graphs of the shapes that occur.
class Embedder {
 public:
    struct Options {
        int threads = default_threads();
        bool flash_attention = true;  ///< fused attention
    };
    /// Throws Error{bad_input} where the model is no encoder or the options cannot be.
    Embedder(std::shared_ptr<const Model> model, const Device& device, const Options& options);
    ~Embedder();

    /// The states of all tokens of each text: T·D values, row-major. Texts are computed together, and none sees
    /// another. Throws Error{bad_input} where a text is empty, longer than the model's context, or holds an id outside
    /// the vocabulary.
    std::vector<std::vector<float>> states(std::span<const std::vector<int32_t>> texts);

    /// One embedding of D values for each text, not normalised: its states pooled as the model wants it. Throws
    /// Error{bad_input} where the model names no pooling, and as `states`.
    std::vector<std::vector<float>> embed(std::span<const std::vector<int32_t>> texts);

    const Model& model() const { return *model_; }

 private:
    struct Batch;
    Batch& batch_for(int64_t sequences, int64_t tokens);
    void compute(std::span<const std::vector<int32_t>> texts, std::vector<std::vector<float>>& all);

    std::shared_ptr<const Model> model_;
    Options options_;
    Runner runner_;
    std::list<std::unique_ptr<Batch>> batches_;  // most recently used first
};

}  // namespace toy
