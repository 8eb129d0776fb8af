#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "support/base64.h"

namespace toy::test {

/// The 64-bit FNV-1a hash of a file, in hexadecimal: whether a model is the recorded one.
std::string fnv1a(const std::filesystem::path& path);

/// Whether ggml computes here with the kernels of the recording (AVX-512 with VNNI, without BF16; our own compile
/// flags). Other kernels add in another order; a rounding of an activation then flips here and there, and on models
/// this small that alone moves single log-probabilities by up to 0.3.
bool has_recorded_kernels();

/// The names (without ".json") in a folder of tests/fixtures, sorted.
std::vector<std::string> fixture_names(std::string_view folder);

/// A fixture's name as a test's: letters, digits and underscores.
std::string test_name(std::string name);

}  // namespace toy::test
