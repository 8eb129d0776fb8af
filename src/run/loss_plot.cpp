#include "run/loss_plot.h"

#include <fmt/format.h>

#include <cmath>

#include "core/atomic_file.h"
#include "run/smoother.h"

namespace toy {
namespace {

Curve curve_of(const std::vector<Scalar>& scalars) {
    Curve curve;
    for (const Scalar& one : scalars) curve.push_back({static_cast<double>(one.step), one.value});
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

const Curve* LossCurves::validation() const {
    std::vector<std::string> names;
    for (const auto& [name, curve] : evaluations) names.push_back(name);
    const auto found = evaluations.find(validation_name(names));
    return found == evaluations.end() ? nullptr : &found->second;
}

LossCurves loss_curves(const RunHistory& run) {
    LossCurves curves{run.id, {}, {}};
    constexpr std::string_view k_end = "/loss";
    for (const auto& [tag, scalars] : run.scalars) {
        if (!tag.ends_with(k_end)) continue;
        const std::string name = tag.substr(0, tag.size() - k_end.size());
        (name == "train" ? curves.train : curves.evaluations[name]) = curve_of(scalars);
    }
    return curves;
}

Plot loss_plot(std::span<const LossCurves> runs, Scale x_scale, Scale y_scale) {
    Plot plot;
    const bool is_alone = runs.size() == 1;
    plot.title = is_alone ? runs[0].run_id : fmt::format("{} runs", runs.size());
    plot.x_scale = x_scale;
    plot.y_scale = y_scale;
    for (size_t i = 0; i < runs.size(); ++i) {
        const std::string prefix = is_alone ? "" : runs[i].run_id + " ";
        const int colour = static_cast<int>(i);
        const Curve& train = runs[i].train;
        if (is_alone) plot.series.push_back({"train", train, Series::Style::faint, colour});
        if (!train.empty()) {
            plot.series.push_back({prefix + "train, smoothed", smoothed(train), Series::Style::line, colour});
        }
        if (const Curve* validation = runs[i].validation()) {
            plot.series.push_back(
                {prefix + "validation", *validation, Series::Style::dots, is_alone ? colour + 1 : colour});
        }
    }
    return plot;
}

void write_loss_plot(const std::filesystem::path& path, const LossCurves& run) {
    AtomicFile file(path);
    file.write(svg_plot(loss_plot(std::span(&run, 1))));
    file.commit();
}

}  // namespace toy
