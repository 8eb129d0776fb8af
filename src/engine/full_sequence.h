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

/// How a FullSequence attends: composed of plain operators (which taps see, and which is the reference), ggml's fused
/// kernel (which has no gradient), or row_attention (which has one; on the CPU).
enum class AttentionForm { plain, fused, rows };

/// The Context without memory: S sequences of T tokens each, whose keys and values live in the graph itself. For
/// scoring and training, and the reference that cached decoding is checked against.
class FullSequence : public Context {
 public:
    struct Options {
        AttentionForm form = AttentionForm::plain;
        bool is_long = false;        ///< LongRoPE's factors (Spec::is_long)
        bool has_documents = false;  ///< a sequence may hold several documents, which do not see each other
    };
    /// Adds to the graph the inputs that the model asks for: "positions", for each window that occurs "mask" (or "first
    /// keys"), and what recurrent layers begin with.
    FullSequence(Graph& graph, int64_t sequences, int64_t tokens, const Options& options);

    int64_t sequences() const override { return sequences_; }
    Tensor positions() override;
    bool is_long() const override { return options_.is_long; }
    Tensor attend(int layer, Tensor q, Tensor k, Tensor v, const Attn& how) override;
    RecurrentState recall(int layer, const StateShape& shape) override;
    void remember(int, Tensor, Tensor) override {}
    Tensor select_outputs(Tensor x) override { return x; }

    /// Writes positions 0..T-1 for each sequence, the masks and zeros as first states. Where tokens see their whole
    /// text, `lengths` says how many of the T tokens of each sequence are text; without it all are. Call once after the
    /// graph is allocated.
    void write_inputs(std::span<const int64_t> lengths = {});
    /// The same for sequences of documents: the position of each token in its document, [S·T], each either one more
    /// than that before it or 0, where a document begins. Throws Error{bad_input} otherwise, or where recurrent layers
    /// would carry their state across.
    void write_documents(std::span<const int32_t> positions);

 private:
    Tensor mask_for(const Attn& how);
    Tensor attend_rows(Tensor q, Tensor k, Tensor v, const Attn& how);
    void write_text_mask(std::span<const int64_t> lengths);
    void write_causal_masks(std::span<const int32_t> positions);
    void write_first_states();
    Graph& graph_;
    int64_t sequences_, tokens_;
    Options options_;
    Tensor positions_;
    std::map<int, Tensor> masks_;  // of causal layers, by window
    Tensor text_mask_;             // of layers that see the whole text
    Tensor first_keys_;
    Tensor first_conv_, first_scan_, state_ids_;
};

/// Logits of every position of one text, without a cache: ids [T] -> T·V values, row-major. The plain way, and slow:
/// one graph is built for each call.
std::vector<float> full_logits(const Model& model, Runner& runner, std::span<const int32_t> ids,
                               AttentionForm form = AttentionForm::fused);

}  // namespace toy
