#include <algorithm>
#include <limits>

#include "tensor/computation.h"

namespace toy::test {
namespace {

std::vector<float> counted(int64_t n) {
    std::vector<float> values;
    for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<float>(i));
    return values;
}

TEST(Shapes, ViewsShowTheElementsTheyName) {
    Computation c;
    const Tensor x = c.input({2, 3, 4}, counted(24));
    const Tensor turned = permute(x, {2, 0, 1});  // [4, 2, 3]: y[i][j][k] = x[j][k][i]
    const Tensor part = slice(turned, -1, 1, 2);
    const Tensor flat = reshape(contiguous(part), {4, -1});
    EXPECT_EQ(turned.layout().describe(), "f32 [4, 2, 3]");
    EXPECT_EQ(flat.layout().describe(), "f32 [4, 4]");
    const std::vector<float> result = c.result(flat, 2);
    std::vector<float> expected;
    for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 2; ++j) {
            for (int k = 1; k < 3; ++k) expected.push_back(static_cast<float>(j * 12 + k * 4 + i));
        }
    }
    EXPECT_EQ(result, expected);
    EXPECT_EQ(read_f32(part), expected);
}

TEST(Shapes, TransposeExchangesTheLastTwoAxes) {
    Computation c;
    const Tensor x = c.input({2, 2, 3}, counted(12));
    EXPECT_EQ(c.result(transpose(x), 3), (std::vector<float>{0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11}));
}

TEST(Shapes, HeadsAreCutFromSlicesAndMerged) {
    Computation c;
    const Tensor x = c.input({2, 10}, counted(20));
    const Tensor q = heads(slice(x, 1, 2, 6), 3);
    EXPECT_EQ(q.layout().describe(), "f32 [2, 3, 2]");
    const Tensor merged = merge_heads(contiguous(permute(q, {1, 0, 2})));  // [3, 2, 2] -> [3, 4]
    EXPECT_EQ(c.result(merged), (std::vector<float>{2, 3, 12, 13, 4, 5, 14, 15, 6, 7, 16, 17}));
}

TEST(Shapes, SplitPartsAddUpToTheRow) {
    Computation c;
    const Tensor x = c.input({2, 5}, counted(10));
    const std::vector<Tensor> parts = split(x, {2, 3});
    c.graph.output(parts[0]);
    EXPECT_EQ(c.result(contiguous(parts[1])), (std::vector<float>{2, 3, 4, 7, 8, 9}));
    EXPECT_EQ(read_f32(parts[0]), (std::vector<float>{0, 1, 5, 6}));
    EXPECT_EQ(error_of([&] { split(x, {2, 2}); }), "parts of 2, 2 leave 1 of the 5 in a row");
    EXPECT_EQ(error_of([&] { split(x, {2, 4}); }), "a row of 5 has no parts of 2, 4");
    EXPECT_EQ(error_of([&] { split(x, {6, -1}); }), "a row of 5 has no parts of 6, -1");
    EXPECT_EQ(error_of([&] { split(x, {INT64_MAX, INT64_MAX}); }).substr(0, 26), "a row of 5 has no parts of");
}

TEST(Shapes, ConcatJoinsAlongEachAxisAndType) {
    for (int axis = 0; axis < 3; ++axis) {
        Computation c;
        const Tensor x = c.random({2, 3, 4});
        const Tensor y = axis == 0 ? c.random({5, 3, 4}) : axis == 1 ? c.random({2, 5, 4}) : c.random({2, 3, 5});
        const Tensor joined = concat(x, y, axis);
        EXPECT_EQ(joined.dim(axis), 5 + x.dim(axis));
        const std::vector<float> result = c.result(joined, 3);
        const std::vector<float> xv = read_f32(x), yv = read_f32(y);
        // Element (i, j, k) of the result comes from x before x's length along the axis, from y after it.
        for (int64_t i = 0; i < joined.dim(0); ++i) {
            for (int64_t j = 0; j < joined.dim(1); ++j) {
                for (int64_t k = 0; k < joined.dim(2); ++k) {
                    std::array<int64_t, 3> at{i, j, k};
                    const bool in_x = at[static_cast<size_t>(axis)] < x.dim(axis);
                    if (!in_x) at[static_cast<size_t>(axis)] -= x.dim(axis);
                    const Tensor& from = in_x ? x : y;
                    const int64_t index = (at[0] * from.dim(1) + at[1]) * from.dim(2) + at[2];
                    const auto place = static_cast<size_t>((i * joined.dim(1) + j) * joined.dim(2) + k);
                    ASSERT_EQ(result[place], (in_x ? xv : yv)[static_cast<size_t>(index)]);
                }
            }
        }
    }
    Computation c;
    const Tensor x = c.random({1, 64}, 1.0f, DType::Q8_0), y = c.random({2, 64}, 1.0f, DType::Q8_0);
    std::vector<float> expected;
    const std::vector<float> result = c.result(concat(x, y, 0));
    for (const Tensor& part : {x, y}) {
        const std::vector<float> values = read_f32(part);
        expected.insert(expected.end(), values.begin(), values.end());
    }
    EXPECT_EQ(result, expected);
}

TEST(Shapes, RepeatFillsTheShapeOfAnother) {
    Computation c;
    const Tensor x = c.input({2, 1, 2}, {1, 2, 3, 4});
    const Tensor like = c.random({2, 2, 4});
    EXPECT_EQ(c.result(repeat(x, like)), (std::vector<float>{1, 2, 1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4, 3, 4}));
}

TEST(Shapes, ByteViewsReachWhatTheyNameAndNoFurther) {
    Computation c;
    const Tensor x = c.input({4, 6}, counted(24));
    const Tensor view = byte_view(x, {2, 3}, {6 * sizeof(float)}, (6 + 2) * sizeof(float));
    EXPECT_EQ(c.result(contiguous(view)), (std::vector<float>{8, 9, 14, 15, 20, 21}));
    const auto said = [&](const std::vector<int64_t>& ne, const std::vector<size_t>& strides, size_t offset) {
        Graph g;
        const Tensor t = g.input("t", DType::F32, {4, 6});
        return error_of([&] { byte_view(t, ne, strides, offset); });
    };
    EXPECT_EQ(said({6, 4}, {24}, 0), "no error");
    EXPECT_NE(said({6, 4}, {24}, 4).find("reaches beyond f32 [4, 6]"), std::string::npos);
    EXPECT_NE(said({6, 5}, {24}, 0).find("reaches beyond"), std::string::npos);
    EXPECT_NE(said({6, 2}, {20}, 0).find("overlaps itself"), std::string::npos);
    EXPECT_NE(said({6, 2}, {24}, 2).find("cannot cut through the blocks"), std::string::npos);
    EXPECT_NE(said({6, 2}, {26}, 0).find("cannot cut through the blocks"), std::string::npos);
    EXPECT_NE(said({2, 3}, {SIZE_MAX - 7}, 0).find("reaches beyond"), std::string::npos);
    EXPECT_NE(said({2}, {}, SIZE_MAX - 3).find("reaches beyond"), std::string::npos);
    EXPECT_NE(said({INT64_MAX}, {}, 0).find("reaches beyond"), std::string::npos);
    EXPECT_NE(said({0, 2}, {24}, 0).find("cannot be cut"), std::string::npos);
    EXPECT_NE(said({-4, 2}, {24}, 0).find("cannot be cut"), std::string::npos);
    EXPECT_NE(said({2, 2}, {24, 24}, 0).find("make no view"), std::string::npos);
}

// One token: the axis of length 1 may have any stride after a permutation, which must not look like a hole to ggml.
TEST(Shapes, APermutedSingleTokenCountsAsPacked) {
    Computation c;
    const Tensor x = c.input({1, 3, 4}, counted(12));
    const Tensor turned = permute(x, {1, 0, 2});  // [3, 1, 4]
    EXPECT_TRUE(turned.layout().is_contiguous());
    std::vector<float> expected = counted(12);
    for (float& value : expected) value *= 2.0f;
    EXPECT_EQ(c.result(turned * 2.0f, 2), expected);
}

TEST(Shapes, ReshapesKeepTheNumberOfElements) {
    Graph g;
    const Tensor x = g.input("x", DType::F32, {4, 6});
    EXPECT_EQ(reshape(x, {2, -1, 3}).layout().describe(), "f32 [2, 4, 3]");
    for (const int64_t odd : {int64_t{0}, int64_t{-2}, int64_t{5}, int64_t{25}, INT64_MAX, INT64_MIN}) {
        EXPECT_NE(error_of([&] { reshape(x, {odd, -1}); }), "no error") << odd;
        EXPECT_NE(error_of([&] { reshape(x, {odd, 2}); }), "no error") << odd;
    }
    EXPECT_NE(error_of([&] { reshape(x, {INT64_MAX, INT64_MAX, 2}); }), "no error");
}

// lcpp#26318: sizes near 2^64 wrapped when the allocator padded them.
TEST(Sizes, NearTheEndOf64BitsAreRefused) {
    const int64_t huge = int64_t{1} << 62;
    EXPECT_NE(error_of([&] { packed(DType::F32, {huge}); }).find("larger than memory"), std::string::npos);
    EXPECT_NE(error_of([&] { packed(DType::I8, {INT64_MAX}); }).find("larger than memory"), std::string::npos);
    EXPECT_NE(error_of([&] { packed(DType::F32, {huge, huge, 0}); }).find("larger than memory"), std::string::npos);
    EXPECT_NE(error_of([&] { packed(DType::F32, {0, huge, huge}); }).find("larger than memory"), std::string::npos);
    EXPECT_NE(error_of([&] { packed(DType::F32, {-1, 4}); }).find("cannot have the shape [-1, 4]"), std::string::npos);
    EXPECT_NE(error_of([&] { packed(DType::F32, {2, 2, 2, 2, 2}); }).find("1 to 4 axes"), std::string::npos);
}

TEST(Sizes, ThatAddUpToMoreThan64BitsAreRefused) {
    Params params(Device::cpu());
    for (int i = 0; i < 4; ++i) params.add(std::to_string(i), packed(DType::I8, {int64_t{1} << 62}));
    EXPECT_EQ(error_of([&] { params.allocate(); }), "the tensors are larger than memory");
    Graph g;
    for (int i = 0; i < 4; ++i) g.input(std::to_string(i), DType::I8, {int64_t{1} << 62});
    EXPECT_EQ(error_of([&] { g.allocate(Device::cpu()); }), "the tensors are larger than memory");
}

TEST(Sizes, BeyondTheDevicesMemoryAreRefusedBeforeTheyAreAskedFor) {
    Params params(Device::cpu());
    params.add("w", packed(DType::I8, {int64_t{1} << 50}));
    EXPECT_NE(error_of([&] { params.allocate(); }).find("but tensors need 1125899906842624"), std::string::npos);
    Graph g;
    g.input("x", DType::I8, {int64_t{1} << 50});
    EXPECT_NE(error_of([&] { g.allocate(Device::cpu()); }).find("but inputs need 1125899906842624"), std::string::npos);
}

TEST(Operands, AbsentAndEmptyOnesAreNamed) {
    Graph g;
    const Tensor x = g.input("x", DType::F32, {2, 4}), nothing = g.input("nothing", DType::F32, {0, 4});
    const auto said = [](const std::function<void()>& call) {
        const std::string text = error_of(call);
        return text.substr(std::min(text.size(), text.find(": ") + 2));
    };
    EXPECT_EQ(said([&] { (void)(x + Tensor()); }), "operand 2 is absent");
    EXPECT_EQ(said([&] { matmul(Tensor(), x); }), "operand 1 is absent");
    EXPECT_EQ(said([&] { (void)(x + nothing); }), "operand 2 has no elements: [0, 4]");
    Graph other;
    EXPECT_NE(error_of([&] {
                  (void)(x + other.input("y", DType::F32, {2, 4}));
              }).find("different graphs"),
              std::string::npos);
}

}  // namespace
}  // namespace toy::test
