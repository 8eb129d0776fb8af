#include <algorithm>
#include <map>
#include <numeric>

#include "tensor/computation.h"

namespace toy::test {
namespace {

// x·wᵀ in float64 with the batch axes of w repeated; w [B2, B1, N, K], x [A2, A1, T, K] as ggml extents.
std::vector<double> product(const std::vector<double>& w, const Layout& wl, const std::vector<double>& x,
                            const Layout& xl) {
    const auto &n = wl.ne, &m = xl.ne;
    std::vector<double> result;
    for (int64_t i3 = 0; i3 < m[3]; ++i3) {
        for (int64_t i2 = 0; i2 < m[2]; ++i2) {
            for (int64_t t = 0; t < m[1]; ++t) {
                for (int64_t row = 0; row < n[1]; ++row) {
                    // Consecutive heads of x share one of w, as in grouped-query attention.
                    const int64_t w2 = i2 / (m[2] / n[2]), w3 = i3 / (m[3] / n[3]);
                    const double* a = &w[static_cast<size_t>(((w3 * n[2] + w2) * n[1] + row) * n[0])];
                    const double* b = &x[static_cast<size_t>(((i3 * m[2] + i2) * m[1] + t) * m[0])];
                    double sum = 0;
                    for (int64_t k = 0; k < n[0]; ++k) sum += a[k] * b[k];
                    result.push_back(sum);
                }
            }
        }
    }
    return result;
}

TEST(MatMul, MultipliesRowsAndRepeatsBatchAxesOfTheWeight) {
    for (int threads : {1, 2, 3}) {
        for (const int64_t tokens : {1, 2, 5, 33}) {
            Computation c;
            const Tensor w = c.random({1, 2, 17, 40}), x = c.random({2, 6, tokens, 40});
            const Tensor y = matmul(w, x);
            EXPECT_EQ(y.layout().describe(), fmt::format("f32 [2, 6, {}, 17]", tokens));
            const std::vector<float> result = c.result(y, threads);
            const auto expected = product(Computation::values_of(w), w.layout(), Computation::values_of(x), x.layout());
            EXPECT_LT(largest_error(result, expected), 1e-5);
        }
    }
}

TEST(MatMul, TakesViewsOfEitherOperand) {
    Computation c;
    const Tensor w = slice(c.random({3, 20, 64}), 2, 8, 48);    // every row part of a longer one
    const Tensor x = permute(c.random({9, 3, 48}), {1, 0, 2});  // [3, 9, 48]
    const std::vector<float> result = c.result(matmul(w, x), 2);
    const auto expected = product(Computation::values_of(w), w.layout(), Computation::values_of(x), x.layout());
    EXPECT_LT(largest_error(result, expected), 1e-5);
}

// ggml converts rows of x to the type that a weight type's kernel multiplies with: float16 or bfloat16, or blocks of
// int8 (Q8_0, Q8_1, Q8_K). The weight's own rounding is not part of the error: the reference uses its exact values.
TEST(MatMul, TakesEveryWeightType) {
    const std::map<DType, double> tolerances = {{DType::F32, 2e-6}, {DType::F16, 5e-4}, {DType::BF16, 4e-3}};
    constexpr double for_int8_activations = 8e-3;
    int types = 0;
    for (DType type : all_dtypes()) {
        if (!converts_to_f32(type) || type == DType::Q8_1 || type == DType::Q8_K) continue;
        const std::string_view kind = name(type).substr(0, 3);
        if (kind == "iq1" || kind == "iq2" || kind == "iq3") continue;  // quantising builds tables for seconds
        ++types;
        for (const int64_t tokens : {1, 7}) {
            Computation c;
            const Tensor w = c.random({40, 512}, 1.0f, type), x = c.random({tokens, 512});
            const std::vector<float> result = c.result(matmul(w, x), 2);
            const auto expected = product(Computation::values_of(w), w.layout(), Computation::values_of(x), x.layout());
            const auto found = tolerances.find(type);
            const double tolerance = found == tolerances.end() ? for_int8_activations : found->second;
            EXPECT_LT(relative_error(result, expected), tolerance) << name(type) << ", " << tokens << " rows";
        }
    }
    EXPECT_EQ(types, 21);
}

TEST(MatMul, TakesActivationsInTheWeightsHalfType) {
    for (DType type : {DType::F16, DType::BF16}) {
        Computation c;
        const Tensor w = c.random({40, 64}, 1.0f, type), x = c.random({5, 64}, 1.0f, type);
        const std::vector<float> result = c.result(matmul(w, x), 2);
        const auto expected = product(Computation::values_of(w), w.layout(), Computation::values_of(x), x.layout());
        EXPECT_LT(relative_error(result, expected), 1e-5) << name(type);
    }
}

TEST(MatMul, RefusesWhatDoesNotFit) {
    Graph g;
    const Tensor w = g.input("w", DType::F32, {4, 6});
    const auto said = [&](std::initializer_list<int64_t> dims) {
        static int number = 0;
        const Tensor x = g.input(fmt::format("x{}", number++), DType::F32, dims);
        const std::string text = error_of([&] { matmul(w, x); });
        return text.substr(text.find(": ") + 2);
    };
    EXPECT_EQ(said({3, 5}), "the weight [4, 6] takes rows of 6, but x is [3, 5]");
    const Tensor experts = g.input("experts", DType::F32, {3, 4, 6});
    const Tensor x = g.input("x", DType::F32, {4, 2, 6});
    EXPECT_NE(error_of([&] { matmul(experts, x); }).find("cannot be repeated to those of [4, 2, 6]"),
              std::string::npos);
}

TEST(MatMulId, MultipliesEachTokenWithItsExperts) {
    for (DType type : {DType::F32, DType::Q8_0, DType::Q4_K}) {
        for (int64_t rows_per_token : {1, 3}) {
            Computation c;
            const Tensor w = c.random({5, 24, 256}, 1.0f, type), x = c.random({4, rows_per_token, 256});
            const std::vector<int32_t> ids = {4, 0, 1, 2, 2, 3, 0, 1, 4, 3, 3, 3};
            const std::vector<float> result = c.result(matmul_id(w, x, c.indices({4, 3}, ids)), 2);
            const std::vector<double> wv = Computation::values_of(w), xv = Computation::values_of(x);
            std::vector<double> expected;
            for (size_t t = 0; t < 4; ++t) {
                for (size_t u = 0; u < 3; ++u) {
                    const double* b =
                        &xv[(t * static_cast<size_t>(rows_per_token) + (rows_per_token == 1 ? 0 : u)) * 256];
                    for (size_t n = 0; n < 24; ++n) {
                        const double* a = &wv[(static_cast<size_t>(ids[t * 3 + u]) * 24 + n) * 256];
                        expected.push_back(std::inner_product(a, a + 256, b, 0.0));
                    }
                }
            }
            EXPECT_LT(relative_error(result, expected), type == DType::F32 ? 2e-6 : 8e-3) << name(type);
        }
    }
}

TEST(AddId, AddsTheChosenRows) {
    Computation c;
    const Tensor x = c.random({3, 2, 5}), bias = c.random({4, 5});
    const std::vector<int32_t> ids = {3, 0, 1, 1, 2, 0};
    const std::vector<float> result = c.result(add_id(x, bias, c.indices({3, 2}, ids)), 3);
    const std::vector<double> xv = Computation::values_of(x), bv = Computation::values_of(bias);
    std::vector<double> expected;
    for (size_t i = 0; i < 30; ++i) expected.push_back(xv[i] + bv[static_cast<size_t>(ids[i / 5]) * 5 + i % 5]);
    EXPECT_LT(largest_error(result, expected), 1e-6);
}

// ggml's allocator may give the result the memory of a bias that has its shape, although rows are read in another
// order. An x that is an input is none that it could take instead.
TEST(AddId, IsRightWhereTheResultCouldOverwriteTheBias) {
    const auto computed = [](bool keeps_bias) {
        Computation c;
        const Tensor x = c.random({1, 3, 8}), bias = c.random({3, 8}) * 2.0f;
        if (keeps_bias) c.graph.output(bias);
        return c.result(silu(add_id(x, bias, c.indices({1, 3}, {2, 0, 1}))));
    };
    EXPECT_EQ(computed(false), computed(true));
}

TEST(OuterProduct, SumsOverRows) {
    for (DType type : {DType::F32, DType::F16, DType::Q8_0}) {
        for (int threads : {1, 2, 3}) {
            Computation c;
            const Tensor a = c.random({2, 9, 64}, 1.0f, type), b = c.random({2, 9, 13});
            const std::vector<float> result = c.result(outer_product(a, b), threads);
            const std::vector<double> av = Computation::values_of(a), bv = Computation::values_of(b);
            std::vector<double> expected(2 * 13 * 64);
            for (size_t s = 0; s < 2; ++s) {
                for (size_t k = 0; k < 9; ++k) {
                    for (size_t n = 0; n < 13; ++n) {
                        for (size_t m = 0; m < 64; ++m) {
                            expected[(s * 13 + n) * 64 + m] += av[(s * 9 + k) * 64 + m] * bv[(s * 9 + k) * 13 + n];
                        }
                    }
                }
            }
            EXPECT_LT(largest_error(result, expected), 2e-6) << name(type);
        }
    }
}

}  // namespace
}  // namespace toy::test
