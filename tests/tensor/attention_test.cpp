#include <algorithm>
#include <optional>

#include "tensor/computation.h"

namespace toy::test {
namespace {

// One attention: H query heads over K key heads of width d, N keys, T queries, in S sequences.
struct Shape {
    int64_t s, h, k, t, n, d, dv;
};

struct Options {
    DType type = DType::F32;
    bool has_mask = true;
    float softcap = 0.0f, max_bias = 0.0f;
};

struct Operands {
    Tensor q, k, v, mask;
};

// Causal, the last query sees all keys; -inf elsewhere, and a small bias that ALiBi's slopes scale.
std::vector<float> mask_values(const Shape& shape, int64_t rows) {
    std::vector<float> mask;
    for (int64_t s = 0; s < shape.s; ++s) {
        for (int64_t t = 0; t < rows; ++t) {
            for (int64_t n = 0; n < shape.n; ++n) {
                const bool is_seen = n <= t + shape.n - shape.t;
                mask.push_back(is_seen ? -0.125f * static_cast<float>((n + s) % 5) : -INFINITY);
            }
        }
    }
    return mask;
}

Operands make(Computation& c, const Shape& s, const Options& how) {
    Operands o;
    o.q = c.random({s.s, s.h, s.t, s.d}, 2);
    o.k = c.random({s.s, s.k, s.n, s.d}, 1, how.type);
    o.v = c.random({s.s, s.k, s.n, s.dv}, 1, how.type);
    if (how.has_mask) o.mask = c.input(DType::F16, {s.s, 1, s.t, s.n}, mask_values(s, s.t));
    return o;
}

double slope_of(int64_t head, int64_t heads, double max_bias) {
    if (max_bias == 0.0) return 1.0;
    const double power = std::pow(2.0, std::floor(std::log2(static_cast<double>(heads))));
    const auto h = static_cast<double>(head);
    return h < power ? std::pow(2.0, -max_bias / power * (h + 1))
                     : std::pow(2.0, -max_bias / 2.0 / power * (2 * (h - power) + 1));
}

// Softmax of scores in float64; -inf where masked.
void softmax_in_place(std::vector<double>& scores) {
    const double largest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& score : scores) sum += score = std::exp(score - largest);
    for (double& score : scores) score /= sum;
}

std::vector<double> reference(const Operands& o, const Shape& s, const Options& how, double scale) {
    const std::vector<double> q = Computation::values_of(o.q), k = Computation::values_of(o.k);
    const std::vector<double> v = Computation::values_of(o.v);
    const std::vector<double> mask = o.mask ? Computation::values_of(o.mask) : std::vector<double>();
    std::vector<double> result(static_cast<size_t>(s.s * s.t * s.h * s.dv));
    for (int64_t i = 0; i < s.s * s.h * s.t; ++i) {
        const int64_t t = i % s.t, h = i / s.t % s.h, seq = i / s.t / s.h, kv = seq * s.k + h / (s.h / s.k);
        std::vector<double> scores;
        for (int64_t n = 0; n < s.n; ++n) {
            double dot = 0;
            for (int64_t d = 0; d < s.d; ++d) {
                dot += q[static_cast<size_t>(i * s.d + d)] * k[static_cast<size_t>((kv * s.n + n) * s.d + d)];
            }
            dot *= scale;
            if (how.softcap != 0.0f) dot = how.softcap * std::tanh(dot / how.softcap);
            if (o.mask) dot += slope_of(h, s.h, how.max_bias) * mask[static_cast<size_t>((seq * s.t + t) * s.n + n)];
            scores.push_back(dot);
        }
        softmax_in_place(scores);
        for (int64_t n = 0; n < s.n; ++n) {
            for (int64_t d = 0; d < s.dv; ++d) {
                result[static_cast<size_t>(((seq * s.t + t) * s.h + h) * s.dv + d)] +=
                    scores[static_cast<size_t>(n)] * v[static_cast<size_t>((kv * s.n + n) * s.dv + d)];
            }
        }
    }
    return result;
}

double tolerance_of(DType type) {
    switch (type) {
        case DType::F32: return 2e-6;
        case DType::F16: return 2e-3;  // one query's sum over v is kept in float16
        case DType::BF16: return 6e-3;
        default: return 8e-3;  // queries rounded to blocks of int8
    }
}

TEST(FlashAttention, EqualsTheDefinition) {
    const std::vector<Shape> shapes = {
        {1, 4, 4, 1, 300, 64, 64}, {1, 4, 4, 77, 77, 64, 64}, {2, 6, 2, 3, 40, 32, 32}, {1, 3, 1, 70, 130, 128, 64}};
    for (const Shape& shape : shapes) {
        for (DType type : {DType::F32, DType::F16, DType::BF16, DType::Q8_0, DType::Q4_0}) {
            for (const Options& how :
                 {Options{type}, Options{type, false}, Options{type, true, 5.0f}, Options{type, true, 0, 8}}) {
                Computation c;
                const Operands o = make(c, shape, how);
                const float scale = 1.0f / std::sqrt(static_cast<float>(shape.d));
                const Tensor y = flash_attention(o.q, o.k, o.v, o.mask, scale, how.softcap, how.max_bias);
                std::optional<std::vector<double>> expected;
                for (int threads : {1, 2, 3}) {
                    const std::vector<float> result = c.result(y, threads);
                    if (!expected) expected = reference(o, shape, how, scale);
                    EXPECT_LT(largest_error(result, *expected), tolerance_of(type))
                        << name(type) << ", " << shape.t << " queries, " << threads << " threads, softcap "
                        << how.softcap;
                }
            }
        }
    }
}

TEST(FlashAttention, EqualsThePlainComposition) {
    const Shape shape{1, 6, 2, 9, 21, 32, 32};
    Computation c;
    const Operands o = make(c, shape, {});
    const float scale = 0.25f;
    const Tensor fused = flash_attention(o.q, o.k, o.v, o.mask, scale, 7.0f);  // [S, T, H, dv]
    const Tensor scores = softmax(softcap(matmul(o.k, o.q) * scale, 7.0f), o.mask);
    const Tensor plain = matmul(transpose(o.v), scores);  // [S, H, T, dv]
    c.graph.output(plain);
    const std::vector<float> result = c.result(fused, 2);
    const std::vector<float> composed = read_f32(plain);
    std::vector<double> expected(composed.size());
    for (size_t h = 0; h < 6; ++h) {
        for (size_t t = 0; t < 9; ++t) {
            for (size_t d = 0; d < 32; ++d) expected[(t * 6 + h) * 32 + d] = composed[(h * 9 + t) * 32 + d];
        }
    }
    EXPECT_LT(largest_error(result, expected), 2e-6);
}

TEST(Softmax, MasksScalesAndSlopes) {
    for (DType type : {DType::F16, DType::F32}) {
        for (float max_bias : {0.0f, 8.0f}) {
            for (int threads : {1, 2, 3}) {
                Computation c;
                const Tensor x = c.random({2, 6, 5, 11}, 4);
                // One row more than x has: masks may be padded. It is the same for both sequences.
                std::vector<float> mask = mask_values({1, 6, 6, 5, 11, 1, 1}, 6);
                const Tensor y = softmax(x, c.input(type, {1, 1, 6, 11}, mask), 0.5f, max_bias);
                const std::vector<float> result = c.result(y, threads);
                const std::vector<double> values = Computation::values_of(x);
                std::vector<double> expected;
                for (size_t row = 0; row < 60; ++row) {
                    const double slope = slope_of(static_cast<int64_t>(row / 5 % 6), 6, max_bias);
                    std::vector<double> scores;
                    for (size_t n = 0; n < 11; ++n) {
                        scores.push_back(0.5 * values[row * 11 + n] +
                                         slope * static_cast<double>(mask[row % 5 * 11 + n]));
                    }
                    softmax_in_place(scores);
                    expected.insert(expected.end(), scores.begin(), scores.end());
                }
                EXPECT_LT(largest_error(result, expected), 1e-6);
            }
        }
    }
}

TEST(Softmax, WithoutAMask) {
    Computation c;
    const Tensor x = c.random({7, 33}, 20);
    const std::vector<float> result = c.result(softmax(x), 2);
    const std::vector<double> values = Computation::values_of(x);
    std::vector<double> expected;
    for (size_t row = 0; row < 7; ++row) {
        std::vector<double> scores(values.begin() + static_cast<ptrdiff_t>(row * 33),
                                   values.begin() + static_cast<ptrdiff_t>(row * 33 + 33));
        softmax_in_place(scores);
        expected.insert(expected.end(), scores.begin(), scores.end());
    }
    EXPECT_LT(largest_error(result, expected), 1e-6);
}

TEST(CausalMask, HidesWhatIsAboveTheDiagonal) {
    Computation c;
    const Tensor x = c.random({2, 3, 6});
    const std::vector<float> result = c.result(causal_mask(x, 2), 2);
    const std::vector<double> values = Computation::values_of(x);
    for (size_t i = 0; i < 36; ++i) {
        const bool is_seen = i % 6 <= i / 6 % 3 + 2;
        EXPECT_EQ(result[i], is_seen ? static_cast<float>(values[i]) : -INFINITY) << i;
    }
    EXPECT_NE(error_of([&] {
                  Graph g;
                  causal_mask(g.input("x", DType::F32, {2, 2}), -1);
              }).find("column -1"),
              std::string::npos);
}

}  // namespace
}  // namespace toy::test
