#pragma once
#include <span>
#include <string_view>

#include "models/common_keys.h"

namespace toy {

/// What a GGUF architecture is in toy: one small file in families/ that maps its keys to a Spec.
struct Family {
    std::string_view architecture;
    std::string_view models;  ///< examples, for people
    Spec (*read)(const SpecKeys& keys);
};
std::span<const Family* const> families();

/// Spec of a model file. Throws Error{bad_input} that names the architecture where no family reads it, or the key that
/// is missing or contradicts another.
Spec read_spec(const Gguf& file);

}  // namespace toy
