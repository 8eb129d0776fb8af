#pragma once
#include <string>
#include <string_view>

namespace toy::cli {

/// "1.0.0".
std::string_view version();
/// What `toy --version` prints: toy's version, ggml's revision and processor features, and how both were built.
std::string version_text();
/// Compiler, build type and flags.
std::string build_description();

}  // namespace toy::cli
