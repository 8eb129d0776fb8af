#pragma once
#include <string>
#include <string_view>

namespace toy {

/// Text of an untrusted file as it may stand in a sentence: in single quotes, everything but printable ASCII as \xNN (a
/// terminal must not obey it, JSON must accept it), cut after 80 characters.
std::string quote(std::string_view text);

}  // namespace toy
