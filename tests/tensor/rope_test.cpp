#include <numbers>

#include "tensor/computation.h"

namespace toy::test {
namespace {

// The angle by which pair i of `dims` elements is turned at a position, and the magnitude, after YaRN (arXiv
// 2309.00071, section 3): frequencies that turn more than beta_fast times over the context of training stay, those that
// turn less than beta_slow times are interpolated by frequency_scale, a ramp between; magnitude 1 + 0.1·ln(1/scale).
struct Turn {
    double angle, magnitude;
};

Turn turn_of(const Rope& how, int64_t i, double position, double factor) {
    const double dims = how.dims;
    const double theta = position * std::pow(how.base, -2.0 * static_cast<double>(i) / dims) / factor;
    const double interpolated = how.frequency_scale * theta;
    if (how.ext_factor == 0.0f) return {interpolated, how.attn_factor};
    const auto pair_that_turns = [&](double turns) {
        return dims * std::log(how.original_context / (turns * 2 * std::numbers::pi)) / (2 * std::log(how.base));
    };
    const double low = std::max(0.0, std::floor(pair_that_turns(how.beta_fast)));
    const double high = std::min(dims - 1, std::ceil(pair_that_turns(how.beta_slow)));
    const double ramp = 1 - std::min(1.0, std::max(0.0, (static_cast<double>(i) - low) / std::max(0.001, high - low)));
    const double mix = ramp * how.ext_factor;
    return {interpolated * (1 - mix) + theta * mix, how.attn_factor * (1 + 0.1 * std::log(1.0 / how.frequency_scale))};
}

// x [T, H, d] turned forward, or by `direction` -1 back.
std::vector<double> turned(const std::vector<double>& x, const Layout& layout, const std::vector<int32_t>& positions,
                           const Rope& how, const std::vector<float>& factors, int direction) {
    std::vector<double> y = x;
    const int64_t d = layout.ne[0], heads = layout.ne[1];
    for (int64_t row = 0; row < layout.rows(); ++row) {
        const double position = positions[static_cast<size_t>(row / heads)];
        for (int64_t i = 0; i < how.dims / 2; ++i) {
            const double factor = factors.empty() ? 1.0 : static_cast<double>(factors[static_cast<size_t>(i)]);
            const Turn turn = turn_of(how, i, position, factor);
            const bool is_neox = how.order == Rope::Order::neox;
            const auto first = static_cast<size_t>(row * d + (is_neox ? i : 2 * i));
            const size_t second = first + static_cast<size_t>(is_neox ? how.dims / 2 : 1);
            const double c = std::cos(turn.angle) * turn.magnitude;
            const double s = std::sin(turn.angle) * turn.magnitude * direction;
            y[first] = x[first] * c - x[second] * s;
            y[second] = x[first] * s + x[second] * c;
        }
    }
    return y;
}

struct RopeCase {
    const char* what;
    Rope how;
    bool has_factors = false;
};

std::vector<RopeCase> rope_cases() {
    std::vector<RopeCase> cases;
    for (const Rope::Order order : {Rope::Order::normal, Rope::Order::neox}) {
        Rope how;
        how.order = order;
        how.dims = 32;
        cases.push_back({"plain", how});
        cases.push_back({"factors", how, true});
        how.dims = 20;
        cases.push_back({"part of a head", how});
        cases.push_back({"part of a head with factors", how, true});
        how.dims = 32;
        how.base = 500000.0f;
        how.frequency_scale = 0.25f;
        cases.push_back({"linear", how});
        how.ext_factor = 1.0f;
        how.original_context = 64;
        cases.push_back({"yarn", how});
        how.ext_factor = 0.5f;
        how.attn_factor = 1.2f;
        how.beta_fast = 16.0f;
        how.beta_slow = 2.0f;
        cases.push_back({"yarn with other parameters", how, true});
    }
    return cases;
}

constexpr int64_t k_tokens = 5, k_heads = 3, k_width = 32;
const std::vector<int32_t> k_positions = {0, 1, 7, 100, 255};

void expect_turned(const RopeCase& rope_case, Tensor (*op)(Operand, Tensor, const Rope&, Tensor), int direction) {
    std::vector<float> values(static_cast<size_t>(rope_case.how.dims) / 2);
    for (size_t i = 0; i < values.size(); ++i) values[i] = 1.0f + 0.3f * static_cast<float>(i % 4);
    const std::vector<float> used = rope_case.has_factors ? values : std::vector<float>();
    Computation c;
    const Tensor x = c.random({k_tokens, k_heads, k_width});
    Tensor factors;
    if (rope_case.has_factors) factors = c.input({static_cast<int64_t>(values.size())}, values);
    const Tensor y = op(x, c.indices({k_tokens}, k_positions), rope_case.how, factors);
    for (int threads : {1, 2, 3}) {
        const std::vector<float> result = c.result(y, threads);
        const std::vector<double> expected =
            turned(Computation::values_of(x), x.layout(), k_positions, rope_case.how, used, direction);
        // ggml multiplies up the angles in float32: at position 255 that costs a few 1e-5.
        EXPECT_LT(largest_error(result, expected), 6e-5) << rope_case.what << ", " << threads << " threads";
    }
}

TEST(Rope, TurnsPairsByTheirAngles) {
    for (const RopeCase& rope_case : rope_cases()) expect_turned(rope_case, rope, 1);
}

TEST(Rope, BackTurnsThemBack) {
    for (const RopeCase& rope_case : rope_cases()) expect_turned(rope_case, rope_back, -1);
}

// lcpp#3974: the gradient went wrong when YaRN changed the rotation. Turning there and back is a multiple of x.
TEST(Rope, ThereAndBackIsTheSquareOfTheMagnitude) {
    Rope how = rope_cases()[6].how;
    Computation c;
    const Tensor x = c.random({k_tokens, k_heads, k_width});
    const Tensor positions = c.indices({k_tokens}, k_positions);
    const std::vector<float> result = c.result(rope_back(rope(x, positions, how), positions, how));
    std::vector<double> expected = Computation::values_of(x);
    const double magnitude = turn_of(how, 0, 1.0, 1.0).magnitude;
    for (double& value : expected) value *= magnitude * magnitude;
    EXPECT_LT(largest_error(result, expected), 1e-5);
}

TEST(Rope, TakesSlicesAndFloat16) {
    const Rope how = rope_cases()[0].how;
    Computation c;
    const Tensor wide = c.random({k_tokens, 2 * k_heads * k_width});
    const Tensor x = heads(split(wide, {k_heads * k_width, k_heads * k_width})[1], k_heads);
    const Tensor half = cast(x, DType::F16);
    const Tensor positions = c.indices({k_tokens}, k_positions);
    const Tensor y = rope(x, positions, how), z = rope(half, positions, how);
    c.graph.output(z);
    c.graph.output(half);
    const std::vector<float> result = c.result(y, 2);
    const std::vector<double> expected = turned(Computation::values_of(x), x.layout(), k_positions, how, {}, 1);
    EXPECT_LT(largest_error(result, expected), 6e-5);
    EXPECT_LT(largest_error(read_f32(z), expected), 2e-3);
}

TEST(Rope, NoneAddsNoNodeAndNonsenseIsRefused) {
    Graph g;
    const Tensor x = g.input("x", DType::F32, {4, 2, 8}), positions = g.input("p", DType::I32, {4});
    EXPECT_EQ(rope(x, positions, {}), x);
    const auto said = [&](Rope how) {
        const std::string text = error_of([&] { rope(x, positions, how); });
        return text.substr(std::min(text.size(), text.find(": ") + 2));
    };
    Rope how{.order = Rope::Order::neox, .dims = 8};
    how.base = -1.0f;
    EXPECT_EQ(said(how), "the rope base is -1, but must be positive");
    how.base = NAN;
    EXPECT_EQ(said(how), "the rope base is nan, but must be positive");
    how.base = 10000.0f;
    how.dims = 7;
    EXPECT_EQ(said(how), "7 of 8 elements cannot be rotated: both must be even numbers");
    how.dims = 8;
    how.ext_factor = 1.0f;
    EXPECT_EQ(said(how), "YaRN needs the context length of training, not 0");
    how.ext_factor = INFINITY;
    EXPECT_EQ(said(how), "a parameter of the rotation is inf");
}

}  // namespace
}  // namespace toy::test
