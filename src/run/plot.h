#pragma once
#include <optional>
#include <string>
#include <vector>

#include "run/axis.h"

namespace toy {

/// A curve of a plot and how it is drawn.
struct Series {
    enum class Style { faint, line, dots };
    std::string name;
    Curve points;  ///< in ascending x; a point that an axis does not take is a gap
    Style style = Style::line;
    int colour = 0;  ///< which of the plot's colours; series of one run share theirs
};

struct Plot {
    std::string title;
    std::string x_label = "step";
    std::string y_label = "loss";
    Scale x_scale = Scale::linear;
    Scale y_scale = Scale::linear;
    std::vector<Series> series;
};

/// The axes that hold all of a plot's points; nothing where there is no point.
struct Axes {
    Axis x, y;
};
std::optional<Axes> axes_of(const Plot& plot);

/// The curve with at most about four points in each of `columns` equal parts of the x axis: the first, lowest, highest
/// and last, so that peaks stay.
Curve thinned(const Curve& points, const Axis& x, int columns);

/// An SVG picture, readable on light and dark pages.
std::string svg_plot(const Plot& plot);

/// How a terminal shows a plot.
struct TextScreen {
    int columns = 80;
    int rows = 20;         ///< of the picture itself, without labels
    bool has_utf8 = true;  ///< braille dots; else one ASCII character for each place
    bool has_colour = false;
};
std::string text_plot(const Plot& plot, const TextScreen& screen);

}  // namespace toy
