#include "tensor/graph.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "tensor/ops.h"
#include "tensor/params.h"
#include "tensor/runner.h"
#include "tensor/transfer.h"

namespace toy {
namespace {

std::string error_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

TEST(Graph, ComputesAProductWithAParameter) {
    Params params(Device::cpu());
    const Tensor w = params.add("w", packed(DType::F32, {2, 3}));
    params.allocate();
    write(w, std::vector<float>{1, 2, 3, 4, 5, 6});
    Graph graph;
    const Tensor x = graph.input("x", DType::F32, {1, 3});
    const Tensor y = matmul(w, x);
    graph.output(y);
    graph.allocate(Device::cpu());
    write(x, std::vector<float>{1, 0, -1});
    Runner runner(Device::cpu(), 2);
    runner.run(graph);
    EXPECT_EQ(read_f32(y), (std::vector<float>{-2, -2}));
}

// Inputs lie outside the arena: an upload survives any number of runs, though later nodes reuse memory.
TEST(Graph, AnInputSurvivesRuns) {
    Graph graph;
    const Tensor x = graph.input("x", DType::F32, {64});
    Tensor y = x;
    for (int i = 0; i < 10; ++i) y = scale_bias(y, 2.0f, 1.0f);
    graph.output(y);
    graph.allocate(Device::cpu());
    write(x, std::vector<float>(64, 1.0f));
    Runner runner(Device::cpu(), 1);
    runner.run(graph);
    const std::vector<float> first = read_f32(y);
    for (int i = 0; i < 5; ++i) runner.run(graph);
    EXPECT_EQ(read_f32(y), first);
    EXPECT_EQ(first[0], 2047.0f);
}

TEST(Graph, ATracedGraphNeedsNoDevice) {
    Params params(Device::cpu());
    const Tensor table = params.add("token_embd.weight", packed(DType::Q8_0, {1000, 64}));
    Graph graph;
    const Tensor ids = graph.input("ids", DType::I32, {7});
    const Scope scope(graph, "embed");
    const Tensor x = rms_norm(get_rows(table, ids), {}, 1e-5f);
    EXPECT_EQ(x.layout().describe(), "f32 [7, 64]");
    const Node& node = graph.node(x);
    EXPECT_EQ(node.op->name(), "rms_norm");
    EXPECT_EQ(node.scope, "embed");
    EXPECT_STREQ(node.where.function_name(), __PRETTY_FUNCTION__);
}

TEST(Graph, AWrongShapeIsOneSentenceThatNamesTheOperatorAndTheLine) {
    Graph graph;
    const Tensor x = graph.input("x", DType::F32, {2, 3});
    const Tensor y = graph.input("y", DType::F32, {2, 4});
    const auto add = [&] {
        const Scope scope(graph, "blk.0");
        (void)(x + y);
    };
    const std::string said = error_of(add);
    EXPECT_NE(said.find("in blk.0: [2, 4] cannot be repeated to [2, 3]"), std::string::npos) << said;
    EXPECT_EQ(said.find("add at graph_test.cpp:"), 0u) << said;
}

TEST(Graph, RowIndicesAreCheckedWhereTheHostWritesThem) {
    Params params(Device::cpu());
    const Tensor table = params.add("table", packed(DType::F32, {5, 4}));
    params.allocate();
    Graph graph;
    const Tensor ids = graph.input("ids", DType::I32, {2});
    graph.output(get_rows(table, ids));
    graph.allocate(Device::cpu());
    EXPECT_EQ(error_of([&] { write(ids, std::vector<int32_t>{0, 5}); }), "'ids'[1] is 5, but indices must lie in 0..4");
    EXPECT_EQ(error_of([&] {
                  write(ids, std::vector<int32_t>{-1, 0});
              }),
              "'ids'[0] is -1, but indices must lie in 0..4");
    EXPECT_EQ(error_of([&] { write(ids, std::vector<int32_t>{4, 0}); }), "no error");
}

TEST(Graph, SharedParametersAreWrittenByOneGraphAndReadByAnother) {
    Params params(Device::cpu());
    const Tensor cache = params.add("cache", packed(DType::F32, {4, 2}));
    params.allocate();
    Graph writer;
    const Tensor rows = writer.input("rows", DType::I64, {1});
    const Tensor x = writer.input("x", DType::F32, {1, 2});
    writer.output(set_rows(cache, x, rows));
    writer.allocate(Device::cpu());
    Graph reader;
    const Tensor total = sum_rows(reader.leaf(cache));
    reader.output(total);
    reader.allocate(Device::cpu());
    Runner runner(Device::cpu(), 1);
    write(rows, std::vector<int64_t>{2});
    write(x, std::vector<float>{3, 4});
    runner.run(writer);
    runner.run(reader);
    EXPECT_EQ(read_f32(total), (std::vector<float>{0, 0, 7, 0}));
}

TEST(Graph, ATapSeesValuesAndChangesNothing) {
    Graph graph;
    const Tensor x = graph.input("x", DType::F32, {8, 16});
    const Tensor h = graph.name(rms_norm(x, {}, 1e-6f), "h");
    const Tensor y = silu(h * 3.0f);
    graph.output(y);
    graph.allocate(Device::cpu());
    std::vector<float> values(128);
    for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
    write(x, values);
    Runner runner(Device::cpu(), 2);
    runner.run(graph);
    const std::vector<float> plain = read_f32(y);
    Statistics seen;
    runner.run(graph, {{graph.find("h"), [&](Tensor t) { seen = statistics(t); }}});
    EXPECT_EQ(read_f32(y), plain);
    EXPECT_EQ(seen.count, 128);
    EXPECT_NEAR(seen.l2, std::sqrt(128.0), 1e-3);
}

TEST(Device, AnAbsentOneIsAnErrorThatListsWhatThereIs) {
    EXPECT_EQ(error_of([] { Device::open("cuda:7"); }), "there is no device 'cuda:7' here: choose from cpu");
}

TEST(Params, AMissingNameIsNamed) {
    Params params(Device::cpu());
    EXPECT_EQ(error_of([&] { params.get("blk.0.attn_q.weight"); }), "there is no tensor named 'blk.0.attn_q.weight'");
    params.add("w", packed(DType::F32, {1}));
    EXPECT_EQ(error_of([&] { params.add("w", packed(DType::F32, {1})); }), "there is already a tensor named 'w'");
}

}  // namespace
}  // namespace toy
