#pragma once
#include <filesystem>

#include "engine/optimizer.h"
#include "engine/trainable.h"

namespace toy {

/// Writes all that a training changes on the device, the trained tensors and the optimizer's moments, as a GGUF file of
/// architecture "toy-training-state" in one atomic step: nothing is rounded, and the same state gives the same bytes.
void save_training_state(const std::filesystem::path& path, const TrainableModel& model, const Optimizer& optimizer);

/// Puts it back. Throws Error{bad_input} where the file is none, or belongs to another model or optimizer, and names
/// the tensor that is missing, unknown, or of another shape; then nothing has changed.
void load_training_state(const std::filesystem::path& path, TrainableModel& model, Optimizer& optimizer);

}  // namespace toy
