// Graph::part, Params over memory of someone else, and contiguous rows of one element: what programs that decide late
// what they want, and bring their own memory, lean on.
#include <gtest/gtest.h>

#include "core/error.h"
#include "tensor/graph.h"
#include "tensor/ops.h"
#include "tensor/params.h"
#include "tensor/runner.h"
#include "tensor/transfer.h"

namespace toy {
namespace {

std::vector<std::string> operators(const Graph& graph) {
    std::vector<std::string> names;
    for (const Node& node : graph.nodes()) {
        if (node.op) names.emplace_back(node.op->name());
    }
    return names;
}

TEST(GraphPart, HoldsWhatIsWantedInTapeOrderAndNothingElse) {
    Params params(Device::cpu());
    const Tensor cache = params.add("cache", packed(DType::F32, {1}));
    params.allocate();
    Graph tape;
    const Tensor x = tape.input("x", DType::F32, {1});
    (void)silu(tape.input("unused", DType::F32, {1}));
    const Tensor before = tape.leaf(cache) * 2.0f;
    const Tensor write = copy_into(x, tape.leaf(cache));
    const Tensor after = relu(tape.leaf(cache));
    const Tensor result = concat(before, after, 0);
    tape.output(result);

    const Tensor wanted[] = {result, write};
    const Graph::Part part = tape.part(wanted);
    EXPECT_EQ(operators(*part.graph), (std::vector<std::string>{"scale", "copy", "relu", "concat"}));
    EXPECT_FALSE(part.graph->find("unused"));
    part.graph->allocate(Device::cpu());
    toy::write(part.graph->find("x"), std::vector<float>{7});
    Runner runner(Device::cpu(), 1);
    runner.run(*part.graph);
    const auto number = part.node_of[static_cast<size_t>(result.node())];
    EXPECT_EQ(read_f32(Tensor(part.graph.get(), number)), (std::vector<float>{0, 7}));

    const Graph::Part without_write = tape.part({&result, 1});
    EXPECT_EQ(operators(*without_write.graph), (std::vector<std::string>{"scale", "relu", "concat"}));
    EXPECT_FALSE(tape.is_allocated());
}

// An index limit comes from the uses in the part alone.
TEST(GraphPart, ChecksIndicesForItsOwnUses) {
    Params params(Device::cpu());
    const Tensor small = params.add("small", packed(DType::F32, {2, 1}));
    const Tensor large = params.add("large", packed(DType::F32, {9, 1}));
    params.allocate();
    Graph tape;
    const Tensor ids = tape.input("ids", DType::I32, {1});
    (void)get_rows(small, ids);
    const Tensor wanted = get_rows(large, ids);
    const Graph::Part part = tape.part({&wanted, 1});
    part.graph->allocate(Device::cpu());
    EXPECT_NO_THROW(write(part.graph->find("ids"), std::vector<int32_t>{8}));
    EXPECT_THROW(write(part.graph->find("ids"), std::vector<int32_t>{9}), Error);
}

TEST(Params, MapsMemoryOfSomeoneElse) {
    alignas(64) static const float memory[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const auto bytes = std::as_bytes(std::span(memory));
    Params params(Device::cpu());
    const Tensor aligned = params.map("aligned", packed(DType::F32, {2}), bytes, 32, nullptr);
    const Tensor shifted = params.map("shifted", packed(DType::F32, {2}), bytes, 4, nullptr);
    EXPECT_EQ(read_f32(aligned), (std::vector<float>{8, 9}));
    EXPECT_EQ(read_f32(shifted), (std::vector<float>{1, 2}));
    EXPECT_EQ(params.copied_for_alignment(), std::vector<std::string>{"shifted"});
    EXPECT_THROW(write(aligned, std::vector<float>{1, 2}), Error);
    EXPECT_THROW(params.map("beyond", packed(DType::F32, {2}), bytes, 60, nullptr), Error);
    // Memory that itself is not aligned is copied as well.
    EXPECT_EQ(read_f32(params.map("odd", packed(DType::F32, {2}), bytes.subspan(4), 32, nullptr)),
              (std::vector<float>{9, 10}));
}

// A row of one element is contiguous whatever its stride, but operators want packed rows.
TEST(Shape, ATransposedColumnBecomesPacked) {
    Graph graph;
    const Tensor x = graph.input("x", DType::F32, {1, 4});
    const Tensor column = transpose(x);  // [4, 1]
    EXPECT_TRUE(column.layout().has_packed_rows());
    const Tensor product = matmul(column, graph.input("y", DType::F32, {1, 1}));
    graph.output(product);
    graph.allocate(Device::cpu());
    write(x, std::vector<float>{1, 2, 3, 4});
    write(graph.find("y"), std::vector<float>{10});
    Runner runner(Device::cpu(), 1);
    runner.run(graph);
    EXPECT_EQ(read_f32(product), (std::vector<float>{10, 20, 30, 40}));
}

}  // namespace
}  // namespace toy
