#include <algorithm>
#include <cstring>

#include "tensor/computation.h"

namespace toy::test {
namespace {

// Types that operators write, and what one rounding to them costs at most, relative to the largest value of a block.
bool is_writable(DType type) {
    const std::string_view kind = name(type).substr(0, 3);
    return converts_to_f32(type) && type != DType::Q8_1 && type != DType::Q8_K && kind != "iq1" && kind != "iq2" &&
           kind != "iq3";
}

// What a host conversion makes of values: the reference for what operators write.
std::vector<double> rounded(const std::vector<float>& values, DType type, int64_t columns) {
    const std::vector<uint8_t> bytes = from_f32(type, values, columns);
    std::vector<float> back(values.size());
    to_f32(type, bytes.data(), back.data(), static_cast<int64_t>(values.size()));
    return {back.begin(), back.end()};
}

// The vector code of ggml's CPU kernels may round a value that lies between two codes to the other one: then a block
// of a low-bit type differs by one step.
double write_tolerance(DType type) {
    if (!is_quantized(type)) return 1e-7;
    return type == DType::Q8_0 ? 0.01 : 0.2;
}

TEST(GetRows, ReadsEveryType) {
    const std::vector<int32_t> ids = {3, 0, 3, 5};
    int types = 0;
    for (DType type : all_dtypes()) {
        if (!is_writable(type)) continue;
        ++types;
        Computation c;
        const std::vector<float> values = random_values(6 * 512, 5);
        const Tensor table = c.input(type, {6, 512}, values);
        const std::vector<float> result = c.result(get_rows(table, c.indices({4}, ids)), 2);
        const std::vector<double> all = rounded(values, type, 512);
        std::vector<double> expected;
        for (int32_t id : ids) expected.insert(expected.end(), all.begin() + id * 512, all.begin() + id * 512 + 512);
        EXPECT_EQ(largest_error(result, expected), 0) << name(type);
    }
    EXPECT_EQ(types, 21);
}

TEST(GetRows, HasBatchesAndTablesOfIntegers) {
    Computation c;
    const Tensor table = c.random({2, 3, 4});
    const std::vector<float> result = c.result(get_rows(table, c.indices({2, 2}, {2, 0, 1, 1})));
    const std::vector<double> values = Computation::values_of(table);
    std::vector<double> expected;
    for (size_t row : {2, 0, 4, 4}) expected.insert(expected.end(), &values[row * 4], &values[row * 4] + 4);
    EXPECT_EQ(largest_error(result, expected), 0);

    Computation integers;
    const Tensor names = integers.indices({3, 1}, {70, 80, 90});
    const Tensor chosen = get_rows(names, integers.indices({2}, {2, 0}));
    EXPECT_EQ(chosen.dtype(), DType::I32);
    EXPECT_EQ(integers.integers(chosen), (std::vector<int32_t>{90, 70}));
}

TEST(SetRows, WritesEveryType) {
    for (DType type : all_dtypes()) {
        if (!is_writable(type)) continue;
        for (const DType index_type : {DType::I32, DType::I64}) {
            Params params(Device::cpu());
            const Tensor table = params.add("table", packed(type, {2, 6, 256}));
            params.allocate();
            Graph g;
            const Tensor x = g.input("x", DType::F32, {2, 3, 256}), ids = g.input("ids", index_type, {3});
            const Tensor written = set_rows(table, x, ids);
            g.output(written);
            g.allocate(Device::cpu());
            const std::vector<float> values = random_values(2 * 3 * 256, 6);
            write(x, std::span<const float>(values));
            if (index_type == DType::I32) write(ids, std::vector<int32_t>{4, 0, 5});
            if (index_type == DType::I64) write(ids, std::vector<int64_t>{4, 0, 5});
            Runner(Device::cpu(), 2).run(g);
            const std::vector<double> new_rows = rounded(values, type, 256);
            std::vector<double> expected(2 * 6 * 256);
            for (size_t batch = 0; batch < 2; ++batch) {
                const size_t rows[] = {4, 0, 5};
                for (size_t i = 0; i < 3; ++i) {
                    std::copy_n(&new_rows[(batch * 3 + i) * 256], 256, &expected[(batch * 6 + rows[i]) * 256]);
                }
            }
            EXPECT_LE(largest_error(read_f32(table), expected), write_tolerance(type)) << name(type);
            EXPECT_EQ(read_f32(written), read_f32(table));
        }
    }
}

TEST(SetRows, IntoAViewWritesTheWholeTensor) {
    Computation c;
    const Tensor table = c.input({4, 6}, std::vector<float>(24, 0.0f));
    const Tensor left = slice(table, 1, 2, 3);
    const Tensor written = set_rows(left, c.input({1, 3}, {7, 8, 9}), c.indices({1}, {2}));
    EXPECT_EQ(c.result(written), (std::vector<float>{0, 0, 0, 0, 0, 0, 7, 8, 9, 0, 0, 0}));
    std::vector<float> expected(24, 0.0f);
    for (size_t i = 0; i < 3; ++i) expected[2 * 6 + 2 + i] = static_cast<float>(7 + i);
    EXPECT_EQ(read_f32(table), expected);
}

TEST(Cast, ConvertsBetweenFloatsAndIntoBlocks) {
    for (DType from : {DType::F32, DType::F16, DType::BF16}) {
        for (DType to : all_dtypes()) {
            if (!is_writable(to)) continue;
            for (int threads : {1, 3}) {
                Computation c;
                const Tensor x = slice(c.random({2, 6, 256}, 1.0f, from), 1, 1, 5);
                const Tensor y = cast(x, to);
                EXPECT_EQ(y.dtype(), to);
                const std::vector<float> result = c.result(y, threads);
                const std::vector<float> values = read_f32(x);
                EXPECT_LE(largest_error(result, rounded(values, to, 256)), write_tolerance(to))
                    << name(from) << " to " << name(to);
            }
        }
    }
}

TEST(Cast, ExpandsBlocksAndIntegers) {
    for (DType from : all_dtypes()) {
        if (!is_writable(from) || !is_quantized(from)) continue;
        Computation c;
        const std::vector<float> values = random_values(5 * 512, 8);
        const std::vector<float> result = c.result(cast(c.input(from, {5, 512}, values), DType::F32), 2);
        EXPECT_EQ(largest_error(result, rounded(values, from, 512)), 0) << name(from);
    }
    Computation c;
    EXPECT_EQ(c.result(cast(c.indices({4}, {-3, 0, 7, 16777216}), DType::F32)),
              (std::vector<float>{-3, 0, 7, 16777216}));
}

TEST(Cast, RefusesWhatHasNoKernel) {
    Graph g;
    const Tensor blocks = g.input("blocks", DType::Q8_0, {2, 32}), ids = g.input("ids", DType::I32, {2, 32});
    EXPECT_NE(error_of([&] { cast(blocks, DType::F16); }).find("q8_0 [2, 32] cannot become f16"), std::string::npos);
    EXPECT_NE(error_of([&] { cast(ids, DType::F16); }).find("i32 [2, 32] cannot become f16"), std::string::npos);
    EXPECT_NE(error_of([&] {
                  cast(slice(g.input("x", DType::F32, {2, 64}), 1, 0, 32), DType::IQ2_XS);
              }).find("not a whole"),
              std::string::npos);
}

TEST(Copy, FillsTargetsOfAnotherShapeAndLayout) {
    Computation c;
    const Tensor x = transpose(c.random({6, 4}));  // [4, 6]
    const Tensor room = c.input({3, 10}, std::vector<float>(30, -1.0f));
    const Tensor target = slice(room, 1, 1, 8);  // [3, 8], rows 10 apart
    const std::vector<float> result = c.result(copy_into(x, target), 2);
    EXPECT_EQ(result, read_f32(x));
    EXPECT_EQ(read_f32(room)[0], -1.0f);
    EXPECT_EQ(read_f32(room)[9], -1.0f);
    EXPECT_EQ(read_f32(room)[10], -1.0f);
}

TEST(Copy, QuantisesIntoACache) {
    Params params(Device::cpu());
    const Tensor cache = params.add("cache", packed(DType::Q8_0, {4, 64}));
    params.allocate();
    Graph g;
    const Tensor x = g.input("x", DType::F32, {1, 64});
    g.output(copy_into(x, slice(g.leaf(cache), 0, 2, 1)));
    g.allocate(Device::cpu());
    const std::vector<float> values = random_values(64, 9);
    write(x, std::span<const float>(values));
    Runner(Device::cpu(), 1).run(g);
    const std::vector<float> all = read_f32(cache);
    EXPECT_LT(largest_error({all.begin() + 128, all.begin() + 192}, {values.begin(), values.end()}), 0.01);
    EXPECT_EQ(std::count(all.begin(), all.end(), 0.0f),
              3 * 64 + std::count(all.begin() + 128, all.begin() + 192, 0.0f));
}

TEST(SetBlock, ReplacesABlockAndKeepsTheRest) {
    Computation c;
    const Tensor target = c.input({4, 5}, std::vector<float>(20, 0.0f));
    const Tensor y = set_block(target, c.input({2, 2}, {1, 2, 3, 4}), 5 * sizeof(float), (5 + 2) * sizeof(float));
    EXPECT_EQ(c.result(y, 2), (std::vector<float>{0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0}));
    const auto said = [&](size_t stride, size_t offset) {
        Graph g;
        const Tensor t = g.input("t", DType::F32, {4, 5}), x = g.input("x", DType::F32, {2, 2});
        return error_of([&] { set_block(t, x, stride, offset); });
    };
    EXPECT_EQ(said(20, 52), "no error");
    EXPECT_NE(said(20, 56).find("do not lie in f32 [4, 5]"), std::string::npos);
    EXPECT_NE(said(20, 2).find("do not lie in"), std::string::npos);
    EXPECT_NE(said(SIZE_MAX - 3, 0).find("is too far"), std::string::npos);
    EXPECT_NE(said(20, size_t{1} << 31).find("is too far"), std::string::npos);
}

// ---- row indices: wherever they come from, one outside the table is refused before ggml ends the process ----

TEST(RowIndices, OfAParameterAreCheckedWhenWrittenAndWhenAGraphUsesThem) {
    Params params(Device::cpu());
    const Tensor ids = params.add("ids", packed(DType::I32, {2})),
                 table = params.add("table", packed(DType::F32, {3, 4}));
    params.allocate();
    write(ids, std::vector<int32_t>{7, 0});
    Graph g;
    g.output(get_rows(g.leaf(table), ids));
    EXPECT_EQ(error_of([&] { g.allocate(Device::cpu()); }), "'ids'[0] is 7, but indices must lie in 0..2");
    EXPECT_EQ(error_of([&] { write(ids, std::vector<int32_t>{1, 3}); }), "'ids'[1] is 3, but indices must lie in 0..2");
    write(ids, std::vector<int32_t>{1, 2});
    EXPECT_EQ(error_of([&] { g.allocate(Device::cpu()); }), "no error");
}

TEST(RowIndices, AreFollowedThroughViewsAndJoins) {
    Computation c;
    const Tensor a = c.graph.input("a", DType::I32, {2, 3}), b = c.graph.input("b", DType::I32, {2, 3});
    const Tensor both = concat(a, b, 1);
    c.result(get_rows(c.random({5, 4}), reshape(both, {-1})));
    EXPECT_EQ(error_of([&] {
                  write(a, std::vector<int32_t>{0, 1, 2, 3, 4, 5});
              }),
              "'a'[5] is 5, but indices must lie in 0..4");
    EXPECT_EQ(error_of([&] {
                  write(b, std::vector<int32_t>{0, -1, 2, 3, 4, 4});
              }),
              "'b'[1] is -1, but indices must lie in 0..4");
    const int32_t one = 9;
    EXPECT_EQ(error_of([&] { write(b, std::as_bytes(std::span(&one, 1)), 4); }),
              "'b'[1] is 9, but indices must lie in 0..4");
    EXPECT_NE(error_of([&] { write(b, std::as_bytes(std::span(&one, 1)), 2); }).find("are written whole"),
              std::string::npos);
}

TEST(RowIndices, ThatOperatorsMakeMustFitTheTable) {
    Graph g;
    const Tensor x = g.input("x", DType::F32, {1, 8});
    const Tensor chosen = reshape(top_k(x, 2), {-1});
    EXPECT_NE(error_of([&] {
                  get_rows(g.input("short", DType::F32, {7, 4}), chosen);
              }).find("top_k gives indices up to 7, but there are 7 rows"),
              std::string::npos);
    EXPECT_EQ(error_of([&] { get_rows(g.input("long", DType::F32, {8, 4}), chosen); }), "no error");
}

TEST(RowIndices, CannotBeWrittenByAGraph) {
    Graph g;
    const Tensor ids = g.input("ids", DType::I32, {4}), table = g.input("table", DType::F32, {3, 4});
    const Tensor changed = set_block(ids, g.input("some", DType::I32, {2}), 8, 0);
    EXPECT_NE(error_of([&] { get_rows(table, changed); }).find("into which a graph writes"), std::string::npos);
    const Tensor others = g.input("others", DType::I32, {4});
    get_rows(table, others);
    EXPECT_NE(error_of([&] { set_block(others, g.input("more", DType::I32, {2}), 8, 0); }).find("holds row indices"),
              std::string::npos);
}

}  // namespace
}  // namespace toy::test
