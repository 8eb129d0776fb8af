#include "cli/runs_report.h"

#include <fmt/format.h>

#include "cli/metadata_text.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "cli/text_table.h"
#include "core/progress.h"

namespace toy::cli {
namespace {

using Json = nlohmann::ordered_json;
using Side = TextTable::Side;

std::string number(const std::optional<double>& value) { return value ? fmt::format("{:.4f}", *value) : "-"; }

Json json_number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

std::string damage_of(const RunHistory& run) {
    std::string text;
    if (run.bad_lines > 0) text += fmt::format("{} lines of events.jsonl are damaged  ", run.bad_lines);
    if (run.unknown_kinds > 0) text += fmt::format("{} events are of kinds unknown here  ", run.unknown_kinds);
    if (run.has_half_line) text += "events.jsonl ends within a line  ";
    return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::string steps_of(const std::vector<int64_t>& steps) {
    std::string text;
    for (int64_t step : steps) text += fmt::format("{}{}", text.empty() ? "" : " ", step);
    return text.empty() ? "none" : text;
}

}  // namespace

std::string runs_table(std::span<const RunHistory> runs) {
    TextTable table({Side::left, Side::left, Side::left, Side::left, Side::right, Side::right, Side::right, Side::right,
                     Side::right});
    table.add({"run", "state", "started", "model", "steps", "loss", "validation", "best", "time"});
    for (const RunHistory& run : runs) {
        table.add({shown_name(run.id), run.state, run.started_at, shown_name(run.model), std::to_string(run.steps),
                   number(run.loss), number(run.validation_loss), number(run.best_validation_loss),
                   clock_text(run.seconds)});
    }
    std::string text = table.text("  ");
    for (const RunHistory& run : runs) {
        if (run.state == "damaged") text += fmt::format("  {}: {}\n", shown_name(run.id), without_controls(run.fault));
    }
    return text;
}

std::string run_text(const RunHistory& run) {
    TextTable table({Side::left, Side::left});
    table.add({"run", shown_name(run.id)});
    table.add({"folder", shown_name(run.folder.native())});
    table.add({"state", run.state});
    const auto add = [&](const char* name, const std::string& value) {
        if (!value.empty()) table.add({name, without_controls(value)});
    };
    add("fault", run.fault);
    add("error", run.error);
    add("damage", damage_of(run));
    add("started", run.started_at);
    add("model", run.model);
    add("family", run.arch);
    table.add({"steps", std::to_string(run.steps)});
    table.add({"tokens", grouped(run.tokens)});
    table.add({"time", clock_text(run.seconds)});
    table.add({"loss", number(run.loss)});
    table.add({"validation", number(run.validation_loss)});
    if (run.best_validation_loss) {
        table.add({"best", fmt::format("{:.4f} at step {}", *run.best_validation_loss, run.best_step)});
    }
    add("compared to", run.compare_to);
    table.add({"checkpoints", steps_of(run.checkpoints)});
    if (run.record.is_object()) {
        add("command", run.record.value("argv", Json::array()).dump(-1, ' ', false, Json::error_handler_t::replace));
        add("config", run.record["config"].dump(-1, ' ', false, Json::error_handler_t::replace));
        table.add({"resumed", fmt::format("{} times", run.record["resumes"].size())});
    }
    return table.text();
}

Json run_json(const RunHistory& run) {
    return {{"run_id", run.id},
            {"path", run.folder.native()},
            {"state", run.state},
            {"fault", run.fault.empty() ? Json(nullptr) : Json(run.fault)},
            {"error", run.error.empty() ? Json(nullptr) : Json(run.error)},
            {"started_at", run.started_at},
            {"arch", run.arch},
            {"model", run.model},
            {"steps", run.steps},
            {"tokens", run.tokens},
            {"seconds", run.seconds},
            {"loss", json_number(run.loss)},
            {"validation_loss", json_number(run.validation_loss)},
            {"best_validation_loss", json_number(run.best_validation_loss)},
            {"best_step", run.best_validation_loss ? Json(run.best_step) : Json(nullptr)},
            {"checkpoints", run.checkpoints},
            {"bad_lines", run.bad_lines},
            {"unknown_kinds", run.unknown_kinds},
            {"has_half_line", run.has_half_line}};
}

std::string comparison_text(std::span<const NamedComparison> comparisons) {
    TextTable table({Side::left, Side::left, Side::right, Side::right, Side::right, Side::right, Side::left});
    table.add({"run", "metric", "loss", "baseline", "delta", "ppl ratio", "verdict"});
    for (const NamedComparison& one : comparisons) {
        const RunComparison& result = one.result;
        table.add({shown_name(one.run), shown_name(result.metric), number(result.loss), number(result.baseline_loss),
                   fmt::format("{:+.4f}", result.loss_delta), fmt::format("{:.4f}", result.ppl_ratio), result.verdict});
    }
    return fmt::format("against {}:\n", shown_name(comparisons[0].baseline)) + table.text("  ");
}

Json comparison_json(const NamedComparison& comparison) {
    const RunComparison& result = comparison.result;
    return {{"run_id", comparison.run},
            {"baseline_run_id", comparison.baseline},
            {"metric", result.metric},
            {"loss", result.loss},
            {"baseline_loss", result.baseline_loss},
            {"loss_delta", result.loss_delta},
            {"ppl_ratio", result.ppl_ratio},
            {"verdict", result.verdict}};
}

}  // namespace toy::cli
