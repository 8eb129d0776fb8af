// Whether a repacked copy of a weight pays: a product of a 2048 x 2048 matrix with 1 and with 128 rows, from the file's
// layout and from the repacked one, on one thread. engine/inference.cpp repacks the types for which this table says so.
#include <benchmark/benchmark.h>

#include "core/random.h"
#include "tensor/graph.h"
#include "tensor/ops.h"
#include "tensor/params.h"
#include "tensor/repack.h"
#include "tensor/runner.h"
#include "tensor/transfer.h"

namespace toy {
namespace {

constexpr int64_t k_size = 2048;

void product(benchmark::State& state, DType type, bool repack) {
    const int64_t rows = state.range(0);
    Random random(1);
    std::vector<float> values(static_cast<size_t>(k_size * k_size));
    for (float& value : values) value = static_cast<float>(2 * random.uniform() - 1);
    Params params(Device::cpu());
    const Tensor w = params.add("w", packed(type, {k_size, k_size}));
    params.allocate();
    write_f32(w, values);
    RepackedWeights repacked(Device::cpu());
    if (repack) repacked.add({w}, 1);
    if (repack && repacked.count() == 0) return state.SkipWithError("this CPU has no such layout");
    Graph graph;
    const Tensor x = graph.input("x", DType::F32, {rows, k_size});
    graph.output(matmul(w, x));
    graph.allocate(Device::cpu(), &repacked);
    write(x, std::span<const float>(values).first(static_cast<size_t>(rows * k_size)));
    Runner runner(Device::cpu(), 1);
    for (auto _ : state) runner.run(graph);
    state.counters["flop/s"] = benchmark::Counter(2.0 * k_size * k_size * static_cast<double>(rows),
                                                  benchmark::Counter::kIsIterationInvariantRate);
}

[[maybe_unused]] const bool k_registered = [] {
    for (DType type : {DType::Q4_0, DType::Q4_K, DType::IQ4_NL, DType::Q2_K, DType::Q5_K, DType::Q8_0}) {
        for (bool repack : {false, true}) {
            const std::string name = std::string(toy::name(type)) + (repack ? "/repacked" : "/as_in_file");
            benchmark::RegisterBenchmark(name.c_str(), product, type, repack)->Arg(1)->Arg(128);
        }
    }
    return true;
}();

}  // namespace
}  // namespace toy
