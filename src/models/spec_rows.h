#pragma once
#include <string_view>
#include <vector>

#include "io/metadata.h"
#include "models/spec.h"

namespace toy {

/// A key that may say a part of a Spec, without its architecture prefix.
struct SpecRow {
    enum class When {
        read,    ///< where the family's reader looks for it
        needed,  ///< where the reader would read another Spec without it
        always,  ///< also where our readers do not look for it: llama.cpp needs it
    };
    std::string_view key;
    Value value;
    When when = When::read;
};

/// The inverse of all families' readers: what each key would have to hold for the Spec to be read back. A key has the
/// same meaning in every family, so the table asks for no architecture.
std::vector<SpecRow> spec_rows(const Spec& spec);

}  // namespace toy
