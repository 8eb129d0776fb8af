#include "run/run_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "io/quote.h"
#include "run/checkpoints.h"
#include "run/event_reader.h"
#include "run/run_folder.h"
#include "run/run_lock.h"
#include "run/run_record.h"

namespace toy {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

void take_step(RunHistory& run, const Event& event) {
    const int64_t step = event.step.value_or(0);  // a step event has one
    const auto take = [&](const char* field) {
        const auto found = event.fields.find(field);
        if (found == event.fields.end()) return;
        run.scalars[fmt::format("train/{}", field)].push_back({step, event.t, found->get<double>()});
    };
    for (const char* field : {"loss", "lr", "grad_norm", "aux_loss"}) take(field);
    const auto tokens = event.fields["tokens"].get<int64_t>();
    const auto wall = event.fields["wall_us"].get<double>();
    if (wall > 0) {
        run.scalars["train/tokens_per_s"].push_back({step, event.t, static_cast<double>(tokens) * 1e6 / wall});
    }
    run.tokens += tokens;
    run.steps = step;
    run.loss = event.fields["loss"].get<double>();
}

void take_evaluation(RunHistory& run, const Event& event) {
    const std::string name = event.fields["name"];
    const int64_t step = event.step.value_or(run.steps);
    for (const char* field : {"loss", "ppl"}) {
        run.scalars[fmt::format("{}/{}", name, field)].push_back({step, event.t, event.fields[field].get<double>()});
    }
}

void take(RunHistory& run, Event event) {
    run.seconds = std::max(run.seconds, event.t);
    if (event.kind == "run_start") {
        run.started_at = event.fields["started_at"];
        run.arch = event.fields["model"]["arch"];
        run.model = event.fields["model"]["name"];
        run.compare_to = event.fields.value("compare_to", "");
        run.start = std::move(event.fields);
    } else if (event.kind == "step" && event.phase == Phase::train) {
        take_step(run, event);
    } else if (event.kind == "eval" && event.phase != Phase::serve) {
        take_evaluation(run, event);
    } else if (event.kind == "run_end") {
        run.state = event.fields["reason"];
        run.error = event.fields.value("error", "");
    }
}

void take_events(RunHistory& run) {
    EventReader reader(run.folder / "events.jsonl");
    while (auto event = reader.next()) take(run, std::move(*event));
    run.bad_lines = reader.bad_lines();
    run.unknown_kinds = reader.unknown_kinds();
    run.has_half_line = reader.has_half_line();
    const auto validation = run.scalars.find(run.validation_tag());
    if (validation == run.scalars.end()) return;
    run.validation_loss = validation->second.back().value;
    for (const Scalar& one : validation->second) {
        if (run.best_validation_loss && !(one.value < *run.best_validation_loss)) continue;
        run.best_validation_loss = one.value;
        run.best_step = one.step;
    }
}

std::vector<std::string> ids_in(const fs::path& runs) {
    std::vector<std::string> ids;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(runs, error)) {
        if (entry.is_directory(error)) ids.push_back(entry.path().filename().native());
    }
    std::sort(ids.begin(), ids.end());
    return ids;
}

}  // namespace

std::string validation_name(const std::vector<std::string>& evaluations) {
    if (evaluations.empty()) return "";
    const bool has_it = std::find(evaluations.begin(), evaluations.end(), "validation") != evaluations.end();
    return has_it ? "validation" : *std::min_element(evaluations.begin(), evaluations.end());
}

std::string RunHistory::validation_tag() const {
    constexpr std::string_view k_end = "/loss";
    std::vector<std::string> names;
    for (const auto& [tag, scalars_of_it] : scalars) {
        if (tag.ends_with(k_end) && tag != "train/loss") names.push_back(tag.substr(0, tag.size() - k_end.size()));
    }
    const std::string name = validation_name(names);
    return name.empty() ? "" : name + std::string(k_end);
}

RunHistory read_run(const fs::path& folder) {
    RunHistory run;
    run.folder = folder;
    run.id = run_id_of(folder);
    run.state = "stopped";
    try {
        run.record = read_run_json(folder);
    } catch (const Error& error) {
        run.fault = error.what();
    }
    std::error_code error;
    const bool has_damaged_record = !run.fault.empty() && fs::exists(folder / "run.json", error);
    try {
        take_events(run);
    } catch (const Error& cause) {
        if (run.fault.empty()) run.fault = cause.what();
    }
    run.checkpoints = checkpoint_steps(folder);
    // The older toy wrote no run.json, and a process may die between its run.json and its first event.
    if (has_damaged_record || (run.record.is_null() && run.start.is_null())) {
        run.state = "damaged";
        return run;
    }
    run.fault.clear();
    if (run.started_at.empty() && run.record.is_object()) run.started_at = run.record["created_at"];
    if (RunLock::is_held(folder)) run.state = "running";
    return run;
}

std::vector<RunHistory> read_runs(const fs::path& runs) {
    std::vector<RunHistory> all;
    for (const std::string& id : ids_in(runs)) all.push_back(read_run(runs / id));
    return all;
}

fs::path find_run(const std::string& word, const fs::path& runs) {
    std::error_code error;
    fs::path path(word);
    const bool holds_run = fs::exists(path / "run.json", error) || fs::exists(path / "events.jsonl", error);
    if (holds_run && !word.empty()) return path;
    if (word.find('/') != std::string::npos) bad_input("{}: holds no run (no run.json, no events.jsonl)", word);
    std::vector<std::string> matches;
    for (const std::string& id : ids_in(runs)) {
        if (id == word) return runs / id;
        if (id.starts_with(word) && !word.empty()) matches.push_back(id);
    }
    if (matches.size() == 1) return runs / matches[0];
    if (matches.empty()) {
        bad_input("there is no run {} in {}; `toy runs list` shows those that are there", quote(word), runs.native());
    }
    bad_input("{} begins the names of {} runs, {} and {} among them; write more of it", quote(word), matches.size(),
              quote(matches[0]), quote(matches[1]));
}

std::optional<RunComparison> compare_runs(const RunHistory& run, const RunHistory& baseline) {
    RunComparison comparison;
    const std::string tag = run.validation_tag();
    if (!tag.empty() && tag == baseline.validation_tag()) {
        comparison.metric = tag;
        comparison.loss = run.validation_loss.value_or(std::nan(""));
        comparison.baseline_loss = baseline.validation_loss.value_or(std::nan(""));
    } else if (run.loss && baseline.loss) {
        comparison.metric = "train/loss";
        comparison.loss = *run.loss;
        comparison.baseline_loss = *baseline.loss;
    } else {
        return std::nullopt;
    }
    comparison.loss_delta = comparison.loss - comparison.baseline_loss;
    comparison.ppl_ratio = std::exp(comparison.loss_delta);
    if (!std::isfinite(comparison.loss_delta)) {
        comparison.verdict = "abort";
    } else if (std::abs(comparison.loss_delta) <= 0.01 * std::abs(comparison.baseline_loss)) {
        comparison.verdict = "par";
    } else {
        comparison.verdict = comparison.loss_delta < 0 ? "ahead" : "behind";
    }
    return comparison;
}

}  // namespace toy
