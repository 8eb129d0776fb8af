#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/optimizer.h"
#include "engine/trainable.h"
#include "engine/training_graph.h"
#include "tensor/runner.h"

namespace toy {

struct TrainerOptions {
    TrainingShape shape;  ///< of one micro-batch
    OptimizerOptions optimizer{};
    float clip = 0.0f;  ///< the norm of all gradients together that a step may have; 0: any
};

/// What one step did.
struct StepReport {
    double loss = 0;           ///< mean over all targets
    int64_t targets = 0;       ///< tokens that were to be predicted
    double gradient_norm = 0;  ///< of all trained weights together, before clipping
};

/// Trains a model step by step. Steps are the same for one big batch or several small ones: gradients are averaged over
/// the targets of the whole step. Writes no files and keeps no time.
class Trainer {
 public:
    /// Throws Error where the model has an operation without a gradient, or memory is short.
    Trainer(TrainableModel& model, Runner& runner, const TrainerOptions& options);

    /// One optimizer step over the batches, at a learning rate. Throws Error{failure} where the loss or a gradient is
    /// no finite number, naming the first result of the computation that is none; weights are then as before the step.
    StepReport step(std::span<const Batch> batches, double rate);

    /// Mean loss over the targets of some batches; weights and gradients stay as they are.
    StepReport evaluate(std::span<const Batch> batches);

    Optimizer& optimizer() { return optimizer_; }
    /// Bytes of the graphs' arenas and of weights, gradients and moments.
    size_t memory_bytes() const;

 private:
    double accumulate(TrainingGraph& graph, std::span<const Batch> batches, int64_t targets);
    [[noreturn]] void refuse_numbers(double loss, std::span<const Batch> batches);
    std::string first_bad(std::span<const Batch> batches);
    void clear_gradients();

    TrainableModel& model_;
    Runner& runner_;
    TrainerOptions options_;
    Optimizer optimizer_;
    TrainingGraph training_;
    std::unique_ptr<TrainingGraph> evaluation_;  // made at the first use
};

}  // namespace toy
