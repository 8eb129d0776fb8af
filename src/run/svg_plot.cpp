#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "run/plot.h"

namespace toy {
namespace {

constexpr double k_width = 800, k_height = 450;
constexpr double k_left = 70, k_right = 20, k_top = 44, k_bottom = 52;
constexpr double k_plot_width = k_width - k_left - k_right, k_plot_height = k_height - k_top - k_bottom;
constexpr int k_x_ticks = 8, k_y_ticks = 6;

// Okabe and Ito's colours (2008), which people with any colour vision tell apart; each reads on both grounds.
constexpr std::array<std::string_view, 6> k_colours = {"#0072b2", "#d55e00", "#009e73",
                                                       "#cc79a7", "#b8860b", "#56b4e9"};

// A picture cannot ask for the page's colours, but it can ask whether the reader wants a dark one; where the viewer
// does not answer, it brings its own light ground along.
constexpr std::string_view k_style = R"(<style>
text { font: 12px sans-serif; fill: #333333 }
.title { font-size: 15px; font-weight: bold }
.ground { fill: #ffffff }
.grid { stroke: #dddddd; stroke-width: 1 }
.frame { stroke: #888888; stroke-width: 1; fill: none }
.curve { fill: none; stroke-width: 1.8; stroke-linejoin: round }
.faint { fill: none; stroke-width: 1; stroke-opacity: 0.4; stroke-linejoin: round }
.key { stroke-width: 3 }
@media (prefers-color-scheme: dark) {
text { fill: #dddddd }
.ground { fill: #161616 }
.grid { stroke: #383838 }
.faint { stroke-opacity: 0.6 }
}
</style>
)";

std::string escaped(std::string_view text) {
    std::string safe;
    for (char c : text) {
        if (c == '&')
            safe += "&amp;";
        else if (c == '<')
            safe += "&lt;";
        else if (c == '>')
            safe += "&gt;";
        else if (c == '"')
            safe += "&quot;";
        else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e)
            safe += '?';  // no XML
        else
            safe += c;
    }
    return safe;
}

std::string_view colour_of(const Series& series) {
    return k_colours[static_cast<size_t>(series.colour) % k_colours.size()];
}

double x_of(const Axes& axes, double x) { return k_left + axes.x.place(x) * k_plot_width; }
double y_of(const Axes& axes, double y) { return k_top + (1 - axes.y.place(y)) * k_plot_height; }

std::string grid(const Axes& axes) {
    std::string svg;
    for (double tick : axes.x.ticks(k_x_ticks)) {
        const double x = x_of(axes, tick);
        svg += fmt::format("<line class=\"grid\" x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\"/>\n", x,
                           k_top, k_top + k_plot_height);
        svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", x,
                           k_top + k_plot_height + 18, Axis::label(tick));
    }
    for (double tick : axes.y.ticks(k_y_ticks)) {
        const double y = y_of(axes, tick);
        svg += fmt::format("<line class=\"grid\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", k_left,
                           y, k_left + k_plot_width, y);
        svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", k_left - 8, y + 4,
                           Axis::label(tick));
    }
    return svg + fmt::format("<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", k_left, k_top,
                             k_plot_width, k_plot_height);
}

std::string dot(double x, double y, std::string_view colour) {
    return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x, y, colour);
}

std::string curve(const Series& series, const Axes& axes) {
    std::string svg, line;
    size_t in_line = 0;
    Point last;
    const auto finish = [&] {
        if (in_line > 1) {
            svg += fmt::format("<polyline class=\"{}\" stroke=\"{}\" points=\"{}\"/>\n",
                               series.style == Series::Style::faint ? "faint" : "curve", colour_of(series), line);
        } else if (in_line == 1 && series.style != Series::Style::dots) {
            svg += dot(last.x, last.y, colour_of(series));  // a line of one point would not be seen
        }
        line.clear();
        in_line = 0;
    };
    for (const Point& point : thinned(series.points, axes.x, static_cast<int>(k_plot_width))) {
        if (!axes.x.takes(point.x) || !axes.y.takes(point.y)) {
            finish();
            continue;
        }
        last = {x_of(axes, point.x), y_of(axes, point.y)};
        line += fmt::format("{}{:.1f},{:.1f}", in_line++ > 0 ? " " : "", last.x, last.y);
        if (series.style == Series::Style::dots) svg += dot(last.x, last.y, colour_of(series));
    }
    finish();
    return svg;
}

std::string legend(const Plot& plot) {
    std::string svg;
    double y = k_top + 16;
    for (const Series& series : plot.series) {
        const double right = k_left + k_plot_width - 12;
        svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", right - 30, y + 4,
                           escaped(series.name));
        svg += fmt::format(
            "<line class=\"{} key\" stroke=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
            series.style == Series::Style::faint ? "faint" : "curve", colour_of(series), right - 22, y, right, y);
        if (series.style == Series::Style::dots) svg += dot(right - 11, y, colour_of(series));
        y += 18;
    }
    return svg;
}

}  // namespace

std::string svg_plot(const Plot& plot) {
    std::string svg = fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n",
        k_width, k_height);
    svg += k_style;
    svg += fmt::format("<rect class=\"ground\" width=\"{}\" height=\"{}\"/>\n", k_width, k_height);
    svg += fmt::format("<text class=\"title\" x=\"{}\" y=\"26\">{}</text>\n", k_left, escaped(plot.title));
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", k_left + k_plot_width / 2,
                       k_height - 12, escaped(plot.x_label));
    svg += fmt::format("<text transform=\"translate(18 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                       k_top + k_plot_height / 2, escaped(plot.y_label));
    const auto exact = axes_of(plot);
    if (!exact) {
        return svg + fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">no points yet</text>\n</svg>\n",
                                 k_width / 2, k_height / 2);
    }
    const Axes axes{exact->x, exact->y.rounded(k_y_ticks)};
    svg += grid(axes);
    for (const Series& series : plot.series) svg += curve(series, axes);
    return svg + legend(plot) + "</svg>\n";
}

}  // namespace toy
