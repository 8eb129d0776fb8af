#pragma once
#include <string>
#include <vector>

#include "engine/trainable.h"
#include "tensor/runner.h"

namespace toy {

/// AdamW (arXiv 1711.05101) with bias corrections and decoupled decay, of matrices and tables alone.
struct OptimizerOptions {
    float beta1 = 0.9f, beta2 = 0.95f, eps = 1e-8f;
    float weight_decay = 0.1f;
};

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
    size_t memory_bytes() const { return moments_.allocated_bytes(); }

 private:
    const TrainableModel& model_;
    OptimizerOptions options_;
    Runner& runner_;
    Params moments_;
    Graph norms_, update_;
    std::vector<Tensor> squares_;
    Tensor numbers_;
    int64_t steps_ = 0;
};

}  // namespace toy
