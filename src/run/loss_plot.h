#pragma once
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "run/plot.h"
#include "run/run_history.h"

namespace toy {

/// The losses of a run, as far as it has come.
struct LossCurves {
    std::string run_id;
    Curve train;
    std::map<std::string, Curve> evaluations;  ///< by name

    /// The evaluation that counts as validation (validation_name), or null.
    const Curve* validation() const;
};
LossCurves loss_curves(const RunHistory& run);

/// The losses over the steps: each step's training loss, its smoothed course, the validation loss. Of several runs only
/// the smoothed course and the validation loss of each.
Plot loss_plot(std::span<const LossCurves> runs, Scale x_scale = Scale::linear, Scale y_scale = Scale::linear);

/// Writes the losses of a run as a picture, in one step. Throws Error as AtomicFile does.
void write_loss_plot(const std::filesystem::path& path, const LossCurves& run);

}  // namespace toy
