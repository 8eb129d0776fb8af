#pragma once
#include <string>

namespace toy::cli {

/// Completion scripts for the three shells: commands, flags and the values that are known beforehand.
std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

}  // namespace toy::cli
