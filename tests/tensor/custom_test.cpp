#include <atomic>
#include <set>
#include <vector>

#include "tensor/computation.h"

namespace toy::test {
namespace {

// out[i] = the sum of all operands' element i; each thread takes every nth.
void add_up(const CustomCall& call) {
    for (int64_t i = call.ith; i < call.out.layout.elements(); i += call.nth) {
        float sum = 0;
        for (const CustomCall::Array& in : call.in) sum += static_cast<const float*>(in.data)[i];
        static_cast<float*>(call.out.data)[i] = sum;
    }
}

TEST(CustomNode, RunsOnEveryThread) {
    for (int threads : {1, 2, 3, 7}) {
        std::array<std::atomic<int>, 8> calls{};
        std::atomic<int> wrong{0};
        Computation c;
        const Tensor x = c.random({100, 10}), y = c.random({100, 10});
        const Tensor z = custom("added", packed(DType::F32, {100, 10}), {x, y}, [&](const CustomCall& call) {
            ++calls[static_cast<size_t>(call.ith)];
            if (call.nth != threads || call.in.size() != 2) ++wrong;
            add_up(call);
        });
        const std::vector<float> result = c.result(z, threads);
        EXPECT_EQ(wrong, 0);
        for (int i = 0; i < 8; ++i) EXPECT_EQ(calls[static_cast<size_t>(i)], i < threads ? 1 : 0) << i;
        std::vector<double> expected = Computation::values_of(x);
        const std::vector<double> other = Computation::values_of(y);
        for (size_t i = 0; i < expected.size(); ++i) expected[i] += other[i];
        EXPECT_LT(largest_error(result, expected), 1e-6);
    }
}

TEST(CustomNode, SeesTheLayoutsOfItsOperands) {
    Computation c;
    const Tensor x = permute(c.random({3, 5}), {1, 0});
    const Tensor ids = c.indices({2}, {4, 1});
    std::vector<std::string> seen;
    const Tensor y = custom("seen", packed(DType::F32, {5}), {x, ids}, [&](const CustomCall& call) {
        for (const CustomCall::Array& in : call.in) seen.push_back(in.layout.describe());
        seen.push_back(call.out.layout.describe());
        for (int64_t i = 0; i < 5; ++i) {
            const auto* row =
                static_cast<const char*>(call.in[0].data) + static_cast<size_t>(i) * call.in[0].layout.nb[1];
            static_cast<float*>(call.out.data)[i] = *reinterpret_cast<const float*>(row);
        }
    });
    const std::vector<float> result = c.result(y);
    EXPECT_EQ(seen, (std::vector<std::string>{"f32 [5, 3]", "i32 [2]", "f32 [5]"}));
    const std::vector<float> rows = read_f32(x);
    for (size_t i = 0; i < 5; ++i) EXPECT_EQ(result[i], rows[i * 3]);
}

TEST(CustomNode, TakesNineOperandsAndNoMore) {
    Computation c;
    std::vector<Tensor> x;
    for (int i = 0; i < 10; ++i) x.push_back(c.input({4}, std::vector<float>(4, static_cast<float>(i))));
    const Layout out = packed(DType::F32, {4});
    const Tensor nine = custom("nine", out, {x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9]}, add_up);
    EXPECT_EQ(c.result(nine), std::vector<float>(4, 45.0f));
    Graph g;
    const Tensor y = g.input("y", DType::F32, {4});
    EXPECT_NE(error_of([&] {
                  custom("ten", out, {y, y, y, y, y, y, y, y, y, y}, add_up);
              }).find("a custom node has at most 9 operands, not 10"),
              std::string::npos);
    EXPECT_NE(error_of([&] {
                  custom("absent", out, {y, Tensor()}, add_up);
              }).find("operand 2 is absent"),
              std::string::npos);
    EXPECT_NE(error_of([&] { custom("none", out, {}, add_up); }).find("no operand belongs to a graph"),
              std::string::npos);
}

TEST(CustomNode, ItsResultCannotBeAView) {
    Graph g;
    const Tensor x = g.input("x", DType::F32, {4, 4});
    const Layout holes = slice(x, 1, 0, 2).layout();
    EXPECT_NE(error_of([&] { custom("holes", holes, {x}, add_up); }).find("is packed, not f32 [4, 2]"),
              std::string::npos);
}

}  // namespace
}  // namespace toy::test
