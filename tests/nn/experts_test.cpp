// Mixtures of experts against their definition in float64: every gate, with and without normalisation, scale, biases, a
// bias of the choice, a shared expert and its gate.
#include "nn/experts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/random.h"
#include "tensor/graph.h"
#include "tensor/params.h"
#include "tensor/runner.h"
#include "tensor/transfer.h"

namespace toy {
namespace {

constexpr int64_t k_tokens = 5, k_width = 16, k_count = 6, k_inner = 8, k_shared = 12, k_used = 3;

struct Case {
    Routing routing;
    bool has_bias, has_selection_bias, has_shared, has_shared_gate;
};

using Values = std::vector<double>;

/// Weights as tensors and as numbers.
class Model {
 public:
    explicit Model(const Case& c) : c_(c) {
        experts.routing = c.routing;
        experts.ffn_gate_inp = map("router", {k_count, k_width}, false);
        experts.ffn_gate_exps = map("gate", {k_count, k_inner, k_width}, c.has_bias);
        experts.ffn_up_exps = map("up", {k_count, k_inner, k_width}, c.has_bias);
        experts.ffn_down_exps = map("down", {k_count, k_width, k_inner}, c.has_bias);
        if (c.has_selection_bias) experts.exp_probs_b = add("selection", {k_count});
        if (c.has_shared) {
            experts.shared.ffn_gate = map("shared_gate", {k_shared, k_width}, false);
            experts.shared.ffn_up = map("shared_up", {k_shared, k_width}, false);
            experts.shared.ffn_down = map("shared_down", {k_width, k_shared}, false);
        }
        if (c.has_shared_gate) experts.ffn_gate_inp_shexp.weight = add("shexp", {k_width});
        params.allocate();
        for (const auto& [name, values] : numbers) {
            write(params.get(name), std::vector<float>(values.begin(), values.end()));
        }
    }

    /// One token by the definition.
    Values compute(const Values& x) const {
        const std::vector<std::pair<size_t, double>> chosen = choose(x);
        Values sum(k_width, 0.0);
        for (const auto& [e, weight] : chosen) {
            const Values gate = expert("gate", e, x, k_inner), up = expert("up", e, x, k_inner);
            const Values y = expert("down", e, gated(gate, up), k_width);
            for (size_t i = 0; i < sum.size(); ++i) sum[i] += weight * y[i];
        }
        if (!c_.has_shared) return sum;
        const Values inner = gated(times("shared_gate", 0, x, k_shared), times("shared_up", 0, x, k_shared));
        const Values y = times("shared_down", 0, inner, k_width);
        double scale = 1.0;
        if (c_.has_shared_gate) {
            const Values& w = numbers.at("shexp");
            scale = 1 / (1 + std::exp(-std::inner_product(x.begin(), x.end(), w.begin(), 0.0)));
        }
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += scale * y[i];
        return sum;
    }

    Experts experts;
    Params params{Device::cpu()};
    std::map<std::string, Values> numbers;

 private:
    Tensor add(const std::string& name, std::initializer_list<int64_t> dims) {
        const Tensor tensor = params.add(name, packed(DType::F32, dims));
        Values& values = numbers[name];
        for (int64_t i = 0; i < tensor.layout().elements(); ++i) {
            values.push_back(static_cast<double>(static_cast<float>(1.2 * random_.uniform() - 0.6)));
        }
        return tensor;
    }
    Linear map(const std::string& name, std::initializer_list<int64_t> dims, bool has_bias) {
        Linear linear;
        linear.weight = add(name, dims);
        if (has_bias) linear.bias = add(name + "_bias", {*dims.begin(), *(dims.begin() + 1)});
        return linear;
    }
    Values times(const std::string& name, size_t matrix, const Values& x, int64_t outputs) const {
        const Values& w = numbers.at(name);
        Values y;
        for (size_t n = 0; n < static_cast<size_t>(outputs); ++n) {
            const size_t row = (matrix * static_cast<size_t>(outputs) + n) * x.size();
            y.push_back(std::inner_product(x.begin(), x.end(), w.begin() + static_cast<std::ptrdiff_t>(row), 0.0));
        }
        return y;
    }
    Values expert(const std::string& name, size_t e, const Values& x, int64_t outputs) const {
        Values y = times(name, e, x, outputs);
        if (c_.has_bias) {
            for (size_t n = 0; n < y.size(); ++n) y[n] += numbers.at(name + "_bias")[e * y.size() + n];
        }
        return y;
    }
    static Values gated(const Values& gate, const Values& up) {
        Values y;
        for (size_t i = 0; i < gate.size(); ++i) y.push_back(gate[i] / (1 + std::exp(-gate[i])) * up[i]);
        return y;
    }
    std::vector<std::pair<size_t, double>> choose(const Values& x) const {
        const Values scores = times("router", 0, x, k_count);
        Values gates = scores;
        double total = 0;
        for (double s : scores) total += std::exp(s);
        for (double& g : gates) {
            if (c_.routing.gate == Routing::Gate::softmax) g = std::exp(g) / total;
            if (c_.routing.gate == Routing::Gate::sigmoid) g = 1 / (1 + std::exp(-g));
        }
        std::vector<size_t> order(k_count);
        std::iota(order.begin(), order.end(), 0);
        const auto rank = [&](size_t e) {
            return gates[e] + (c_.has_selection_bias ? numbers.at("selection")[e] : 0.0);
        };
        std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rank(a) > rank(b); });
        std::vector<std::pair<size_t, double>> chosen;
        double sum = 0;
        for (size_t i = 0; i < k_used; ++i) {
            const double gate = gates[order[i]];
            const double weight = c_.routing.gate == Routing::Gate::softmax_of_chosen ? std::exp(gate) : gate;
            chosen.emplace_back(order[i], weight);
            sum += weight;
        }
        const bool divides = c_.routing.is_normalised || c_.routing.gate == Routing::Gate::softmax_of_chosen;
        for (auto& [e, weight] : chosen) weight *= static_cast<double>(c_.routing.scale) / (divides ? sum : 1.0);
        return chosen;
    }

    Case c_;
    Random random_{7};
};

void expect_definition(const Case& c) {
    Model model(c);
    Random random(11);
    std::vector<float> input;
    for (int64_t i = 0; i < k_tokens * k_width; ++i) input.push_back(static_cast<float>(2 * random.uniform() - 1));
    Graph graph;
    const Tensor x = graph.input("x", DType::F32, {k_tokens, k_width});
    const Tensor y = experts(x, model.experts);
    graph.output(y);
    graph.allocate(Device::cpu());
    write(x, input);
    Runner runner(Device::cpu(), 2);
    runner.run(graph);
    const std::vector<float> values = read_f32(y);
    for (size_t t = 0; t < k_tokens; ++t) {
        const auto row = input.begin() + static_cast<std::ptrdiff_t>(t * k_width);
        const Values expected = model.compute(Values(row, row + k_width));
        for (size_t i = 0; i < k_width; ++i) {
            EXPECT_NEAR(values[t * k_width + i], expected[i], 2e-6) << "token " << t << ", element " << i;
        }
    }
}

TEST(Experts, ComputeWhatTheyAreDefinedAs) {
    using Gate = Routing::Gate;
    for (Gate gate : {Gate::softmax, Gate::sigmoid, Gate::softmax_of_chosen}) {
        for (int bits = 0; bits < 32; ++bits) {
            const auto is_on = [&](int bit) { return (bits >> bit & 1) != 0; };
            SCOPED_TRACE(fmt::format("gate {}, bits {:05b}", static_cast<int>(gate), bits));
            expect_definition(
                {{gate, k_used, is_on(0), is_on(1) ? 2.5f : 1.0f}, is_on(2), is_on(3), is_on(4), is_on(4)});
        }
    }
    expect_definition({{Gate::softmax, k_used, true, 1.0f}, false, false, true, false});
}

}  // namespace
}  // namespace toy
