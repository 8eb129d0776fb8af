#pragma once
#include <cmath>

namespace toy {

/// The exponential mean of a series, without the pull to zero at its beginning (as Kingma and Ba 2015, section 3,
/// correct their moments). Values that are not finite are passed over.
class Smoother {
 public:
    /// A value's weight falls to `keep` of it with each further one.
    explicit Smoother(double keep = 0.95) : keep_(keep) {}

    /// Takes a value and returns the mean up to it; NaN where none was finite yet.
    double add(double value) {
        if (std::isfinite(value)) {
            sum_ = keep_ * sum_ + (1 - keep_) * value;
            weight_ = keep_ * weight_ + (1 - keep_);
        }
        return mean();
    }
    double mean() const { return weight_ > 0 ? sum_ / weight_ : std::nan(""); }

 private:
    double keep_;
    double sum_ = 0;
    double weight_ = 0;
};

}  // namespace toy
