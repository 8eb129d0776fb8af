#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/trainable.h"
#include "tensor/runner.h"

namespace toy {

/// How gradients change weights. Decay is decoupled (arXiv 1711.05101) and of matrices and tables alone.
struct OptimizerOptions {
    enum class Kind {
        adamw,  ///< with bias corrections
        sgd,    ///< with momentum beta1: m ← β₁·m + g, w ← w − rate·m
        /// Momentum, made orthogonal by five Newton-Schulz steps (Jordan 2024), for the matrices of the blocks, scaled
        /// by 0.2·√(longer side) so that AdamW's rates serve (arXiv 2502.16982); AdamW for everything else.
        muon,
    };
    Kind kind = Kind::adamw;
    float beta1 = 0.9f, beta2 = 0.95f, eps = 1e-8f;
    float weight_decay = 0.1f;
    float muon_momentum = 0.95f;
};

/// "adamw", "sgd", "muon".
std::optional<OptimizerOptions::Kind> optimizer_kind(std::string_view name);

/// Changes the trained weights by their gradients, on the device that they lie on.
class Optimizer {
 public:
    Optimizer(const TrainableModel& model, const OptimizerOptions& options, Runner& runner);

    /// The norm of each weight's gradient, in the order of the model's entries.
    std::vector<double> gradient_norms();
    /// One step with the gradients times `gradient_scale`; afterwards all gradients are 0.
    void step(float rate, float gradient_scale);
    /// Steps done.
    int64_t steps() const { return steps_; }
    void set_steps(int64_t steps) { steps_ = steps; }
    /// "blk.0.attn_q.weight.m" and ".v": what is remembered of gradients.
    std::vector<Tensor> moments() const;
    size_t memory_bytes() const { return moments_.allocated_bytes(); }

 private:
    void add_update(const TrainableModel::Entry& entry);
    const TrainableModel& model_;
    OptimizerOptions options_;
    Runner& runner_;
    Params moments_;
    Graph norms_, update_;
    std::vector<Tensor> squares_;
    Tensor numbers_;                       // of AdamW, see adamw_update
    Tensor rate_, keep_, gradient_scale_;  // [1] each; keep: what decay leaves of a weight
    int64_t steps_ = 0;
};

}  // namespace toy
