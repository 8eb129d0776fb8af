#include "engine/optimizer.h"

#include <cmath>
#include <numeric>

#include "tensor/gradient_ops.h"
#include "tensor/transfer.h"

namespace toy {

Optimizer::Optimizer(const TrainableModel& model, const OptimizerOptions& options, Runner& runner)
    : model_(model), options_(options), runner_(runner), moments_(runner.device()) {
    numbers_ = update_.input("numbers", DType::F32, {8});
    for (const TrainableModel::Entry& entry : model.entries()) {
        const Layout& layout = entry.tensors.weight.layout();
        const Tensor m = moments_.add(entry.name + ".m", layout), v = moments_.add(entry.name + ".v", layout);
        squares_.push_back(sum_squares(norms_.leaf(entry.tensors.gradient)));
        norms_.output(squares_.back());
        const bool decays = entry.use != WeightEntry::Use::raw;
        adamw_update(entry.tensors.weight, update_.leaf(entry.tensors.gradient), m, v, numbers_, decays);
    }
    moments_.allocate();
    for (Graph* graph : {&norms_, &update_}) {
        graph->set_kernels(true);
        graph->allocate(runner.device());
    }
}

std::vector<double> Optimizer::gradient_norms() {
    runner_.run(norms_);
    std::vector<double> norms;
    for (const Tensor& part : squares_) {
        const std::vector<float> sums = read_f32(part);
        norms.push_back(std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0)));
    }
    return norms;
}

void Optimizer::step(float rate, float gradient_scale) {
    const auto t = static_cast<double>(++steps_);
    const auto correction = [&](float beta) { return static_cast<float>(1.0 / (1.0 - std::pow(double{beta}, t))); };
    const std::vector<float> numbers{rate,
                                     options_.beta1,
                                     options_.beta2,
                                     options_.eps,
                                     options_.weight_decay,
                                     correction(options_.beta1),
                                     correction(options_.beta2),
                                     gradient_scale};
    write(numbers_, numbers);
    runner_.run(update_);
    for (const TrainableModel::Entry& entry : model_.entries()) clear(entry.tensors.gradient);
}

}  // namespace toy
