#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/mapped_file.h"
#include "tensor/computation.h"

namespace toy::test {
namespace {

// y·(dy − Σ y·dy) row by row.
std::vector<double> softmax_gradient(const std::vector<double>& y, const std::vector<double>& dy, size_t columns) {
    std::vector<double> dx;
    for (size_t row = 0; row < y.size(); row += columns) {
        double sum = 0;
        for (size_t i = row; i < row + columns; ++i) sum += y[i] * dy[i];
        for (size_t i = row; i < row + columns; ++i) dx.push_back(y[i] * (dy[i] - sum));
    }
    return dx;
}

TEST(SoftmaxBack, IsTheGradient) {
    for (int threads : {1, 2, 3}) {
        Computation c;
        const Tensor y = softmax(c.random({3, 4, 32}, 2)), dy = c.random({3, 4, 32});
        c.graph.output(y);
        const std::vector<float> result = c.result(softmax_back(dy, y), threads);
        EXPECT_LT(largest_error(result, softmax_gradient(Computation::values_of(y), Computation::values_of(dy), 32)),
                  1e-6);
    }
}

// ggml's SOFT_MAX_BACK returns wrong gradients where its second source is reused in place: where dy has a later reader,
// so that only y's memory is free. Every way of keeping either alive must give the same.
TEST(SoftmaxBack, IsRightWhicheverOperandIsReused) {
    const std::vector<float> a = random_values(4 * 32, 1), b = random_values(4 * 32, 2);
    std::vector<std::vector<float>> results;
    for (int keep = 0; keep < 4; ++keep) {
        Computation c;
        const Tensor y = softmax(scale_bias(c.input({4, 32}, a), 1.0f, 0.5f));
        const Tensor dy = scale_bias(c.input({4, 32}, b), 1.0f, 0.5f);
        const Tensor dx = scale_bias(softmax_back(dy, y), 1.0f, 0.0f);
        if (keep == 1) c.graph.output(scale_bias(dy, 2.0f, 0.0f));
        if (keep == 2) c.graph.output(scale_bias(y, 2.0f, 0.0f));
        if (keep == 3) {
            c.graph.output(y);
            c.graph.output(dy);
        }
        results.push_back(c.result(dx));
        if (keep != 3) continue;
        const auto expected = softmax_gradient(Computation::values_of(y), Computation::values_of(dy), 32);
        EXPECT_LT(largest_error(results.back(), expected), 1e-6);
    }
    for (int keep = 0; keep < 3; ++keep) EXPECT_EQ(results[static_cast<size_t>(keep)], results[3]) << keep;
}

TEST(SiluBack, IsTheGradient) {
    Computation c;
    const Tensor x = c.random({5, 40}, 4), dy = c.random({5, 40});
    const std::vector<float> result = c.result(silu_back(x, dy), 2);
    std::vector<double> expected;
    const std::vector<double> xv = Computation::values_of(x), d = Computation::values_of(dy);
    for (size_t i = 0; i < xv.size(); ++i) {
        const double s = 1.0 / (1.0 + std::exp(-xv[i]));
        expected.push_back(d[i] * s * (1 + xv[i] * (1 - s)));
    }
    EXPECT_LT(largest_error(result, expected), 2e-6);
}

TEST(RmsNormBack, IsTheGradient) {
    constexpr double eps = 0.05f;  // large, so that it matters
    for (int threads : {1, 2, 3}) {
        Computation c;
        const Tensor x = c.random({2, 3, 24}), dy = c.random({2, 3, 24});
        const std::vector<float> result = c.result(rms_norm_back(x, dy, 0.05f), threads);
        const std::vector<double> xv = Computation::values_of(x), d = Computation::values_of(dy);
        std::vector<double> expected;
        for (size_t row = 0; row < xv.size(); row += 24) {
            double squares = 0, dot = 0;
            for (size_t i = row; i < row + 24; ++i) {
                squares += xv[i] * xv[i];
                dot += xv[i] * d[i];
            }
            const double rms = std::sqrt(squares / 24 + eps);
            for (size_t i = row; i < row + 24; ++i) expected.push_back((d[i] - xv[i] * dot / (24 * rms * rms)) / rms);
        }
        EXPECT_LT(largest_error(result, expected), 2e-6);
    }
}

TEST(GetRowsBack, AddsUpRowsOfOneIndex) {
    Computation c;
    const Tensor dy = c.random({5, 3});
    const Tensor table = c.random({4, 3}, 1, DType::F16);
    const std::vector<int32_t> ids = {1, 3, 1, 0, 1};
    const std::vector<float> result = c.result(get_rows_back(dy, c.indices({5}, ids), table), 2);
    const std::vector<double> d = Computation::values_of(dy);
    std::vector<double> expected(12);
    for (size_t i = 0; i < 15; ++i) expected[static_cast<size_t>(ids[i / 3]) * 3 + i % 3] += d[i];
    EXPECT_LT(largest_error(result, expected), 1e-6);
}

// ---- optimizer steps ----

struct Moments {
    std::vector<double> w, m, v;
};

// One step of AdamW (arXiv 1711.05101, algorithm 2).
void step(Moments& s, const std::vector<double>& g, const std::vector<float>& h) {
    for (size_t i = 0; i < g.size(); ++i) {
        s.m[i] = h[1] * s.m[i] + (1.0 - h[1]) * g[i];
        s.v[i] = h[2] * s.v[i] + (1.0 - h[2]) * g[i] * g[i];
        s.w[i] = s.w[i] * (1.0 - h[0] * h[4]) - h[0] * (s.m[i] * h[5]) / (std::sqrt(s.v[i] * h[6]) + h[3]);
    }
}

TEST(AdamWStep, UpdatesWeightAndMomentsInPlace) {
    Params params(Device::cpu());
    const Tensor w = params.add("w", packed(DType::F32, {6, 10})), m = params.add("m", packed(DType::F32, {6, 10}));
    const Tensor v = params.add("v", packed(DType::F32, {6, 10}));
    params.allocate();
    const std::vector<float> start = random_values(60, 1), gradient = random_values(60, 2);
    write(w, std::span<const float>(start));
    Graph g;
    const Tensor dw = g.input("dw", DType::F32, {6, 10}), hyper = g.input("hyper", DType::F32, {7});
    g.output(adamw_step(w, dw, m, v, hyper));
    g.allocate(Device::cpu());
    write(dw, std::span<const float>(gradient));
    Moments expected{{start.begin(), start.end()}, std::vector<double>(60), std::vector<double>(60)};
    Runner runner(Device::cpu(), 2);
    for (int t = 1; t <= 3; ++t) {
        const std::vector<float> h = {0.01f,
                                      0.9f,
                                      0.95f,
                                      1e-8f,
                                      0.1f,
                                      1.0f / (1 - std::pow(0.9f, static_cast<float>(t))),
                                      1.0f / (1 - std::pow(0.95f, static_cast<float>(t)))};
        write(hyper, std::span<const float>(h));
        runner.run(g);
        step(expected, {gradient.begin(), gradient.end()}, h);
    }
    EXPECT_LT(largest_error(read_f32(w), expected.w), 2e-6);
    EXPECT_LT(largest_error(read_f32(m), expected.m), 1e-6);
    EXPECT_LT(largest_error(read_f32(v), expected.v), 1e-6);
}

TEST(SgdStep, UpdatesTheWeightInPlace) {
    Computation c;
    const Tensor w = c.random({4, 5}), dw = c.random({4, 5});
    const std::vector<float> result = c.result(sgd_step(w, dw, c.input({2}, {0.1f, 0.5f})), 2);
    std::vector<double> expected;
    const std::vector<float> start = random_values(20, 1000), gradient = random_values(20, 1001);
    for (size_t i = 0; i < 20; ++i)
        expected.push_back(start[i] * (1.0 - 0.1 * 0.5) - 0.1 * static_cast<double>(gradient[i]));
    EXPECT_LT(largest_error(result, expected), 1e-6);
    EXPECT_EQ(read_f32(w), result);
}

// A mapped file is read-only memory: an optimizer step writes its moments too.
TEST(AdamWStep, RefusesMomentsInAMappedFile) {
    const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "toy_moments.bin";
    std::ofstream(path, std::ios::binary) << std::string(4096, '\0');
    {
        Params params(Device::cpu());
        const auto file = MappedFile::open(path);
        const Tensor m = params.map("m", packed(DType::F32, {8}), file, 0);
        const Tensor w = params.add("w", packed(DType::F32, {8})), v = params.add("v", packed(DType::F32, {8}));
        Graph g;
        const Tensor dw = g.input("dw", DType::F32, {8}), hyper = g.input("hyper", DType::F32, {7});
        for (const auto& [first, second] : {std::pair(m, v), std::pair(v, m)}) {
            EXPECT_NE(error_of([&] { adamw_step(w, dw, first, second, hyper); }).find("'m' lies in a mapped file"),
                      std::string::npos);
        }
        EXPECT_NE(error_of([&] { write(slice(g.leaf(m), 0, 0, 4), std::vector<float>(4)); }).find("mapped file"),
                  std::string::npos);
    }
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace toy::test
