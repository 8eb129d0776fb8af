#include "cli/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/metadata_text.h"
#include "cli/numbers.h"
#include "cli/version.h"

namespace toy::cli {
namespace {

std::string line(const std::vector<std::string>& cells) {
    constexpr std::array<int, 10> k_widths = {26, 10, 8, 7, 5, 3, 6, 5, 16, 18};
    std::string text = "|";
    for (size_t i = 0; i < cells.size(); ++i) {
        const bool is_text = i == 0;
        text +=
            is_text ? fmt::format(" {:<{}} |", cells[i], k_widths[i]) : fmt::format(" {:>{}} |", cells[i], k_widths[i]);
    }
    return text + "\n";
}

}  // namespace

std::string BenchCase::test() const {
    const std::string name = prompt > 0 ? fmt::format("pp{}", prompt) : fmt::format("tg{}", generate);
    return depth > 0 ? fmt::format("{} @ d{}", name, depth) : name;
}

std::vector<double> BenchCase::speeds() const {
    std::vector<double> all;
    for (double s : seconds) all.push_back(static_cast<double>(prompt + generate) / s);
    return all;
}

double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_deviation(const std::vector<double>& values) {
    if (values.size() < 2) return 0;
    const double centre = mean(values);
    double sum = 0;
    for (double v : values) sum += (v - centre) * (v - centre);
    return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const size_t n = values.size();
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

std::string BenchReport::head() const {
    return line({"model", "size", "params", "threads", "kv", "fa", "repack", "chunk", "test", "tokens/s"}) +
           "|:---------------------------|-----------:|---------:|--------:|------:|----:|-------:|------:|"
           "-----------------:|-------------------:|\n";
}

std::string BenchReport::row(const BenchCase& one) const {
    const std::vector<double> speeds = one.speeds();
    const auto on = [](bool value) { return std::string(value ? "on" : "off"); };
    return line({shown_name(model_.file.path().stem().string()), human_bytes(model_.weight_bytes()),
                 human_count(model_.parameter_count()), std::to_string(one.options.threads),
                 std::string(name(one.options.cache_type)), on(one.options.flash_attention), on(one.options.repack),
                 std::to_string(one.options.chunk), one.test(),
                 fmt::format("{:.2f} ± {:.2f}", mean(speeds), standard_deviation(speeds))});
}

nlohmann::ordered_json BenchReport::json(const std::vector<BenchCase>& cases) const {
    using Json = nlohmann::ordered_json;
    Json results = Json::array();
    for (const BenchCase& one : cases) {
        const std::vector<double> speeds = one.speeds();
        std::vector<int64_t> nanoseconds;
        for (double s : one.seconds) nanoseconds.push_back(std::llround(s * 1e9));
        results.push_back({{"test", one.test()},
                           {"n_prompt", one.prompt},
                           {"n_gen", one.generate},
                           {"n_depth", one.depth},
                           {"threads", one.options.threads},
                           {"kv_type", name(one.options.cache_type)},
                           {"flash_attention", one.options.flash_attention},
                           {"repack", one.options.repack},
                           {"chunk", one.options.chunk},
                           {"avg_ts", mean(speeds)},
                           {"stddev_ts", standard_deviation(speeds)},
                           {"median_ts", median(speeds)},
                           {"samples_ts", speeds},
                           {"samples_ns", nanoseconds}});
    }
    const Device& device = model_.params.device();
    return {{"format", "toy/bench-v1"},
            {"toy_version", version()},
            {"ggml", ggml_description()},
            {"build", build_description()},
            {"device", device.name()},
            {"device_description", device.description()},
            {"model", model_.file.path().string()},
            {"family", model_.spec().architecture},
            {"size_b", model_.weight_bytes()},
            {"n_params", model_.parameter_count()},
            {"results", results}};
}

}  // namespace toy::cli
