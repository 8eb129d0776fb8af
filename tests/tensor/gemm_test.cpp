// The dense product against sums in float64: all transpositions, ragged sizes, a long sum, bf16 operands and results,
// biases, sums that are added to, and parts computed apart.
#include "tensor/kernels/gemm.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tensor/kernels/gemm_pack.h"

namespace toy::kernels {
namespace {

float widened(uint16_t half) { return std::bit_cast<float>(static_cast<uint32_t>(half) << 16); }

struct Case {
    int64_t m, n, k;
    bool a_turned, b_turned;
    DType type = DType::F32;  // of the operands
    bool is_half = false;
    DType result = DType::F32;
    bool adds = false, has_bias = false;
};

class Operands {
 public:
    explicit Operands(const Case& c) : c_(c), random_(static_cast<uint64_t>(c.m * 7 + c.n * 3 + c.k)) {
        for (int64_t i = 0; i < c.m * c.k; ++i) a.push_back(draw());
        for (int64_t i = 0; i < c.n * c.k; ++i) b.push_back(draw());
        for (int64_t i = 0; i < c.m * c.n; ++i) result.push_back(draw());
        for (int64_t i = 0; i < c.n; ++i) bias.push_back(draw());
        for (float value : a) half_a.push_back(f32_to_bf16(value));
        for (float value : b) half_b.push_back(f32_to_bf16(value));
        half_result.resize(result.size());
        start = result;
    }
    Product product() {
        const bool is_bf16 = c_.type == DType::BF16;
        Product p{};
        p.m = c_.m;
        p.n = c_.n;
        p.k = c_.k;
        p.a = {is_bf16 ? static_cast<const void*>(half_a.data()) : a.data(), c_.a_turned ? c_.m : c_.k, c_.a_turned,
               c_.type};
        p.b = {is_bf16 ? static_cast<const void*>(half_b.data()) : b.data(), c_.b_turned ? c_.k : c_.n, c_.b_turned,
               c_.type};
        p.c = c_.result == DType::BF16 ? static_cast<void*>(half_result.data()) : result.data();
        p.c_stride = c_.n;
        p.c_type = c_.result;
        p.adds = c_.adds;
        p.is_half = c_.is_half;
        p.bias = c_.has_bias ? bias.data() : nullptr;
        return p;
    }
    /// The largest error relative to √k, about what random sums grow to.
    double error() const {
        const bool rounds = c_.type == DType::BF16 || (c_.is_half && has_bf16_products());
        double largest = 0;
        for (int64_t i = 0; i < c_.m; ++i) {
            for (int64_t j = 0; j < c_.n; ++j) {
                double sum = c_.adds ? start[at(i, j)] : c_.has_bias ? bias[static_cast<size_t>(j)] : 0.0;
                for (int64_t k = 0; k < c_.k; ++k) {
                    const auto ia = static_cast<size_t>(c_.a_turned ? k * c_.m + i : i * c_.k + k);
                    const auto ib = static_cast<size_t>(c_.b_turned ? j * c_.k + k : k * c_.n + j);
                    sum += rounds ? static_cast<double>(widened(half_a[ia])) * widened(half_b[ib])
                                  : static_cast<double>(a[ia]) * b[ib];
                }
                const double computed = c_.result == DType::BF16 ? widened(half_result[at(i, j)]) : result[at(i, j)];
                const double difference = std::abs(computed - sum) / std::sqrt(static_cast<double>(c_.k));
                if (!(difference <= largest)) largest = difference;
            }
        }
        return largest;
    }
    std::vector<float> a, b, result, bias, start;
    std::vector<uint16_t> half_a, half_b, half_result;

 private:
    size_t at(int64_t i, int64_t j) const { return static_cast<size_t>(i * c_.n + j); }
    float draw() { return std::uniform_real_distribution<float>(-1, 1)(random_); }
    Case c_;
    std::mt19937_64 random_;
};

void expect_right(const Case& c) {
    Operands operands(c);
    multiply(operands.product());
    EXPECT_LT(operands.error(), c.result == DType::BF16 ? 6e-3 : 1e-6)
        << c.m << "x" << c.n << "x" << c.k << " turned " << c.a_turned << c.b_turned << " type " << name(c.type)
        << " half " << c.is_half << " result " << name(c.result);
}

TEST(Gemm, IsTheSumOfProducts) {
    std::mt19937 random(3);
    const auto draw = [&](int most) { return 1 + static_cast<int64_t>(random() % static_cast<unsigned>(most)); };
    for (int i = 0; i < 60; ++i) {
        Case c{draw(60), draw(90), draw(900), (i & 1) != 0, (i & 2) != 0};
        c.adds = (i & 4) != 0;
        c.has_bias = !c.adds && (i & 8) != 0;
        expect_right(c);
        c.type = DType::BF16;
        expect_right(c);
        c.is_half = true;
        expect_right(c);
        c.type = DType::F32;
        expect_right(c);
        if (c.adds) continue;
        c.result = DType::BF16;
        expect_right(c);
    }
}

// A fixed scratch would overflow where k is a vocabulary, of any kind of result.
TEST(Gemm, TakesSumsAsLongAsAVocabulary) {
    expect_right({5, 35, 50304, false, false});
    expect_right({13, 3, 50257, true, true});
    Case c{7, 40, 50304, false, true, DType::BF16, true, DType::BF16};
    expect_right(c);
}

TEST(Gemm, TakesOneRowColumnOrTerm) {
    for (bool a : {false, true}) {
        for (bool b : {false, true}) {
            expect_right({1, 1, 1, a, b});
            expect_right({1, 200, 33, a, b});
            expect_right({200, 1, 33, a, b});
            expect_right({20, 70, 1, a, b, DType::BF16, true});
        }
    }
}

TEST(Gemm, PartsComputedApartHaveTheSameBits) {
    const Case c{50, 70, 1000, false, true};
    Operands whole(c), parts(c);
    multiply(whole.product());
    for (int64_t first : {0, 7, 31}) {
        const int64_t end = first == 0 ? 7 : first == 7 ? 31 : c.m;
        Product p = parts.product();
        p.m = end - first;
        p.a.data = parts.a.data() + first * c.k;
        p.c = parts.result.data() + first * c.n;
        multiply(p);
    }
    EXPECT_EQ(whole.result, parts.result);
}

TEST(Gemm, RoundsToTheNearestHalf) {
    EXPECT_EQ(f32_to_bf16(1.0f), 0x3F80);
    EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3F808000u)), 0x3F80);  // a tie, to the even one
    EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3F818000u)), 0x3F82);
    EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3F808001u)), 0x3F81);
    EXPECT_EQ(f32_to_bf16(INFINITY), 0x7F80);
    EXPECT_TRUE(std::isnan(widened(f32_to_bf16(std::bit_cast<float>(0x7F800001u)))));
    EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7F80);
}

}  // namespace
}  // namespace toy::kernels
