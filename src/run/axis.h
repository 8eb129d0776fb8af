#pragma once
#include <string>
#include <vector>

namespace toy {

/// A point of a curve; x is a step, mostly.
struct Point {
    double x = 0, y = 0;
};
using Curve = std::vector<Point>;

enum class Scale { linear, log };

/// One axis of a plot: from values to places between 0 and 1, and the values that get a label.
class Axis {
 public:
    /// Between two finite values, which are moved apart where they are the same; for a logarithmic axis both have to
    /// be positive.
    Axis(double low, double high, Scale scale);

    double low() const { return low_; }
    double high() const { return high_; }
    /// Whether a value has a place on the axis at all: finite, and positive where it is logarithmic.
    bool takes(double value) const;
    /// 0 at `low`, 1 at `high`.
    double place(double value) const;
    /// About `count` round values inside the axis, in ascending order.
    std::vector<double> ticks(int count) const;
    /// The axis that begins and ends at ticks.
    Axis rounded(int count) const;

    /// "0.05", "1200", "40k", "1.5M".
    static std::string label(double value);

 private:
    std::vector<double> linear_ticks(int count) const;
    double low_, high_;
    Scale scale_;
};

}  // namespace toy
