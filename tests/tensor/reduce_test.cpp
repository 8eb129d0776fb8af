#include <algorithm>
#include <numeric>

#include "tensor/computation.h"

namespace toy::test {
namespace {

std::vector<std::vector<double>> rows_of(Tensor x) {
    const std::vector<double> values = Computation::values_of(x);
    const auto columns = static_cast<size_t>(x.layout().ne[0]);
    std::vector<std::vector<double>> rows;
    for (size_t i = 0; i < values.size(); i += columns) {
        rows.emplace_back(values.begin() + static_cast<ptrdiff_t>(i),
                          values.begin() + static_cast<ptrdiff_t>(i + columns));
    }
    return rows;
}

double sum_of(const std::vector<double>& row) { return std::accumulate(row.begin(), row.end(), 0.0); }
double sum_of_squares(const std::vector<double>& row) {
    return std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
}

// ---- norms ----

TEST(Norms, FollowTheirFormulas) {
    constexpr float eps = 1e-3f;
    for (int threads : {1, 2, 3}) {
        Computation c;
        const Tensor x = slice(c.random({2, 5, 40}, 3), 2, 3, 33);
        const Tensor weight = c.random({33}), bias = c.random({33});
        const std::vector<Tensor> y = {rms_norm(x, {}, eps), rms_norm(x, weight, eps), layer_norm(x, {}, {}, eps),
                                       layer_norm(x, weight, bias, eps), l2_norm(x, eps)};
        for (const Tensor& result : y) c.graph.output(result);
        c.result(y[0], threads);
        const std::vector<double> w = Computation::values_of(weight), b = Computation::values_of(bias);
        std::vector<std::vector<double>> expected(y.size());
        for (const std::vector<double>& row : rows_of(x)) {
            const double n = static_cast<double>(row.size()), mean = sum_of(row) / n;
            const double rms = std::sqrt(sum_of_squares(row) / n + eps);
            const double deviation = std::sqrt(sum_of_squares(row) / n - mean * mean + eps);
            const double length = std::max<double>(std::sqrt(sum_of_squares(row)), eps);
            for (size_t i = 0; i < row.size(); ++i) {
                expected[0].push_back(row[i] / rms);
                expected[1].push_back(row[i] / rms * w[i]);
                expected[2].push_back((row[i] - mean) / deviation);
                expected[3].push_back((row[i] - mean) / deviation * w[i] + b[i]);
                expected[4].push_back(row[i] / length);
            }
        }
        for (size_t i = 0; i < y.size(); ++i) EXPECT_LT(largest_error(read_f32(y[i]), expected[i]), 2e-6) << i;
    }
}

TEST(Norms, RefuseAnEpsThatIsNoNumber) {
    Graph g;
    const Tensor x = g.input("x", DType::F32, {2, 4});
    for (float eps : {-1e-5f, NAN, INFINITY}) {
        EXPECT_NE(error_of([&] { rms_norm(x, {}, eps); }).find("eps is"), std::string::npos) << eps;
        EXPECT_NE(error_of([&] { layer_norm(x, {}, {}, eps); }).find("eps is"), std::string::npos) << eps;
        EXPECT_NE(error_of([&] { l2_norm(x, eps); }).find("eps is"), std::string::npos) << eps;
    }
}

// ---- sums ----

TEST(Sums, OfAllOfRowsAndTheirMeans) {
    Computation c;
    const Tensor x = slice(c.random({3, 4, 50}), 2, 1, 45);
    const Tensor all = sum(x), rows = sum_rows(x), means = mean_rows(x);
    EXPECT_EQ(rows.layout().describe(), "f32 [3, 4, 1]");
    c.graph.output(rows);
    c.graph.output(means);
    const std::vector<float> total = c.result(all, 2);
    std::vector<double> sums, averages;
    for (const std::vector<double>& row : rows_of(x)) {
        sums.push_back(sum_of(row));
        averages.push_back(sum_of(row) / 45);
    }
    EXPECT_LT(largest_error(total, {sum_of(sums)}), 1e-5);
    EXPECT_LT(largest_error(read_f32(rows), sums), 1e-5);
    EXPECT_LT(largest_error(read_f32(means), averages), 1e-6);
}

// ---- choices ----

std::vector<int32_t> sorted_indices(const std::vector<double>& row, bool descending) {
    std::vector<int32_t> order(row.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
        const double x = row[static_cast<size_t>(a)], y = row[static_cast<size_t>(b)];
        return descending ? x > y : x < y;
    });
    return order;
}

TEST(Choices, ArgSortIsStable) {
    for (int threads : {1, 2, 3}) {
        for (bool descending : {false, true}) {
            std::vector<float> values = random_values(7 * 50, 3, 5);
            for (float& value : values) value = std::round(value);  // many are equal
            Computation c;
            const Tensor x = c.input({7, 50}, values);
            const std::vector<int32_t> result = c.integers(argsort(x, descending), threads);
            std::vector<int32_t> expected;
            for (const std::vector<double>& row : rows_of(x)) {
                const std::vector<int32_t> order = sorted_indices(row, descending);
                expected.insert(expected.end(), order.begin(), order.end());
            }
            EXPECT_EQ(result, expected);
        }
    }
}

// ggml gives std::sort a comparison that NaN breaks, which may then read outside the row.
TEST(Choices, ArgSortPutsNaNLastWhateverTheOrder) {
    std::vector<float> values(1000);
    for (size_t i = 0; i < values.size(); ++i) values[i] = i % 3 == 0 ? NAN : static_cast<float>(i * 7919 % 1000);
    for (bool descending : {false, true}) {
        Computation c;
        const std::vector<int32_t> order = c.integers(argsort(c.input({1000}, values), descending), 2);
        std::vector<int32_t> seen = order;
        std::sort(seen.begin(), seen.end());
        for (size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], static_cast<int32_t>(i));
        for (size_t i = 1; i < order.size(); ++i) {
            const float a = values[static_cast<size_t>(order[i - 1])], b = values[static_cast<size_t>(order[i])];
            ASSERT_TRUE(std::isnan(b) || (descending ? a >= b : a <= b)) << i;
        }
    }
}

TEST(Choices, TopKHasTheOrderOfGgml) {
    for (int k : {1, 2, 5}) {
        Computation c;
        const Tensor x = c.random({3, 4, 30});
        const std::vector<int32_t> result = c.integers(top_k(x, k), 3);
        std::vector<int32_t> expected;
        for (const std::vector<double>& row : rows_of(x)) {
            std::vector<int32_t> order = sorted_indices(row, true);
            if (k > 1) std::swap(order[0], order[1]);
            expected.insert(expected.end(), order.begin(), order.begin() + k);
        }
        EXPECT_EQ(result, expected) << k;
    }
}

TEST(Choices, ArgMaxTakesTheLastOfEqualValues) {
    Computation c;
    const Tensor x = c.input({2, 5}, {1, 7, 3, 7, 2, -1, -5, -1, -9, -2});
    EXPECT_EQ(c.integers(argmax(x)), (std::vector<int32_t>{3, 2}));
}

TEST(Choices, AreRefusedOutsideTheRow) {
    Graph g;
    const Tensor x = g.input("x", DType::F32, {2, 4});
    EXPECT_NE(error_of([&] { top_k(x, 5); }).find("5 cannot be chosen of 4"), std::string::npos);
    EXPECT_NE(error_of([&] { top_k(x, 0); }).find("0 cannot be chosen of 4"), std::string::npos);
    EXPECT_NE(error_of([&] { top_k(x, -1); }).find("-1 cannot be chosen of 4"), std::string::npos);
}

TEST(CrossEntropy, IsTheMeanOverRows) {
    for (int threads : {1, 2, 3}) {
        std::vector<float> targets(6 * 20, 0.0f);
        for (size_t row = 0; row < 6; ++row) {
            targets[row * 20 + row] = 0.75f;
            targets[row * 20 + 2 * row] += 0.25f;
        }
        Computation c;
        const Tensor logits = c.random({6, 20}, 5), p = c.input({6, 20}, targets);
        const std::vector<float> result = c.result(cross_entropy_rows(logits, p), threads);
        double loss = 0;
        size_t i = 0;
        for (const std::vector<double>& row : rows_of(logits)) {
            double sum = 0;
            for (double x : row) sum += std::exp(x);
            for (double x : row) loss -= (x - std::log(sum)) * static_cast<double>(targets[i++]);
        }
        EXPECT_LT(largest_error(result, {loss / 6}), 2e-6);
    }
}

}  // namespace
}  // namespace toy::test
