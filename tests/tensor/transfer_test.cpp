#include <algorithm>
#include <limits>

#include "tensor/computation.h"

namespace toy::test {
namespace {

bool is_writable(DType type) {
    const std::string_view kind = name(type).substr(0, 3);
    return converts_to_f32(type) && type != DType::Q8_1 && type != DType::Q8_K && kind != "iq1" && kind != "iq2" &&
           kind != "iq3";
}

struct Stored {
    Params params{Device::cpu()};
    Tensor add(DType type, std::initializer_list<int64_t> dims) {
        const Tensor tensor = params.add(fmt::format("t{}", params.all().size()), packed(type, dims));
        params.allocate();
        return tensor;
    }
};

TEST(Transfer, BytesOfEveryTypeComeBack) {
    for (DType type : all_dtypes()) {
        Stored stored;
        const Tensor tensor = stored.add(type, {3, 512});
        std::vector<std::byte> bytes(tensor.layout().bytes()), back(bytes.size());
        for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37);
        write(tensor, bytes);
        read(tensor, back);
        EXPECT_EQ(back, bytes) << name(type);
        const size_t part = block_bytes(type);
        write(tensor, std::span(bytes).first(part), 2 * part);
        read(tensor, std::span(back).first(part), 2 * part);
        EXPECT_TRUE(std::equal(back.begin(), back.begin() + static_cast<ptrdiff_t>(part), bytes.begin())) << name(type);
    }
}

TEST(Transfer, FloatsOfEveryTypeAreConvertedAsByTheHost) {
    for (DType type : all_dtypes()) {
        if (!is_writable(type)) continue;
        Stored stored;
        const Tensor tensor = stored.add(type, {2, 3, 512});
        const std::vector<float> values = random_values(2 * 3 * 512, 4);
        write_f32(tensor, values);
        const std::vector<uint8_t> bytes = from_f32(type, values, 512);
        std::vector<float> expected(values.size());
        to_f32(type, bytes.data(), expected.data(), static_cast<int64_t>(values.size()));
        const std::vector<float> last(expected.begin() + 4 * 512, expected.end());
        const std::vector<float> first(expected.begin(), expected.begin() + 512);
        EXPECT_EQ(read_f32(tensor), expected) << name(type);
        EXPECT_EQ(read_rows_f32(tensor, 4, 2), last) << name(type);
        write_f32(tensor, std::span(values).first(512), 5);
        EXPECT_EQ(read_rows_f32(tensor, 5, 1), first) << name(type);
    }
}

TEST(Transfer, IntegersComeBack) {
    Stored stored;
    const Tensor small = stored.add(DType::I32, {2, 2}), large = stored.add(DType::I64, {3});
    write(small, std::vector<int32_t>{1, -2, 16777216, INT32_MIN});
    write(large, std::vector<int64_t>{0, -7, 1 << 24});
    EXPECT_EQ(read_i32(small), (std::vector<int32_t>{1, -2, 16777216, INT32_MIN}));
    EXPECT_EQ(read_f32(small), (std::vector<float>{1, -2, 16777216, -2147483648.0f}));
    EXPECT_EQ(read_f32(large), (std::vector<float>{0, -7, 16777216}));
}

// Conversions go through buffers of 2^18 floats: sizes around it, rows that divide it and rows longer than it.
TEST(Transfer, CrossesTheBordersOfItsChunks) {
    const std::vector<std::pair<int64_t, int64_t>> sizes = {{1, 262144},     {2, 262144 + 32}, {1, 262144 - 32},
                                                            {1024 + 1, 256}, {2000, 288},      {3, 2 * 262144 + 64}};
    for (const auto& [rows, columns] : sizes) {
        Stored stored;
        const Tensor tensor = stored.add(DType::F16, {rows, columns}),
                     blocks = stored.add(DType::Q8_0, {rows, columns});
        std::vector<float> values(static_cast<size_t>(rows * columns));
        for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 2048) - 1024.0f;
        write_f32(tensor, values);
        EXPECT_EQ(read_f32(tensor), values);
        write_f32(blocks, values);
        const std::vector<float> back = read_f32(blocks);
        for (size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(back[i], values[i], 5.0f) << i;
    }
}

TEST(Transfer, ViewsOfAnyLayoutAreReadAndWritten) {
    Computation c;
    const Tensor x = c.input({3, 4, 6}, std::vector<float>(72, -1.0f));
    const Tensor turned = permute(x, {2, 0, 1});  // elements far apart
    const Tensor part = slice(x, 1, 1, 2);        // rows with holes between
    const Tensor blocks = c.input(DType::Q8_0, {4, 64}, random_values(256, 3));
    const Tensor half = slice(blocks, 1, 32, 32);  // part of each row of blocks
    c.graph.output(contiguous(half));
    c.graph.output(contiguous(part));
    c.result(contiguous(turned));
    std::vector<float> values(72);
    for (size_t i = 0; i < 72; ++i) values[i] = static_cast<float>(i);
    write_f32(turned, values);
    EXPECT_EQ(read_f32(turned), values);
    EXPECT_EQ(read_rows_f32(turned, 5, 2), std::vector<float>(values.begin() + 20, values.begin() + 28));
    const std::vector<float> all = read_f32(x);
    for (size_t i = 0; i < 72; ++i) EXPECT_EQ(all[i], static_cast<float>(i % 6 * 12 + i / 6)) << i;
    write_f32(part, std::vector<float>(12, 100.0f), 2);  // rows 2 and 3 of the view: of x's second block
    const std::vector<float> after = read_f32(x);
    for (size_t i = 0; i < 72; ++i) EXPECT_EQ(after[i], i >= 30 && i < 42 ? 100.0f : all[i]) << i;
    const std::vector<float> row = read_f32(blocks);
    EXPECT_EQ(read_rows_f32(half, 1, 1), std::vector<float>(row.begin() + 96, row.begin() + 128));
    std::vector<std::byte> bytes(4);
    EXPECT_EQ(error_of([&] { write(part, bytes); }), "a tensor is not packed: write it by rows");
    EXPECT_EQ(error_of([&] { read(part, bytes); }), "a tensor is not packed: read it by rows");
}

TEST(Transfer, RefusesWhatDoesNotFit) {
    Stored stored;
    const Tensor w = stored.add(DType::F32, {2, 3}), ids = stored.add(DType::I32, {2, 3});
    const std::vector<float> values(6);
    const auto bytes = std::as_bytes(std::span(values));
    EXPECT_EQ(error_of([&] { write(w, bytes, 4); }), "24 bytes at offset 4 do not fit 't0' of 24 bytes");
    EXPECT_NE(error_of([&] { write(w, bytes, SIZE_MAX - 3); }).find("do not fit 't0'"), std::string::npos);
    EXPECT_EQ(error_of([&] { write(w, std::vector<float>(5)); }), "'t0' holds 6 values, not 5");
    EXPECT_EQ(error_of([&] { write(w, std::vector<int32_t>(6)); }), "'t0' holds f32, not i32");
    EXPECT_EQ(error_of([&] { write_f32(w, std::vector<float>(4)); }), "4 values are not whole rows of 3");
    for (const int64_t first : {int64_t{1}, int64_t{-1}, int64_t{1} << 62, INT64_MAX, INT64_MIN}) {
        const std::string said = fmt::format("'t0' has 2 rows: there are no 2 from row {} on", first);
        EXPECT_EQ(error_of([&] { write_f32(w, values, first); }), said);
        EXPECT_EQ(error_of([&] { read_rows_f32(w, first, 2); }), said);
    }
    EXPECT_NE(error_of([&] { read_rows_f32(w, 0, INT64_MAX); }), "no error");
    EXPECT_NE(error_of([&] { read_rows_f32(w, 0, -1); }), "no error");
    EXPECT_EQ(error_of([&] { read_i32(w); }), "'t0' holds f32, not i32");
    EXPECT_EQ(error_of([&] { write_f32(ids, values); }), "values cannot be written as i32");
    const Tensor waiting = stored.params.add("waiting", packed(DType::F32, {2, 3}));
    EXPECT_EQ(error_of([&] { write(waiting, values); }), "'waiting' has no memory yet: allocate first");
    EXPECT_EQ(error_of([&] { read_f32(waiting); }), "'waiting' has no memory yet: allocate first");
}

TEST(Transfer, OnlyLeavesAreWritten) {
    Computation c;
    const Tensor x = c.random({4}), y = x * 2.0f;
    c.result(y);
    EXPECT_EQ(error_of([&] { write(y, std::vector<float>(4)); }),
              "a tensor is computed: only inputs and parameters can be written");
}

TEST(Statistics, CountNaNAndInfinitiesApart) {
    Stored stored;
    const Tensor w = stored.add(DType::F32, {3, 3});
    write(w, std::vector<float>{1, -2, 3, NAN, INFINITY, -INFINITY, NAN, -4, 0});
    const Statistics s = statistics(w);
    EXPECT_EQ(s.count, 9);
    EXPECT_EQ(s.nan_count, 2);
    EXPECT_EQ(s.infinite_count, 2);
    EXPECT_EQ(s.min, -4);
    EXPECT_EQ(s.max, 3);
    EXPECT_DOUBLE_EQ(s.mean, -0.4);
    EXPECT_DOUBLE_EQ(s.abs_mean, 2.0);
    EXPECT_DOUBLE_EQ(s.l2, std::sqrt(30.0));
}

TEST(Statistics, OfNothingFiniteAreZero) {
    Stored stored;
    const Tensor nan = stored.add(DType::F32, {2}), empty = stored.add(DType::F32, {0, 4});
    write(nan, std::vector<float>{NAN, NAN});
    for (const Tensor& tensor : {nan, empty}) {
        const Statistics s = statistics(tensor);
        EXPECT_EQ(s.count, s.nan_count);
        EXPECT_EQ(s.infinite_count, 0);
        for (double value : {s.min, s.max, s.mean, s.abs_mean, s.l2}) EXPECT_EQ(value, 0);
    }
}

TEST(Statistics, OfOtherTypesAndLargeValues) {
    Stored stored;
    const Tensor half = stored.add(DType::F16, {2, 2}), large = stored.add(DType::F32, {2});
    write_f32(half, std::vector<float>{1, 2, 3, 4});
    EXPECT_DOUBLE_EQ(statistics(half).mean, 2.5);
    write(large, std::vector<float>{3e38f, 3e38f});  // sums are kept in float64
    EXPECT_NEAR(statistics(large).mean / 3e38, 1.0, 1e-6);
    EXPECT_NEAR(statistics(large).l2 / 3e38, std::sqrt(2.0), 1e-6);
}

}  // namespace
}  // namespace toy::test
