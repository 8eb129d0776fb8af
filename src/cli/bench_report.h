#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/inference.h"

namespace toy::cli {

/// One test under one setting, and the time of each of its runs.
struct BenchCase {
    Inference::Options options;
    int64_t prompt = 0, generate = 0, depth = 0;
    std::vector<double> seconds = {};

    /// "pp512", "tg128 @ d4096".
    std::string test() const;
    /// Tokens per second of each run.
    std::vector<double> speeds() const;
};

double mean(const std::vector<double>& values);
/// Of a sample (divided by n − 1); 0 for one value.
double standard_deviation(const std::vector<double>& values);
double median(std::vector<double> values);

/// The table and the JSON (toy/bench-v1) of `toy bench`.
class BenchReport {
 public:
    explicit BenchReport(const Model& model) : model_(model) {}
    std::string head() const;
    std::string row(const BenchCase& one) const;
    nlohmann::ordered_json json(const std::vector<BenchCase>& cases) const;

 private:
    const Model& model_;
};

}  // namespace toy::cli
