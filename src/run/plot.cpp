#include "run/plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace toy {

std::optional<Axes> axes_of(const Plot& plot) {
    constexpr double k_infinity = std::numeric_limits<double>::infinity();
    // Axes that only say which values have a place.
    const Axis any_x(1, 2, plot.x_scale), any_y(1, 2, plot.y_scale);
    Point low{k_infinity, k_infinity}, high{-k_infinity, -k_infinity};
    for (const Series& series : plot.series) {
        for (const Point& point : series.points) {
            if (!any_x.takes(point.x) || !any_y.takes(point.y)) continue;
            low = {std::min(low.x, point.x), std::min(low.y, point.y)};
            high = {std::max(high.x, point.x), std::max(high.y, point.y)};
        }
    }
    if (low.x > high.x) return std::nullopt;
    return Axes{Axis(low.x, high.x, plot.x_scale), Axis(low.y, high.y, plot.y_scale)};
}

Curve thinned(const Curve& points, const Axis& x, int columns) {
    const auto column = [&](const Point& p) { return std::floor(x.place(p.x) * columns); };
    Curve thin;
    for (size_t begin = 0; begin < points.size();) {
        // A part ends with its column, and where a gap begins or ends.
        size_t end = begin;
        const bool is_gap = !std::isfinite(points[begin].y) || !x.takes(points[begin].x);
        size_t lowest = begin, highest = begin;
        while (end < points.size() && (!std::isfinite(points[end].y) || !x.takes(points[end].x)) == is_gap &&
               (is_gap || column(points[end]) == column(points[begin]))) {
            if (points[end].y < points[lowest].y) lowest = end;
            if (points[end].y > points[highest].y) highest = end;
            ++end;
        }
        std::vector<size_t> kept = is_gap ? std::vector{begin} : std::vector{begin, lowest, highest, end - 1};
        std::sort(kept.begin(), kept.end());
        kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
        for (size_t i : kept) thin.push_back(points[i]);
        begin = end;
    }
    return thin;
}

}  // namespace toy
