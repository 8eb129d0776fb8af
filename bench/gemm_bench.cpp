// Dense products on one thread, on the shapes of a training step (a 12M GPT: 6 layers, 384 wide, 4096 tokens a step),
// each with its three products: forward x·wᵀ, input gradient dy·w, weight gradient dyᵀ·x; and the largest shapes of
// GPT-2 124M. Counters give GFLOP/s, and the share of what a loop of fused multiply-adds reaches (peak).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tensor/kernels/gemm.h"

namespace {

using toy::DType;
using toy::kernels::Matrix;
using toy::kernels::Product;

struct Shape {
    int64_t tokens, outputs, inputs;
};
constexpr Shape k_shapes[] = {{4096, 1152, 384}, {4096, 384, 384},  {4096, 1536, 384}, {4096, 384, 1536},
                              {1024, 4096, 384}, {1024, 3072, 768}, {83, 50304, 768}};

std::vector<float> random_values(int64_t n) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> values(static_cast<size_t>(n));
    for (float& v : values) v = uniform(random);
    return values;
}

enum Which { forward, input_gradient, weight_gradient };

void product(benchmark::State& state) {
    const Shape s = k_shapes[state.range(0)];
    const auto which = static_cast<Which>(state.range(1));
    const std::vector<float> w = random_values(s.outputs * s.inputs), x = random_values(s.tokens * s.inputs),
                             dy = random_values(s.tokens * s.outputs);
    std::vector<float> result(
        static_cast<size_t>(std::max({s.tokens * s.outputs, s.tokens * s.inputs, s.outputs * s.inputs})));
    const Matrix in{x.data(), s.inputs, false, DType::F32}, weight{w.data(), s.inputs, false, DType::F32},
        gradient{dy.data(), s.outputs, false, DType::F32};
    const auto turned = [](Matrix m) { return Matrix{m.data, m.stride, true, m.type}; };
    Product p{};
    p.c = result.data();
    p.c_type = DType::F32;
    switch (which) {
        case forward: p.m = s.tokens, p.n = s.outputs, p.k = s.inputs, p.a = in, p.b = turned(weight); break;
        case input_gradient: p.m = s.tokens, p.n = s.inputs, p.k = s.outputs, p.a = gradient, p.b = weight; break;
        case weight_gradient: p.m = s.outputs, p.n = s.inputs, p.k = s.tokens, p.a = turned(gradient), p.b = in; break;
    }
    p.c_stride = p.n;
    for (auto _ : state) {
        toy::kernels::multiply(p);
        benchmark::ClobberMemory();
    }
    const double operations = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
    state.counters["GFLOP/s"] = benchmark::Counter(operations * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
    const char* names[] = {"forward", "dx", "dw"};
    state.SetLabel(std::to_string(s.tokens) + " tokens, " + std::to_string(s.inputs) + " -> " +
                   std::to_string(s.outputs) + ", " + names[which]);
}
BENCHMARK(product)->ArgsProduct({{0, 1, 2, 3, 4, 5, 6}, {0, 1, 2}})->Unit(benchmark::kMillisecond);

// Tiles alone, operands in the first cache: what the innermost loop can reach on this machine.
void peak(benchmark::State& state) {
    constexpr int64_t k = 192;
    const auto tile = toy::kernels::tile_size();
    const std::vector<float> a = random_values(tile.rows * k), b = random_values(tile.columns * k);
    std::vector<float> c(static_cast<size_t>(tile.rows * tile.columns));
    Product p{};
    p.m = tile.rows;
    p.n = tile.columns;
    p.k = k;
    p.a = {a.data(), tile.rows, true, DType::F32};
    p.b = {b.data(), tile.columns, false, DType::F32};
    p.c = c.data();
    p.c_stride = tile.columns;
    p.c_type = DType::F32;
    for (auto _ : state) {
        toy::kernels::multiply(p);
        benchmark::ClobberMemory();
    }
    state.counters["GFLOP/s"] =
        benchmark::Counter(2e-9 * static_cast<double>(p.m * p.n * p.k), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(peak);

}  // namespace
