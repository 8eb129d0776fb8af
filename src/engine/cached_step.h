#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/kv_cache.h"
#include "models/model.h"
#include "nn/context.h"
#include "tensor/graph.h"
#include "tensor/runner.h"

namespace toy {

/// Tokens of one sequence that a step computes: ids at positions position.. of a slot, whose earlier positions are
/// cached.
struct Piece {
    int slot = 0;
    int64_t position = 0;
    std::span<const int32_t> ids;
    std::vector<int32_t> outputs;  ///< indices into ids, ascending, of the tokens whose logits are wanted
    bool is_long = false;          ///< Spec::is_long of the whole sequence, which all pieces of a step share
};

/// A step of the model to look at, by its name (docs/taps.md). `see` is called while the values are there; padding rows
/// are among them.
struct NamedTap {
    std::string name;  ///< "blk.3.attn_q"
    std::function<void(Tensor)> see;
};

/// What a step's graph is keyed by; each number rounded to a small set, so that few graphs serve all steps.
struct StepShape {
    int first_slot = 0;
    int sequences = 1;
    int64_t tokens = 1;   ///< of each sequence
    int64_t keys = 256;   ///< cached rows of each sequence that attention sees
    int64_t outputs = 0;  ///< rows of logits; 0: only the cache is filled
    bool is_long = false;
    bool is_fusing = true;  ///< Graph::is_fusing
    auto operator<=>(const StepShape&) const = default;
};
/// The shape that holds these pieces, all of which have equally many tokens.
StepShape shape_for(std::span<const Piece> pieces, const KvCache& cache);

/// One built and allocated graph that computes S sequences × T tokens against the cache.
class CachedStep {
 public:
    CachedStep(const Model& model, const KvCache& cache, const StepShape& shape, const Device& device, bool fused,
               const RepackedWeights* repacked);

    /// Computes the pieces and returns their logits, one row of V for each output in their order. Throws
    /// Error{bad_input} where no step of the model has a tap's name.
    std::vector<float> run(std::span<const Piece> pieces, Runner& runner, std::span<const NamedTap> taps = {});

    const Graph& graph() const { return graph_; }
    size_t bytes() const { return graph_.arena_bytes() + graph_.input_bytes(); }

 private:
    class StepContext;
    void write_tokens(std::span<const Piece> pieces);
    void write_masks(std::span<const Piece> pieces);
    void write_states(std::span<const Piece> pieces);
    void write_outputs(std::span<const Piece> pieces);
    size_t first_row(const Piece& piece) const;

    const KvCache& cache_;
    StepShape shape_;
    Graph graph_;
    Tensor ids_, positions_, rows_, states_, output_rows_, logits_;
    std::map<int, Tensor> masks_;  // by window
    // Scratch that every run reuses.
    std::vector<int32_t> id_values_, position_values_, state_values_, output_values_;
    std::vector<int64_t> row_values_;
    std::vector<uint16_t> mask_values_;
};

}  // namespace toy
