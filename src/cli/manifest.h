#pragma once
#include <nlohmann/json_fwd.hpp>

namespace toy::cli {

/// What `toy --manifest` prints, for programs that drive toy: {format "toy/manifest-v1", toy_version, commands[{name,
/// summary, args[], flags[]}], global_flags[], exit_codes{ok, bad_input, failure}}.
nlohmann::ordered_json manifest();

}  // namespace toy::cli
