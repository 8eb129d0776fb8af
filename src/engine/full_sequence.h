#pragma once
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "models/model.h"
#include "nn/context.h"
#include "tensor/graph.h"
#include "tensor/runner.h"

namespace toy {

/// The Context without memory: S sequences of T tokens each, whose keys and values live in the graph itself. For
/// scoring and training, and the reference that cached decoding is checked against.
class FullSequence : public Context {
 public:
    /// Adds the inputs "positions" and, per window that occurs, "mask" to the graph. `fused` chooses flash attention.
    FullSequence(Graph& graph, int64_t sequences, int64_t tokens, bool fused);

    Tensor positions() override { return positions_; }
    Tensor attend(int layer, Tensor q, Tensor k, Tensor v, const Attn& how) override;
    Tensor select_outputs(Tensor x) override { return x; }

    /// Writes positions 0..T-1 for each sequence, and the masks. Call once after the graph is allocated.
    void write_inputs();

 private:
    Tensor mask_for(int window);
    Graph& graph_;
    int64_t sequences_, tokens_;
    bool fused_;
    Tensor positions_;
    std::map<int, Tensor> masks_;
};

/// Logits of every position of one text, without a cache: ids [T] -> T·V values, row-major. The plain way, and slow:
/// one graph is built for each call.
std::vector<float> full_logits(const Model& model, Runner& runner, std::span<const int32_t> ids, bool fused = true);

}  // namespace toy
