#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "engine/full_sequence.h"
#include "models/decoder.h"
#include "tensor/graph.h"
#include "text/packing.h"

namespace toy {

class Backward;

/// A weight that is trained and the sum that its gradient is added to, f32 of the same shape.
struct Trained {
    Tensor weight, gradient;
};

struct TrainingShape {
    int64_t rows = 1, tokens = 1;  ///< B, T
    bool is_recomputing = false;   ///< activations of blocks are computed again for their gradients, not kept
    bool has_documents = false;    ///< rows may hold several documents
    AttentionForm form = AttentionForm::rows;
    bool has_kernels = true;  ///< ours in place of ggml's (Graph::set_kernels)
};

/// Forward, loss and gradients of one batch as one graph: each run adds to the sums of `trained` the gradient of the
/// sum over all targets of scale·(−log probability). Logits exist for some rows at a time alone.
class TrainingGraph {
 public:
    /// With nothing to train: the loss alone. Throws Error where something on the way has no gradient.
    TrainingGraph(const Decoder& m, std::span<const Trained> trained, const TrainingShape& shape, const Device& device);

    /// Where documents share a row they do not see each other; what follows a row's last target is padding. Throws
    /// Error where a size differs, an id or target is not in the vocabulary, or a second document begins where the
    /// shape expects none or a recurrent layer would carry its state across.
    void write(const Batch& batch, float scale);
    Graph& graph() { return graph_; }
    size_t memory_bytes() const { return graph_.arena_bytes() + graph_.input_bytes(); }
    /// −log probability of each target after a run, 0 where there is none: [B·T].
    std::vector<float> losses() const;

 private:
    void compute_losses(const Decoder& m, Tensor x, Backward& backward);
    void recompute_blocks(Backward& backward, int64_t layers) const;

    TrainingShape shape_;
    int64_t vocabulary_;
    Graph graph_;
    FullSequence context_;
    Tensor ids_, targets_, scale_;
    std::vector<Tensor> losses_;
};

}  // namespace toy
