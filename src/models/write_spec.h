#pragma once
#include <string>
#include <vector>

#include "io/metadata.h"
#include "models/spec.h"

namespace toy {

/// The keys of a GGUF file that say this Spec: general.architecture, general.name where there is a name, and the
/// architecture's own. The architecture is that of spec.architecture or, where that family cannot say it, the first
/// family whose reading of the keys and of the weights' names gives the equal Spec back (its own name aside).
///
/// One table, the inverse of all families' readers, proposes keys; a family's reader takes those that it looks for, and
/// what it reads decides. So no family has a writer of its own that could drift away from its reader.
///
/// Throws Error{bad_input} that names the fields that differ where no family can say the Spec.
Metadata write_spec(const Spec& spec);

/// The fields in which two Specs differ, by name.
std::vector<std::string> differing_fields(const Spec& a, const Spec& b);

}  // namespace toy
