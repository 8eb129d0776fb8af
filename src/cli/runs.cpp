// toy runs: what training left on disk. It only reads, so it may be asked at any time, also about runs that go on.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "cli/arguments.h"
#include "cli/metadata_text.h"
#include "cli/output.h"
#include "cli/runs_report.h"
#include "core/atomic_file.h"
#include "core/error.h"
#include "io/quote.h"
#include "run/export.h"
#include "run/loss_plot.h"

namespace toy::cli {
namespace {

using Json = nlohmann::ordered_json;

// Which actions a flag belongs to.
struct FlagUse {
    std::string_view flag;
    std::vector<std::string_view> actions;
};

void check_flags(const Arguments& arguments, std::string_view action) {
    const std::vector<FlagUse> uses = {{"sort", {"list"}}, {"svg", {"plot"}},   {"x", {"plot"}},
                                       {"y", {"plot"}},    {"ascii", {"plot"}}, {"tensorboard", {"export"}},
                                       {"csv", {"export"}}};
    for (const FlagUse& use : uses) {
        if (!arguments.given(use.flag)) continue;
        if (std::find(use.actions.begin(), use.actions.end(), action) != use.actions.end()) continue;
        bad_input("--{} belongs to `toy runs {}`, not to `toy runs {}`", use.flag, use.actions[0], action);
    }
}

// The runs that the words after the action name, `least` of them at least; none may be damaged.
std::vector<RunHistory> named_runs(const Arguments& arguments, size_t least, size_t most) {
    const std::vector<std::string> words(arguments.positionals().begin() + 1, arguments.positionals().end());
    if (words.size() < least || words.size() > most) {
        bad_input("`toy runs {}` takes {}{} run{}, but {} {} named; `toy runs list` shows them",
                  arguments.positional(0), least, most > least ? " or more" : "", least == 1 && most == 1 ? "" : "s",
                  words.size(), words.size() == 1 ? "is" : "are");
    }
    std::vector<RunHistory> runs;
    for (const std::string& word : words) runs.push_back(read_run(find_run(word, arguments.text("runs"))));
    return runs;
}

void refuse_damaged(const std::vector<RunHistory>& runs) {
    for (const RunHistory& run : runs) {
        if (run.state == "damaged") bad_input("{}: the run is damaged: {}", run.folder.native(), run.fault);
    }
}

int list_runs(const Arguments& arguments) {
    if (arguments.positionals().size() > 1) bad_input("`toy runs list` takes no run; `toy runs show RUN` shows one");
    std::vector<RunHistory> runs = read_runs(arguments.text("runs"));
    const auto loss_of = [](const RunHistory& run) {
        const double loss = run.validation_loss.value_or(run.loss.value_or(INFINITY));
        return std::isnan(loss) ? INFINITY : loss;
    };
    const bool by_loss = arguments.text("sort") == "loss";
    std::stable_sort(runs.begin(), runs.end(), [&](const RunHistory& a, const RunHistory& b) {
        return by_loss ? loss_of(a) < loss_of(b) : a.started_at > b.started_at;
    });
    if (arguments.on("json")) {
        Json json = {{"format", "toy/runs-list-v1"}, {"folder", arguments.text("runs")}, {"runs", Json::array()}};
        for (const RunHistory& run : runs) json["runs"].push_back(run_json(run));
        print_json(json);
    } else if (runs.empty()) {
        print(fmt::format("there are no runs in {}\n", shown_name(arguments.text("runs"))));
    } else {
        print(runs_table(runs));
    }
    return k_ok;
}

int show_run(const Arguments& arguments) {
    const RunHistory run = named_runs(arguments, 1, 1)[0];
    if (!arguments.on("json")) {
        print(run_text(run));
        return k_ok;
    }
    Json json = {{"format", "toy/runs-show-v1"}};
    json.update(run_json(run));
    json["run_start"] = run.start;
    json["record"] = run.record;
    print_json(json);
    return k_ok;
}

int compare(const Arguments& arguments) {
    std::vector<RunHistory> runs = named_runs(arguments, 1, 100);
    if (runs.size() == 1) {
        // A run may name its own baseline (run_start's compare_to).
        if (runs[0].compare_to.empty()) {
            bad_input("`toy runs compare` needs two runs, since {} names no baseline itself", quote(runs[0].id));
        }
        runs.insert(runs.begin(), read_run(find_run(runs[0].compare_to, arguments.text("runs"))));
    }
    refuse_damaged(runs);
    std::vector<NamedComparison> comparisons;
    for (size_t i = 1; i < runs.size(); ++i) {
        const auto result = compare_runs(runs[i], runs[0]);
        if (!result) bad_input("{} and {} have no loss in common", quote(runs[0].id), quote(runs[i].id));
        comparisons.push_back({runs[i].id, runs[0].id, *result});
    }
    if (!arguments.on("json")) {
        print(comparison_text(comparisons));
        return k_ok;
    }
    Json json = {{"format", "toy/runs-compare-v1"}, {"comparisons", Json::array()}};
    for (const NamedComparison& one : comparisons) json["comparisons"].push_back(comparison_json(one));
    print_json(json);
    return k_ok;
}

// Whether the locale of the user's environment writes UTF-8, by the rule of POSIX (LC_ALL, then LC_CTYPE, then LANG).
bool has_utf8_locale() {
    for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        const char* value = std::getenv(variable);
        if (value == nullptr || *value == 0) continue;
        std::string name = value;
        std::transform(name.begin(), name.end(), name.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        return name.find("utf-8") != std::string::npos || name.find("utf8") != std::string::npos;
    }
    return false;
}

TextScreen screen_of(const Arguments& arguments) {
    TextScreen screen;
    winsize size = {};
    if (is_terminal() && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        screen.columns = size.ws_col;
        if (size.ws_row > 0) screen.rows = std::clamp(size.ws_row - 6, 8, 24);
    }
    screen.has_colour = is_terminal();
    screen.has_utf8 = !arguments.on("ascii") && has_utf8_locale();
    return screen;
}

int plot(const Arguments& arguments) {
    const std::vector<RunHistory> runs = named_runs(arguments, 1, 100);
    refuse_damaged(runs);
    const auto scale = [&](const char* flag) { return arguments.text(flag) == "log" ? Scale::log : Scale::linear; };
    std::vector<LossCurves> curves;
    for (const RunHistory& run : runs) curves.push_back(loss_curves(run));
    const Plot plot = loss_plot(curves, scale("x"), scale("y"));
    if (arguments.given("svg")) {
        AtomicFile file(arguments.text("svg"));
        file.write(svg_plot(plot));
        file.commit();
    }
    if (arguments.on("json")) {
        Json json = {{"format", "toy/runs-plot-v1"}, {"series", Json::array()}};
        json["svg"] = arguments.given("svg") ? Json(arguments.text("svg")) : Json(nullptr);
        for (const Series& series : plot.series) {
            Json points = Json::array();
            for (const Point& point : series.points) points.push_back({point.x, point.y});
            json["series"].push_back({{"name", series.name}, {"points", points}});
        }
        print_json(json);
    } else if (!arguments.given("svg")) {
        print(text_plot(plot, screen_of(arguments)));
    }
    return k_ok;
}

int export_runs(const Arguments& arguments) {
    const bool as_csv = arguments.given("csv");
    if (as_csv == arguments.given("tensorboard")) bad_input("`toy runs export` needs either --tensorboard or --csv");
    const std::vector<RunHistory> runs = named_runs(arguments, 1, as_csv ? 1 : 100);
    refuse_damaged(runs);
    Json files = Json::array();
    std::string text;
    for (const RunHistory& run : runs) {
        std::filesystem::path path = arguments.text("csv");
        if (as_csv) {
            AtomicFile file(path);
            file.write(csv_of(run));
            file.commit();
        } else {
            path = export_tensorboard(run, arguments.text("tensorboard"));
        }
        files.push_back(path.native());
        text += shown_name(path.native()) + "\n";
    }
    if (arguments.on("json")) {
        print_json({{"format", "toy/runs-export-v1"}, {"files", files}});
    } else {
        print(text);
    }
    return k_ok;
}

int run(const Arguments& arguments) {
    const std::string action = arguments.positional(0);
    check_flags(arguments, action);
    if (action == "list") return list_runs(arguments);
    if (action == "show") return show_run(arguments);
    if (action == "compare") return compare(arguments);
    if (action == "plot") return plot(arguments);
    return export_runs(arguments);
}

}  // namespace

extern const Command k_runs;
const Command k_runs{
    .name = "runs",
    .summary = "list, show, compare, plot and export training runs",
    .description =
        "Reads the runs that training left in a folder, also those that still go on or whose process died. A run is "
        "named by its id, by the beginning of exactly one id, or by its folder.\n\n"
        "list shows all runs; show tells all about one; compare says of each further run whether it is ahead of the "
        "first, behind it, or on a par with it (losses within 1 %); plot draws training and validation loss, of one "
        "run or of "
        "several; export writes what a run measured as TensorBoard event files or as CSV.",
    .positionals =
        {{.name = "action",
          .kind = Kind::choice,
          .summary = "what to do",
          .is_required = true,
          .choices = {"list", "show", "compare", "plot", "export"}},
         {.name = "run", .kind = Kind::text, .summary = "a run's id, its beginning, or its folder", .repeats = true}},
    .flags =
        {{.name = "runs", .kind = Kind::file, .value = "DIR", .fallback = "runs", .summary = "the folder of the runs"},
         {.name = "sort",
          .kind = Kind::choice,
          .value = "KEY",
          .fallback = "date",
          .summary = "list: the newest first, or the lowest (validation) loss first",
          .choices = {"date", "loss"}},
         {.name = "svg", .kind = Kind::file, .value = "FILE", .summary = "plot: write a picture instead"},
         {.name = "x",
          .kind = Kind::choice,
          .value = "SCALE",
          .fallback = "linear",
          .summary = "plot: the scale of the steps",
          .choices = {"linear", "log"}},
         {.name = "y",
          .kind = Kind::choice,
          .value = "SCALE",
          .fallback = "linear",
          .summary = "plot: the scale of the losses",
          .choices = {"linear", "log"}},
         {.name = "ascii", .summary = "plot: draw with ASCII characters alone"},
         {.name = "tensorboard",
          .kind = Kind::file,
          .value = "DIR",
          .summary = "export: write TensorBoard event files below DIR"},
         {.name = "csv", .kind = Kind::file, .value = "FILE", .summary = "export: write a table, a row for each step"}},
    .refused = {},
    .examples = {"toy runs list --sort loss", "toy runs show gpt2-20261201-001",
                 "toy runs compare gpt2-20261201-001 gpt2-20261201-002",
                 "toy runs plot gpt2-20261201-001 --y log --svg loss.svg",
                 "toy runs export gpt2-20261201-001 --tensorboard tb"},
    .run = run,
};

}  // namespace toy::cli
