#include "run/loss_plot.h"

#include <fmt/format.h>

#include <cmath>

#include "core/atomic_file.h"
#include "run/smoother.h"

namespace toy {
namespace {

Curve curve_of(const RunHistory& run, const std::string& tag) {
    Curve curve;
    const auto found = run.scalars.find(tag);
    if (found == run.scalars.end()) return curve;
    for (const Scalar& one : found->second) curve.push_back({static_cast<double>(one.step), one.value});
    return curve;
}

Curve smoothed(const Curve& curve) {
    Smoother smoother;
    Curve smooth;
    for (const Point& point : curve) {
        const double mean = smoother.add(point.y);
        smooth.push_back({point.x, std::isfinite(point.y) ? mean : point.y});  // a gap stays a gap
    }
    return smooth;
}

}  // namespace

Plot loss_plot(std::span<const RunHistory> runs, Scale x_scale, Scale y_scale) {
    Plot plot;
    plot.title = runs.size() == 1 ? runs[0].id : fmt::format("{} runs", runs.size());
    plot.x_scale = x_scale;
    plot.y_scale = y_scale;
    for (size_t i = 0; i < runs.size(); ++i) {
        const bool is_alone = runs.size() == 1;
        const std::string prefix = is_alone ? "" : runs[i].id + " ";
        const int colour = static_cast<int>(is_alone ? 0 : i);
        const Curve train = curve_of(runs[i], "train/loss");
        const Curve validation = curve_of(runs[i], runs[i].validation_tag());
        if (is_alone) plot.series.push_back({"train", train, Series::Style::faint, colour});
        if (!train.empty()) {
            plot.series.push_back({prefix + "train, smoothed", smoothed(train), Series::Style::line, colour});
        }
        if (!validation.empty()) {
            plot.series.push_back(
                {prefix + "validation", validation, Series::Style::dots, is_alone ? colour + 1 : colour});
        }
    }
    return plot;
}

void write_loss_plot(const std::filesystem::path& folder) {
    const RunHistory run = read_run(folder);
    AtomicFile file(folder / "loss.svg");
    file.write(svg_plot(loss_plot(std::span(&run, 1))));
    file.commit();
}

}  // namespace toy
