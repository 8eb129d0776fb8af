#include <algorithm>
#include <cstring>

#include "tensor/computation.h"

namespace toy::test {
namespace {

using Function = double (*)(double, double);

struct BinaryCase {
    const char* name;
    Tensor (*op)(Operand, Tensor);
    Function reference;
};

const std::vector<BinaryCase> k_binaries = {
    {"add", [](Operand x, Tensor y) { return x + y; }, [](double a, double b) { return a + b; }},
    {"sub", [](Operand x, Tensor y) { return x - y; }, [](double a, double b) { return a - b; }},
    {"mul", [](Operand x, Tensor y) { return x * y; }, [](double a, double b) { return a * b; }},
    {"div", [](Operand x, Tensor y) { return x / y; }, [](double a, double b) { return a / b; }},
};

// y repeated along each axis, in ggml's order of axes.
std::vector<double> broadcast(const Tensor& x, const Tensor& y, Function function) {
    const std::vector<double> a = Computation::values_of(x), b = Computation::values_of(y);
    const auto &n = x.layout().ne, &m = y.layout().ne;
    std::vector<double> result;
    for (int64_t i3 = 0, i = 0; i3 < n[3]; ++i3) {
        for (int64_t i2 = 0; i2 < n[2]; ++i2) {
            for (int64_t i1 = 0; i1 < n[1]; ++i1) {
                for (int64_t i0 = 0; i0 < n[0]; ++i0, ++i) {
                    const int64_t j = ((i3 % m[3] * m[2] + i2 % m[2]) * m[1] + i1 % m[1]) * m[0] + i0 % m[0];
                    result.push_back(function(a[static_cast<size_t>(i)], b[static_cast<size_t>(j)]));
                }
            }
        }
    }
    return result;
}

TEST(Elementwise, BinaryOperatorsRepeatTheSecondOperandAlongEachAxis) {
    const std::vector<std::vector<int64_t>> shapes = {
        {2, 3, 4, 6}, {1, 1, 1, 6}, {2, 1, 4, 1}, {1, 3, 2, 3}, {1, 1, 1, 1}};
    for (const BinaryCase& binary : k_binaries) {
        for (const auto& s : shapes) {
            for (int threads : {1, 2, 3}) {
                Computation c;
                const Tensor x = c.random({2, 3, 4, 6});
                const Tensor y = c.random({s[0], s[1], s[2], s[3]});
                const std::vector<float> result = c.result(binary.op(x, y), threads);
                EXPECT_LT(largest_error(result, broadcast(x, y, binary.reference)), 1e-6) << binary.name;
            }
        }
    }
}

TEST(Elementwise, BinaryOperatorsTakeHalfTypesAndViews) {
    const std::vector<std::pair<DType, DType>> types = {
        {DType::F16, DType::F16}, {DType::F16, DType::F32}, {DType::BF16, DType::BF16}, {DType::BF16, DType::F32}};
    for (const BinaryCase& binary : k_binaries) {
        for (const auto& [first, second] : types) {
            Computation c;
            const Tensor x = slice(c.random({5, 32}, 1.0f, first), 1, 3, 20);
            const Tensor y = slice(c.random({5, 32}, 1.0f, second), 1, 7, 20);
            const Tensor z = binary.op(x, y);
            EXPECT_EQ(z.dtype(), first);
            const double tolerance = first == DType::F16 ? 1e-3 : 8e-3;
            const std::vector<float> result = c.result(z, 2);
            EXPECT_LT(largest_error(result, broadcast(x, y, binary.reference)), tolerance) << binary.name;
        }
    }
}

struct UnaryCase {
    const char* name;
    Tensor (*op)(Operand);
    double (*reference)(double);
    float scale;
};

double sigmoid_of(double x) { return 1.0 / (1.0 + std::exp(-x)); }

TEST(Elementwise, UnaryOperatorsFollowTheirFormulas) {
    const std::vector<UnaryCase> unaries = {
        {"silu", silu, [](double x) { return x * sigmoid_of(x); }, 10},
        {"relu", relu, [](double x) { return std::max(x, 0.0); }, 10},
        {"tanh", toy::tanh, [](double x) { return std::tanh(x); }, 5},
        {"sigmoid", sigmoid, sigmoid_of, 10},
        {"exp", toy::exp, [](double x) { return std::exp(x); }, 10},
        {"log", toy::log, [](double x) { return std::log(x); }, 10},
        {"sqrt", toy::sqrt, [](double x) { return std::sqrt(x); }, 10},
        {"square", square, [](double x) { return x * x; }, 10},
        {"negate", negate, [](double x) { return -x; }, 10},
        {"softplus", softplus, [](double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); },
         30},
    };
    for (const UnaryCase& unary : unaries) {
        for (int threads : {1, 2, 3}) {
            Computation c;
            const Tensor x = slice(c.random({3, 7, 40}, unary.scale), 2, 4, 33);
            const std::vector<float> result = c.result(unary.op(x), threads);
            std::vector<double> expected = Computation::values_of(x);
            for (double& value : expected) value = unary.reference(value);
            EXPECT_LT(largest_error(result, expected), 2e-6) << unary.name;
        }
    }
}

TEST(Elementwise, ScalesByOneAndSoftCapsOfZeroAddNoNode) {
    Computation c;
    const Tensor x = c.random({4});
    EXPECT_EQ(x * 1.0f, x);
    EXPECT_EQ(softcap(x, 0.0f), x);
    EXPECT_EQ(c.graph.nodes().size(), 1u);
}

TEST(Elementwise, SoftCapIsAScaledTanh) {
    Computation c;
    const Tensor x = c.random({100}, 200);
    const std::vector<float> result = c.result(softcap(x, 30.0f));
    std::vector<double> expected = Computation::values_of(x);
    for (double& value : expected) value = 30.0 * std::tanh(value / 30.0);
    EXPECT_LT(largest_error(result, expected), 2e-6);
    EXPECT_EQ(error_of([&] { softcap(x, NAN); }), "a soft-cap cannot be nan");
    EXPECT_EQ(error_of([&] { softcap(x, -1.0f); }), "a soft-cap cannot be -1");
}

// ---- GELU: exact to float32 rounding ----

// Distance in units of the last place of a float32.
int64_t ulps(float x, double expected) {
    const auto ordered = [](float value) {
        int32_t bits = 0;
        std::memcpy(&bits, &value, sizeof bits);
        return bits < 0 ? int64_t{INT32_MIN} - bits : int64_t{bits};
    };
    return std::abs(ordered(x) - ordered(static_cast<float>(expected)));
}

// The double nearest to the float32 formula: √(2/π)·(x + 0.044715·x³) is rounded like any argument, but here in
// float64.
double gelu_of(double x) {
    const long double z = static_cast<long double>(x);
    const long double u = 0.797884560802865355879892119869L * (z + 0.044715L * z * z * z);
    return static_cast<double>(z / (1.0L + std::exp(-2.0L * u)));
}

double gelu_erf_of(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }

// Every magnitude that matters: a dense grid, powers of two, and values beyond either tail.
std::vector<float> gelu_arguments() {
    std::vector<float> x;
    for (int i = -200000; i <= 200000; i += 7) x.push_back(static_cast<float>(i) / 16384.0f);
    for (int e = -140; e <= 127; ++e) {
        for (float sign : {-1.0f, 1.0f}) x.push_back(sign * std::ldexp(1.1f, e));
    }
    for (float special : {0.0f, -0.0f, 1e30f, -1e30f, 3e38f, -3e38f}) x.push_back(special);
    return x;
}

void expect_exact_gelu(Tensor (*op)(Operand), double (*reference)(double), int64_t most_ulps) {
    const std::vector<float> x = gelu_arguments();
    Computation c;
    const Tensor y = op(c.input({static_cast<int64_t>(x.size())}, x));
    std::vector<float> on_one_thread;
    for (int threads : {1, 2, 3}) {
        const std::vector<float> result = c.result(y, threads);
        if (threads == 1) on_one_thread = result;
        EXPECT_EQ(result, on_one_thread) << "threads change the values";
        int64_t worst = 0;
        for (size_t i = 0; i < x.size(); ++i) {
            const double expected = reference(x[i]);
            // Near the end of float32's range relative precision ends too.
            if (std::abs(expected) < 1e-37) {
                ASSERT_NEAR(result[i], expected, 1e-37) << x[i];
                continue;
            }
            const int64_t distance = ulps(result[i], expected);
            ASSERT_LE(distance, most_ulps) << "at " << x[i] << ": " << result[i] << " for " << expected;
            worst = std::max(worst, distance);
        }
        testing::Test::RecordProperty("worst_ulps", static_cast<int>(worst));
    }
}

TEST(Gelu, IsExactToFloat32Rounding) { expect_exact_gelu(gelu, gelu_of, 4); }
TEST(Gelu, ErfFormIsExactToFloat32Rounding) { expect_exact_gelu(gelu_erf, gelu_erf_of, 6); }

TEST(Gelu, PassesInfinitiesAndNaN) {
    const std::vector<float> x = {INFINITY, -INFINITY, NAN};
    for (Tensor (*op)(Operand) : {gelu, gelu_erf}) {
        Computation c;
        const std::vector<float> y = c.result(op(c.input({3}, x)));
        EXPECT_EQ(y[0], INFINITY);
        EXPECT_EQ(y[1], 0.0f);
        EXPECT_TRUE(std::isnan(y[2]));
    }
}

TEST(Gated, ProductsOfAnActivatedGate) {
    for (int threads : {1, 2, 3}) {
        for (const bool is_gelu : {false, true}) {
            Computation c;
            const Tensor both = c.random({9, 2 * 37}, 4);
            const std::vector<Tensor> parts = split(both, {37, 37});
            const std::vector<float> result = c.result((is_gelu ? geglu : swiglu)(parts[0], parts[1]), threads);
            const std::vector<double> gate = Computation::values_of(parts[0]), up = Computation::values_of(parts[1]);
            std::vector<double> expected;
            for (size_t i = 0; i < gate.size(); ++i) {
                expected.push_back((is_gelu ? gelu_of(gate[i]) : gate[i] * sigmoid_of(gate[i])) * up[i]);
            }
            EXPECT_LT(largest_error(result, expected), 2e-6);
        }
    }
}

}  // namespace
}  // namespace toy::test
