#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "run/run_history.h"

namespace toy {

/// CRC-32C (Castagnoli), as RFC 3720 defines it.
uint32_t crc32c(std::string_view bytes);

/// A record of a TFRecord file: length, masked CRC of the length, bytes, masked CRC of the bytes.
std::string tf_record(std::string_view bytes);

/// The scalars of a run as a TensorBoard event file, oldest first.
std::string tensorboard_events(const RunHistory& run);

/// Writes them to `folder`/RUN_ID/events.out.tfevents.TIME.HOST, which is replaced, and returns that path.
std::filesystem::path export_tensorboard(const RunHistory& run, const std::filesystem::path& folder);

/// The scalars of a run as CSV: a row for each step, a column for each tag, empty where a step has no such number.
std::string csv_of(const RunHistory& run);

}  // namespace toy
