#pragma once
#include <span>
#include <string>
#include <string_view>

namespace toy::cli {

/// "; did you mean 'infer'?" where one of the names is near enough to what was typed, else nothing. A name that begins
/// with the word, or the word with it, counts as near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> names, std::string_view prefix = "");

}  // namespace toy::cli
