#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "core/error.h"
#include "tensor/graph.h"
#include "tensor/ops.h"
#include "tensor/params.h"
#include "tensor/runner.h"
#include "tensor/transfer.h"

// What the numeric tests of operators share: one computation with given inputs, and references in float64.

namespace toy::test {

/// `n` values of a uniform distribution between -scale and scale.
inline std::vector<float> random_values(int64_t n, uint64_t seed, float scale = 1.0f) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<float> uniform(-scale, scale);
    std::vector<float> values(static_cast<size_t>(n));
    for (float& value : values) value = uniform(random);
    return values;
}

/// A graph with inputs that have values from the start.
class Computation {
 public:
    Tensor input(DType type, std::initializer_list<int64_t> dims, const std::vector<float>& values) {
        const Tensor tensor = graph.input("t" + std::to_string(inputs_++), type, dims);
        writes_.push_back([tensor, values] { write_f32(tensor, values); });
        return tensor;
    }
    Tensor input(std::initializer_list<int64_t> dims, const std::vector<float>& values) {
        return input(DType::F32, dims, values);
    }
    /// Random values.
    Tensor random(std::initializer_list<int64_t> dims, float scale = 1.0f, DType type = DType::F32) {
        const int64_t count = packed(DType::F32, dims).elements();
        return input(type, dims, random_values(count, 1000 + static_cast<uint64_t>(inputs_), scale));
    }
    Tensor indices(std::initializer_list<int64_t> dims, const std::vector<int32_t>& values) {
        const Tensor tensor = graph.input("t" + std::to_string(inputs_++), DType::I32, dims);
        writes_.push_back([tensor, values] { write(tensor, std::span(values)); });
        return tensor;
    }

    /// Computes y on that many threads. Inputs get their values again, for operators that write in place.
    std::vector<float> result(Tensor y, int threads = 1) {
        run(y, threads);
        return read_f32(y);
    }
    std::vector<int32_t> integers(Tensor y, int threads = 1) {
        run(y, threads);
        return read_i32(y);
    }
    /// The present values of a tensor, in float64.
    static std::vector<double> values_of(Tensor x) {
        const std::vector<float> values = read_f32(x);
        return {values.begin(), values.end()};
    }

    Graph graph;

 private:
    void run(Tensor y, int threads) {
        if (!graph.is_allocated()) {
            graph.output(y);
            graph.allocate(Device::cpu());
        }
        for (const auto& write : writes_) write();
        Runner(Device::cpu(), threads).run(graph);
    }

    int inputs_ = 0;
    std::vector<std::function<void()>> writes_;
};

/// The largest |x − expected| / max(1, |expected|), or infinity where sizes differ or one is NaN and the other is not.
inline double largest_error(const std::vector<float>& x, const std::vector<double>& expected) {
    if (x.size() != expected.size()) return std::numeric_limits<double>::infinity();
    double largest = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        if (x[i] == expected[i] || (std::isnan(x[i]) && std::isnan(expected[i]))) continue;
        const double error = std::abs(x[i] - expected[i]) / std::max(1.0, std::abs(expected[i]));
        largest = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(largest, error);
    }
    return largest;
}

/// Root of the sum of squared errors, relative to that of the expected values.
inline double relative_error(const std::vector<float>& x, const std::vector<double>& expected) {
    if (x.size() != expected.size()) return std::numeric_limits<double>::infinity();
    double errors = 0, squares = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        errors += (x[i] - expected[i]) * (x[i] - expected[i]);
        squares += expected[i] * expected[i];
    }
    return std::sqrt(errors / std::max(squares, 1e-300));
}

inline std::string error_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

}  // namespace toy::test
