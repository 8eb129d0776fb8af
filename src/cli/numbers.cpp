#include "cli/numbers.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#include "core/error.h"
#include "io/quote.h"

namespace toy::cli {
namespace {

template <class Number>
std::optional<Number> parse_whole(std::string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);  // from_chars knows only the minus
    if (text.starts_with('+') || text.empty()) return std::nullopt;
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

std::string scaled(double n, double step, std::span<const std::string_view> units, std::string_view space) {
    size_t unit = 0;
    while (n >= step && unit + 1 < units.size()) {
        n /= step;
        ++unit;
    }
    return unit == 0 ? fmt::format("{}{}{}", n, space, units[0]) : fmt::format("{:.1f}{}{}", n, space, units[unit]);
}

}  // namespace

std::optional<int64_t> to_integer(std::string_view text) { return parse_whole<int64_t>(text); }

std::optional<double> to_real(std::string_view text) {
    const std::optional<double> number = parse_whole<double>(text);
    return number && std::isfinite(*number) ? number : std::nullopt;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

std::vector<int32_t> parse_ids(std::string_view text) {
    constexpr std::string_view k_separators = " \t\r\n,";
    const size_t begin = text.find_first_not_of(k_separators);
    if (begin != std::string_view::npos && text.substr(begin).starts_with("ids:")) text.remove_prefix(begin + 4);
    std::vector<int32_t> ids;
    while (true) {
        const size_t start = text.find_first_not_of(k_separators);
        if (start == std::string_view::npos) return ids;
        text.remove_prefix(start);
        const std::string_view word = text.substr(0, text.find_first_of(k_separators));
        const std::optional<int64_t> id = to_integer(word);
        if (!id || *id < 0 || *id > std::numeric_limits<int32_t>::max()) bad_input("{} is no token id", quote(word));
        ids.push_back(static_cast<int32_t>(*id));
        text.remove_prefix(word.size());
    }
}

std::string grouped(int64_t n) {
    std::string text = std::to_string(n);
    const size_t first = n < 0 ? 1 : 0;
    for (size_t at = text.size(); at > first + 3; text.insert(at, ",")) at -= 3;
    return text;
}

std::string human_count(int64_t n) {
    constexpr std::array<std::string_view, 5> k_units = {"", "K", "M", "B", "T"};
    return scaled(static_cast<double>(n), 1000, k_units, "");
}

std::string human_bytes(uint64_t n) {
    constexpr std::array<std::string_view, 5> k_units = {"B", "KiB", "MiB", "GiB", "TiB"};
    return scaled(static_cast<double>(n), 1024, k_units, " ");
}

}  // namespace toy::cli
