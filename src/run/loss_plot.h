#pragma once
#include <filesystem>
#include <span>
#include <vector>

#include "run/plot.h"
#include "run/run_history.h"

namespace toy {

/// The losses of a run over its steps: each step's training loss, its smoothed course, the validation loss. Of several
/// runs only the smoothed course and the validation loss of each.
Plot loss_plot(std::span<const RunHistory> runs, Scale x_scale = Scale::linear, Scale y_scale = Scale::linear);

/// Writes loss.svg of the run in a folder, in one step. Throws Error as AtomicFile does.
void write_loss_plot(const std::filesystem::path& folder);

}  // namespace toy
