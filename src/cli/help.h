#pragma once
#include <string>

#include "cli/registry.h"

namespace toy::cli {

/// What `toy --help` prints: the commands, the global flags and the exit codes.
std::string usage();
/// What `toy COMMAND --help` prints.
std::string help_of(const Command& command);
/// "toy infer <model> [flags]".
std::string synopsis(const Command& command);
/// "-n, --n N" and "(default: 16)", "" where there is none.
std::string spelling(const Flag& flag);
std::string fallback_of(const Flag& flag);

}  // namespace toy::cli
