#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace toy::cli {

/// The whole number or finite real that the text is, all of it; nothing where it is none or too large. Independent of
/// the locale.
std::optional<int64_t> to_integer(std::string_view text);
std::optional<double> to_real(std::string_view text);

/// The parts between commas; an empty text has one empty part.
std::vector<std::string_view> split(std::string_view text, char separator);

/// Token ids separated by spaces, line breaks or commas; a leading "ids:", as `infer` prints it, is skipped. Throws
/// Error{bad_input} naming the word that is no id.
std::vector<int32_t> parse_ids(std::string_view text);

/// "134,515,008".
std::string grouped(int64_t n);
/// "134.5M", "7.2B": a count, rounded.
std::string human_count(int64_t n);
/// "138.2 MiB".
std::string human_bytes(uint64_t n);

}  // namespace toy::cli
