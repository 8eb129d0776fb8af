#include <benchmark/benchmark.h>

#include <vector>

#include "tensor/graph.h"
#include "tensor/ops.h"
#include "tensor/runner.h"
#include "tensor/transfer.h"

// Time of single operators, as one graph each, at sizes of language models. Run with --benchmark_filter=gelu and the
// like; threads are the last argument.

namespace toy {
namespace {

void elementwise(benchmark::State& state, Tensor (*op)(Operand)) {
    const int64_t rows = state.range(0), columns = state.range(1);
    Graph graph;
    const Tensor x = graph.input("x", DType::F32, {rows, columns});
    graph.output(op(x));
    graph.allocate(Device::cpu());
    std::vector<float> values(static_cast<size_t>(rows * columns));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000) / 100.0f - 5.0f;
    write(x, std::span<const float>(values));
    Runner runner(Device::cpu(), static_cast<int>(state.range(2)));
    for (auto _ : state) runner.run(graph);
    state.SetItemsProcessed(state.iterations() * rows * columns);
}

void sizes(benchmark::internal::Benchmark* benchmark) {
    for (int64_t threads : {1, 2}) benchmark->Args({1, 8192, threads})->Args({512, 8192, threads});
    benchmark->ArgNames({"rows", "columns", "threads"})->UseRealTime();
}

BENCHMARK_CAPTURE(elementwise, gelu, gelu)->Apply(sizes);
BENCHMARK_CAPTURE(elementwise, gelu_erf, gelu_erf)->Apply(sizes);
BENCHMARK_CAPTURE(elementwise, silu, silu)->Apply(sizes);
BENCHMARK_CAPTURE(elementwise, square, square)->Apply(sizes);
BENCHMARK_CAPTURE(elementwise, argsort, [](Operand x) { return argsort(x, true); })->Apply(sizes);
BENCHMARK_CAPTURE(elementwise, top_8, [](Operand x) { return top_k(x, 8); })->Apply(sizes);

}  // namespace
}  // namespace toy
