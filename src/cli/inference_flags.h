#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"
#include "engine/inference.h"

namespace toy::cli {

/// --threads, --device, --kv-type, --flash-attention, --repack, --chunk: how a model is computed. As lists they take
/// several values (all but --device), for `bench`.
std::vector<Flag> inference_flags(bool as_lists);
/// --threads, with its line in the help. --device.
Flag threads_flag(std::string_view summary);
Flag device_flag();
/// What the flags say, with the context left open. Throws Error{bad_input}.
Inference::Options read_inference(const Arguments& arguments);

/// The type of that name, one of --kv-type.
DType cache_type_of(std::string_view name);

/// The file that a command's <model> means: a path, or the name of a model that `toy list` shows. Throws
/// Error{bad_input}.
std::filesystem::path find_model(const std::string& argument);

/// The first word of the commands that need a model.
Positional model_word();

/// Throws Error{failure} where a cache of these options could not lie in the device's memory.
void check_memory(const Spec& spec, const Device& device, const Inference::Options& options);

}  // namespace toy::cli
