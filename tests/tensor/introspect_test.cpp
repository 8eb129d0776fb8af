#include "tensor/introspect.h"

#include "tensor/computation.h"

namespace toy::test {
namespace {

TEST(Introspection, ShowsATracedGraph) {
    Params params(Device::cpu());
    const Tensor table = params.add("token_embd.weight", packed(DType::Q8_0, {100, 64}));
    Graph g;
    const Tensor ids = g.input("ids", DType::I32, {7});
    const Tensor x = get_rows(table, ids);
    Tensor h;
    {
        const Scope block(g, "blk.3");
        const Scope attention(g, "attention");
        h = g.name(rms_norm(x, {}, 1e-5f), "h");
    }
    const Tensor last = slice(h, 0, 6, 1);
    const int line = __LINE__ - 1;
    g.output(last);
    const std::vector<NodeInfo> nodes = describe(g);
    ASSERT_EQ(nodes.size(), 5u);
    for (size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(nodes[i].number, static_cast<int32_t>(i));
    EXPECT_EQ(nodes[0].kind, Node::Kind::input);
    EXPECT_EQ(nodes[0].name, "ids");
    EXPECT_EQ(nodes[1].kind, Node::Kind::parameter);
    EXPECT_EQ(nodes[1].layout.describe(), "q8_0 [100, 64]");
    EXPECT_EQ(nodes[2].op, "get_rows");
    EXPECT_EQ(nodes[2].sources, (std::vector<int32_t>{1, 0}));
    EXPECT_EQ(nodes[3].op, "rms_norm");
    EXPECT_EQ(nodes[3].name, "h");
    EXPECT_EQ(nodes[3].scope, "blk.3/attention");
    EXPECT_EQ(nodes[3].lowered_op, "");
    EXPECT_EQ(nodes[4].base, 3);
    EXPECT_TRUE(nodes[4].is_output);
    EXPECT_EQ(nodes[4].where, fmt::format("introspect_test.cpp:{}", line));
}

TEST(Introspection, TextHasALinePerNode) {
    Graph g;
    const Tensor x = g.input("x", DType::F32, {2, 4});
    g.output(softmax(x));
    const int line = __LINE__ - 1;
    EXPECT_EQ(to_text(g), fmt::format("%0 = input f32 [2, 4] 'x'\n"
                                      "%1 = softmax(%0, absent) f32 [2, 4], introspect_test.cpp:{}, output\n",
                                      line));
}

TEST(Introspection, AnAllocatedGraphTellsWhatItBecame) {
    Computation c;
    const Tensor x = c.random({2, 4});
    c.result(gelu(silu(x)));
    const std::vector<NodeInfo> nodes = describe(c.graph);
    EXPECT_EQ(nodes[0].lowered_op, "");
    EXPECT_EQ(nodes[1].lowered_op, "SILU");
    EXPECT_EQ(nodes[2].lowered_op, "CUSTOM");  // ggml's own goes through a table of float16 values
}

}  // namespace
}  // namespace toy::test
