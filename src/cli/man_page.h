#pragma once
#include <string>

#include "cli/registry.h"

namespace toy::cli {

/// Manual pages of section 1 in the man macros of roff: toy(1), and one for each command, toy-infer(1).
std::string man_page();
std::string man_page_of(const Command& command);

}  // namespace toy::cli
