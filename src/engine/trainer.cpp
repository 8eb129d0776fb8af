#include "engine/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "tensor/transfer.h"

namespace toy {
namespace {

int64_t count_targets(std::span<const Batch> batches) {
    int64_t count = 0;
    for (const Batch& batch : batches)
        count += std::count_if(batch.targets.begin(), batch.targets.end(), [](int32_t t) { return t >= 0; });
    if (count == 0) bad_input("no token of the batch is to be predicted");
    return count;
}

}  // namespace

Trainer::Trainer(TrainableModel& model, Runner& runner, const TrainerOptions& options)
    : model_(model),
      runner_(runner),
      options_(options),
      optimizer_(model, options.optimizer, runner),
      training_(model.decoder(), model.trained(), options.shape, runner.device()) {}

// The sum of all losses; gradients of their mean are added to the model's sums.
double Trainer::accumulate(TrainingGraph& graph, std::span<const Batch> batches, int64_t targets) {
    double sum = 0;
    for (const Batch& batch : batches) {
        graph.write(batch, 1.0f / static_cast<float>(targets));
        runner_.run(graph.graph());
        const std::vector<float> losses = graph.losses();
        sum = std::accumulate(losses.begin(), losses.end(), sum);
    }
    return sum;
}

StepReport Trainer::step(std::span<const Batch> batches, double rate) {
    StepReport report;
    report.targets = count_targets(batches);
    report.loss = accumulate(training_, batches, report.targets) / static_cast<double>(report.targets);
    double squares = 0;
    for (double norm : optimizer_.gradient_norms()) squares += norm * norm;
    report.gradient_norm = std::sqrt(squares);
    if (!std::isfinite(report.loss) || !std::isfinite(report.gradient_norm)) refuse_numbers(report.loss, batches);
    const bool clips = options_.clip > 0.0f && report.gradient_norm > options_.clip;
    optimizer_.step(static_cast<float>(rate), clips ? static_cast<float>(options_.clip / report.gradient_norm) : 1.0f);
    return report;
}

StepReport Trainer::evaluate(std::span<const Batch> batches) {
    if (!evaluation_) {
        evaluation_ = std::make_unique<TrainingGraph>(model_.decoder(), std::span<const Trained>(), options_.shape,
                                                      runner_.device());
    }
    StepReport report;
    report.targets = count_targets(batches);
    report.loss = accumulate(*evaluation_, batches, report.targets) / static_cast<double>(report.targets);
    return report;
}

void Trainer::clear_gradients() {
    for (const TrainableModel::Entry& entry : model_.entries()) clear(entry.tensors.gradient);
}

// Runs the batches again and looks at every result: the slow way, for the one time when something went wrong.
std::string Trainer::first_bad(std::span<const Batch> batches) {
    Graph& graph = training_.graph();
    std::string found;
    std::vector<Tap> taps;
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        const Node& node = graph.nodes()[i];
        if (node.kind != Node::Kind::operation || node.layout.type != DType::F32 || node.op->aliases() >= 0) continue;
        taps.push_back({Tensor(&graph, static_cast<int32_t>(i)), [&found, &node](Tensor tensor) {
                            if (!found.empty()) return;
                            const Statistics s = statistics(tensor);
                            if (s.nan_count + s.infinite_count == 0) return;
                            const std::string what = node.name.empty() ? std::string(node.op->name()) : node.name;
                            found = fmt::format("{}{}{}", what, node.scope.empty() ? "" : " in ", node.scope);
                        }});
    }
    clear_gradients();
    for (const Batch& batch : batches) {
        training_.write(batch, 1.0f);
        runner_.run(graph, taps);
        if (!found.empty()) break;
    }
    return found;
}

void Trainer::refuse_numbers(double loss, std::span<const Batch> batches) {
    const std::string bad = first_bad(batches);
    clear_gradients();
    failure("step {}: the loss is {}; {}", optimizer_.steps() + 1, loss,
            bad.empty() ? "no result is at fault alone: the gradients' squares have no finite sum"
                        : "the first result that is no finite number is " + bad);
}

size_t Trainer::memory_bytes() const {
    return training_.memory_bytes() + (evaluation_ ? evaluation_->memory_bytes() : 0) + optimizer_.memory_bytes() +
           model_.params().allocated_bytes();
}

}  // namespace toy
