#pragma once
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "run/run_history.h"

namespace toy::cli {

/// What `toy runs` prints, as text and as JSON.
std::string runs_table(std::span<const RunHistory> runs);
std::string run_text(const RunHistory& run);
nlohmann::ordered_json run_json(const RunHistory& run);

/// A comparison of a run with a baseline, and the names of both.
struct NamedComparison {
    std::string run, baseline;
    RunComparison result;
};
std::string comparison_text(std::span<const NamedComparison> comparisons);
nlohmann::ordered_json comparison_json(const NamedComparison& comparison);

}  // namespace toy::cli
