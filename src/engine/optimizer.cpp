#include "engine/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tensor/gradient_ops.h"
#include "tensor/transfer.h"

namespace toy {
namespace {

using Kind = OptimizerOptions::Kind;

bool is_muons(const TrainableModel::Entry& entry) {
    return entry.use != WeightEntry::Use::raw && entry.use != WeightEntry::Use::table && entry.name.starts_with("blk.");
}

// x / √(Σ x²) of each matrix of x [E, R, C].
Tensor normalised(Tensor x) {
    const int64_t count = x.dim(-3), rows = x.dim(-2), columns = x.dim(-1);
    const Tensor squares = sum_rows(reshape(square(x), {count, 1, rows * columns}));  // [E, 1, 1]
    return x / scale_bias(sqrt(squares), 1.0f, 1e-7f);
}

// The nearest matrix whose rows (or columns, if those are fewer) are orthonormal, about: five steps of a polynomial
// that brings all singular values near 1 (Jordan 2024; Bernstein and Newhouse, arXiv 2409.20325). x [E, R, C].
Tensor orthogonalised(Tensor x) {
    constexpr float a = 3.4445f, b = -4.7750f, c = 2.0315f;
    const bool is_tall = x.dim(-2) > x.dim(-1);
    x = normalised(x);
    for (int step = 0; step < 5; ++step) {
        const Tensor inner = is_tall ? gemm(x, true, x, false) : gemm(x, false, x, true);  // XᵀX or XXᵀ
        const Tensor polynomial = inner * b + gemm(inner, false, inner, false) * c;
        x = x * a + (is_tall ? gemm(x, false, polynomial, false) : gemm(polynomial, false, x, false));
    }
    return x;
}

}  // namespace

std::optional<Kind> optimizer_kind(std::string_view name) {
    if (name == "adamw") return Kind::adamw;
    if (name == "sgd") return Kind::sgd;
    if (name == "muon") return Kind::muon;
    return std::nullopt;
}

Optimizer::Optimizer(const TrainableModel& model, const OptimizerOptions& options, Runner& runner)
    : model_(model), options_(options), runner_(runner), moments_(runner.device()) {
    numbers_ = update_.input("numbers", DType::F32, {8});
    rate_ = update_.input("rate", DType::F32, {1});
    keep_ = update_.input("keep", DType::F32, {1});
    gradient_scale_ = update_.input("gradient scale", DType::F32, {1});
    for (const TrainableModel::Entry& entry : model.entries()) {
        squares_.push_back(sum_squares(norms_.leaf(entry.tensors.gradient)));
        norms_.output(squares_.back());
        add_update(entry);
    }
    moments_.allocate();
    for (Graph* graph : {&norms_, &update_}) {
        graph->set_kernels(true);
        graph->allocate(runner.device());
    }
}

void Optimizer::add_update(const TrainableModel::Entry& entry) {
    const Tensor gradient = update_.leaf(entry.tensors.gradient), weight = update_.leaf(entry.tensors.weight);
    const Layout& layout = weight.layout();
    const bool decays = entry.use != WeightEntry::Use::raw;
    const Tensor m = update_.leaf(moments_.add(entry.name + ".m", layout));
    const bool orthogonal = options_.kind == Kind::muon && is_muons(entry);
    if (options_.kind == Kind::adamw || (options_.kind == Kind::muon && !orthogonal)) {
        const Tensor v = moments_.add(entry.name + ".v", layout);
        adamw_update(weight, gradient, m, v, numbers_, decays);
        return;
    }
    const float momentum = orthogonal ? options_.muon_momentum : options_.beta1;
    const Tensor scaled = gradient * gradient_scale_;
    const Tensor mean = copy_into(m * momentum + scaled, m);
    Tensor change = mean;
    if (orthogonal) {
        const Tensor ahead = scaled + mean * momentum;  // Nesterov's
        const int64_t matrices = layout.ne[2], rows = layout.ne[1], columns = layout.ne[0];
        const float size = 0.2f * std::sqrt(static_cast<float>(std::max(rows, columns)));
        const Tensor whole = orthogonalised(reshape(ahead, {matrices, rows, columns})) * size;
        change = reshape(whole, {layout.ne[3], layout.ne[2], layout.ne[1], layout.ne[0]});
    }
    copy_into((decays ? weight * keep_ : weight) - change * rate_, weight);
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

std::vector<Tensor> Optimizer::moments() const {
    std::vector<Tensor> all;
    for (const Parameter& moment : moments_.all()) all.push_back(moments_.get(moment.name));
    return all;
}

void Optimizer::step(float rate, float gradient_scale) {
    const auto t = static_cast<double>(++steps_);
    const auto correction = [&](float beta) { return static_cast<float>(1.0 / (1.0 - std::pow(double{beta}, t))); };
    const OptimizerOptions& o = options_;
    write(numbers_, std::vector<float>{rate, o.beta1, o.beta2, o.eps, o.weight_decay, correction(o.beta1),
                                       correction(o.beta2), gradient_scale});
    const auto write_one = [](Tensor input, float value) { write(input, std::vector<float>{value}); };
    write_one(rate_, rate);
    write_one(keep_, 1.0f - rate * o.weight_decay);
    write_one(gradient_scale_, gradient_scale);
    runner_.run(update_);
    for (const TrainableModel::Entry& entry : model_.entries()) clear(entry.tensors.gradient);
}

}  // namespace toy
