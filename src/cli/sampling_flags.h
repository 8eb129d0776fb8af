#pragma once
#include <vector>

#include "cli/arguments.h"
#include "engine/sampler.h"

namespace toy::cli {

/// --temperature, --top-k, …: how the next token is chosen.
std::vector<Flag> sampling_flags();
/// Ways of sampling that people know from other programs and that toy has not.
std::vector<Refused> refused_sampling_flags();
/// What the flags say. Throws Error{bad_input}; ids of --logit-bias are checked against the vocabulary later.
Sampling read_sampling(const Arguments& arguments);

}  // namespace toy::cli
