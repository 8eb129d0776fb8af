#include "tensor/computation.h"

namespace toy::test {
namespace {

// Extents in row-major order of a batch of images and of the kernels.
struct Sizes2d {
    int64_t b, c, y, x, o, ky, kx;
};

int64_t positions(int64_t size, int64_t kernel, int stride, int pad, int dilation) {
    return (size + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
}

// The element of an image under element (c, ky, kx) of the kernel at position (oy, ox), or 0 in the padding.
double under(const std::vector<double>& image, const Sizes2d& s, const Conv2d& how, int64_t b, int64_t oy, int64_t ox,
             int64_t c, int64_t ky, int64_t kx) {
    const int64_t y = oy * how.stride_y + ky * how.dilation_y - how.pad_y;
    const int64_t x = ox * how.stride_x + kx * how.dilation_x - how.pad_x;
    if (y < 0 || y >= s.y || x < 0 || x >= s.x) return 0;
    return image[static_cast<size_t>(((b * s.c + c) * s.y + y) * s.x + x)];
}

std::vector<double> unrolled(const std::vector<double>& image, const Sizes2d& s, const Conv2d& how) {
    std::vector<double> columns;
    const int64_t oy = positions(s.y, s.ky, how.stride_y, how.pad_y, how.dilation_y);
    const int64_t ox = positions(s.x, s.kx, how.stride_x, how.pad_x, how.dilation_x);
    for (int64_t i = 0; i < s.b * oy * ox; ++i) {
        for (int64_t j = 0; j < s.c * s.ky * s.kx; ++j) {
            columns.push_back(
                under(image, s, how, i / ox / oy, i / ox % oy, i % ox, j / s.kx / s.ky, j / s.kx % s.ky, j % s.kx));
        }
    }
    return columns;
}

const std::vector<Conv2d> k_ways = {{}, {2, 1, 1, 0, 1, 1}, {1, 2, 2, 1, 2, 1}, {3, 3, 0, 2, 1, 2}};
constexpr Sizes2d k_sizes{2, 3, 9, 11, 4, 3, 2};

TEST(Im2Col, UnrollsImages) {
    for (const Conv2d& how : k_ways) {
        for (DType type : {DType::F32, DType::F16}) {
            for (int threads : {1, 2, 3}) {
                Computation c;
                const Tensor kernel = c.random({4, 3, 3, 2}), image = c.random({2, 3, 9, 11});
                const std::vector<float> result = c.result(im2col(kernel, image, how, true, type), threads);
                EXPECT_LT(largest_error(result, unrolled(Computation::values_of(image), k_sizes, how)),
                          type == DType::F32 ? 1e-12 : 1e-3);
            }
        }
    }
}

TEST(Im2Col, UnrollsSequences) {
    const Conv2d how{2, 1, 1, 0, 2, 1};
    Computation c;
    const Tensor kernel = c.random({5, 3, 4}), image = c.random({2, 3, 20});
    const Tensor columns = im2col(kernel, image, how, false, DType::F32);
    const std::vector<float> result = c.result(columns, 2);
    EXPECT_EQ(columns.layout().describe(), "f32 [2, 8, 12]");
    EXPECT_EQ(largest_error(result, unrolled(Computation::values_of(image), {2, 3, 1, 20, 5, 1, 4}, how)), 0);
}

// The gradient is the transpose of unrolling: <columns, unroll(image)> = <back(columns), image>.
TEST(Im2Col, BackIsItsTranspose) {
    for (const Conv2d& how : k_ways) {
        Computation c;
        const Tensor kernel = c.random({4, 3, 3, 2}), image = c.random({2, 3, 9, 11});
        const Tensor columns = im2col(kernel, image, how, true, DType::F32);
        const Layout& layout = columns.layout();
        const Tensor dy = c.random({layout.dim(0), layout.dim(1), layout.dim(2), layout.dim(3)});
        const Tensor back = im2col_back(dy, kernel, {11, 9, 3, 2}, how, true);
        c.graph.output(back);
        const std::vector<float> unrolled_image = c.result(columns, 2);
        const std::vector<float> gradient = read_f32(back);
        const std::vector<double> d = Computation::values_of(dy), x = Computation::values_of(image);
        double one = 0, other = 0;
        for (size_t i = 0; i < d.size(); ++i) one += d[i] * static_cast<double>(unrolled_image[i]);
        for (size_t i = 0; i < x.size(); ++i) other += x[i] * static_cast<double>(gradient[i]);
        EXPECT_NEAR(one, other, 1e-3);
    }
}

TEST(Conv2d, SumsOverChannelsAndKernel) {
    for (const Conv2d& how : k_ways) {
        for (DType type : {DType::F32, DType::F16}) {
            for (int threads : {1, 2, 3}) {
                Computation c;
                const Tensor kernel = c.random({4, 3, 3, 2}, 1, type), image = c.random({2, 3, 9, 11});
                const Tensor y = conv_2d(kernel, image, how);
                const std::vector<float> result = c.result(y, threads);
                const std::vector<double> k = Computation::values_of(kernel), x = Computation::values_of(image);
                std::vector<double> expected;
                for (int64_t i = 0; i < y.layout().elements(); ++i) {
                    const int64_t ox = i % y.dim(3), oy = i / y.dim(3) % y.dim(2), o = i / y.dim(3) / y.dim(2) % 4;
                    double sum = 0;
                    for (int64_t j = 0; j < 3 * 3 * 2; ++j) {
                        sum += k[static_cast<size_t>(o * 18 + j)] *
                               under(x, k_sizes, how, i / y.dim(3) / y.dim(2) / 4, oy, ox, j / 6, j / 2 % 3, j % 2);
                    }
                    expected.push_back(sum);
                }
                // ggml_conv_2d rounds a float32 kernel's image to float16; ours does not.
                EXPECT_LT(largest_error(result, expected), type == DType::F32 ? 2e-6 : 3e-3);
            }
        }
    }
}

TEST(Conv2d, RefusesWhatDoesNotFit) {
    Graph g;
    const Tensor kernel = g.input("k", DType::F32, {4, 3, 3, 3}), image = g.input("x", DType::F32, {1, 3, 4, 4});
    const auto said = [&](const Conv2d& how) { return error_of([&] { conv_2d(kernel, image, how); }); };
    EXPECT_EQ(said({}), "no error");
    EXPECT_NE(said({0, 1}).find("stride 0"), std::string::npos);
    EXPECT_NE(said({1, -1}).find("stride -1"), std::string::npos);
    EXPECT_NE(said({1, 1, -1}).find("padding -1"), std::string::npos);
    EXPECT_NE(said({1, 1, INT32_MAX}).find("padding 2147483647"), std::string::npos);
    EXPECT_NE(said({1, 1, 0, 0, 0}).find("dilation 0"), std::string::npos);
    EXPECT_NE(said({1, 1, 0, 0, 2}).find("does not fit 4 elements"), std::string::npos);
    // The last position would lie partly outside, where ggml's rounding of a negative number finds room for one.
    EXPECT_NE(said({8, 1, 0, 0, 2}).find("does not fit 4 elements"), std::string::npos);
}

// ---- state spaces ----

TEST(SsmConv, IsACausalConvolutionOfEachChannel) {
    for (int threads : {1, 2, 3}) {
        Computation c;
        const Tensor x = c.random({2, 5, 3 + 7}), kernel = c.random({5, 4});
        const std::vector<float> result = c.result(ssm_conv(x, kernel), threads);
        const std::vector<double> xv = Computation::values_of(x), k = Computation::values_of(kernel);
        std::vector<double> expected;
        for (size_t s = 0; s < 2; ++s) {
            for (size_t t = 0; t < 7; ++t) {
                for (size_t i = 0; i < 5; ++i) {
                    double sum = 0;
                    for (size_t w = 0; w < 4; ++w) sum += xv[(s * 5 + i) * 10 + t + w] * k[i * 4 + w];
                    expected.push_back(sum);
                }
            }
        }
        EXPECT_LT(largest_error(result, expected), 1e-6);
    }
}

// h ← h·exp(Δ·A) + Δ·B·x and y = C·h with Δ = softplus(dt): Mamba with A per state, Mamba-2 with A per head.
TEST(SsmScan, FollowsTheRecurrence) {
    constexpr size_t k_s = 2, k_t = 6, k_j = 4, k_p = 3, k_n = 16, k_g = 2, k_stored = 3;
    for (const size_t width : {size_t{1}, k_n}) {
        for (int threads : {1, 2, 3}) {
            Computation c;
            const Tensor states = c.random({k_stored, k_j, k_p, k_n}), x = c.random({k_s, k_t, k_j, k_p});
            const Tensor dt = c.random({k_s, k_t, k_j}, 2), a = c.random({k_j, static_cast<int64_t>(width)});
            const Tensor b = c.random({k_s, k_t, k_g, k_n}), cc = c.random({k_s, k_t, k_g, k_n});
            const std::vector<int32_t> ids = {2, 0};
            const Tensor y = ssm_scan(states, x, dt, a, b, cc, c.indices({k_s}, ids));
            const std::vector<float> result = c.result(y, threads);
            const auto v = [](Tensor t) { return Computation::values_of(t); };
            const std::vector<double> hv = v(states), xv = v(x), dv = v(dt), av = v(a), bv = v(b), cv = v(cc);
            std::vector<double> outputs(k_s * k_t * k_j * k_p), last;
            for (size_t s = 0; s < k_s; ++s) {
                const auto* start = &hv[static_cast<size_t>(ids[s]) * k_j * k_p * k_n];
                std::vector<double> h(start, start + k_j * k_p * k_n);
                for (size_t t = 0; t < k_t; ++t) {
                    const size_t token = s * k_t + t;
                    for (size_t j = 0; j < k_j; ++j) {
                        const double delta = std::log1p(std::exp(dv[token * k_j + j]));
                        for (size_t p = 0; p < k_p; ++p) {
                            double& out = outputs[(token * k_j + j) * k_p + p];
                            for (size_t n = 0; n < k_n; ++n) {
                                double& state = h[(j * k_p + p) * k_n + n];
                                const size_t group = (token * k_g + j / (k_j / k_g)) * k_n + n;
                                state = state * std::exp(delta * av[j * width + (width == 1 ? 0 : n)]) +
                                        delta * bv[group] * xv[(token * k_j + j) * k_p + p];
                                out += state * cv[group];
                            }
                        }
                    }
                }
                last.insert(last.end(), h.begin(), h.end());
            }
            outputs.insert(outputs.end(), last.begin(), last.end());
            EXPECT_LT(largest_error(result, outputs), 1e-5);
        }
    }
}

}  // namespace
}  // namespace toy::test
