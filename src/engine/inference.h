#pragma once
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "engine/cached_step.h"
#include "tensor/repack.h"

namespace toy {

/// A model made ready to decode: threads, cache, repacked weights, and the graphs of the steps that occur.
class Inference {
 public:
    struct Options {
        int threads = default_threads();
        int64_t context = 0;  ///< tokens of each sequence; 0: what the model was trained for
        int slots = 1;        ///< sequences at once
        DType cache_type = DType::F16;
        bool flash_attention = true;  ///< fused attention
        bool repack = true;           ///< second copies of weights in faster layouts, where they pay
        int64_t chunk = 512;          ///< prompt tokens computed at once
    };
    /// Throws Error{bad_input} for options that cannot be, Error{failure} where memory lacks.
    Inference(std::shared_ptr<const Model> model, const Device& device, const Options& options);

    /// Computes pieces of equal length, one per slot, in one graph; returns logits, one row of V per wanted output.
    /// Taps on what fused operators hide (scores, softmax, ffn_act) make the layers do without them, which is said
    /// once.
    std::vector<float> step(std::span<const Piece> pieces, std::span<const NamedTap> taps = {});

    const Model& model() const { return *model_; }
    const Options& options() const { return options_; }
    KvCache& cache() { return cache_; }
    Runner& runner() { return runner_; }

    /// How graphs were reused: misses built one.
    struct Counts {
        int64_t hits = 0, misses = 0;
        size_t graphs = 0, graph_bytes = 0, repacked_bytes = 0;
    };
    Counts counts() const;

 private:
    CachedStep& graph_for(const StepShape& shape);
    std::vector<float> step_once(std::span<const Piece> pieces, std::span<const NamedTap> taps);

    std::shared_ptr<const Model> model_;
    Options options_;
    Runner runner_;
    KvCache cache_;
    RepackedWeights repacked_;
    std::list<std::pair<StepShape, std::unique_ptr<CachedStep>>> steps_;  // most recently used first
    int64_t hits_ = 0, misses_ = 0;
    bool has_said_plain_ = false;
};

}  // namespace toy
