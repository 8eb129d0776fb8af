#include "cli/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace toy::cli {
namespace {

constexpr size_t k_longest_word = 40;
constexpr size_t k_shortest_beginning = 3;

// Edits (insert, delete, replace, exchange of neighbours) from one word to the other: optimal string alignment.
size_t edits(std::string_view a, std::string_view b) {
    std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
    for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t replaced = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replaced});
            const bool is_exchange = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (is_exchange) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[a.size()][b.size()];
}

bool begins_so(std::string_view word, std::string_view name) {
    return std::min(word.size(), name.size()) >= k_shortest_beginning &&
           (name.starts_with(word) || word.starts_with(name));
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string_view> names, std::string_view prefix) {
    if (word.empty() || word.size() > k_longest_word) return "";
    std::string_view nearest;
    size_t fewest = 1 + std::max<size_t>(1, word.size() / 3);
    for (std::string_view name : names) {
        const size_t count = begins_so(word, name) ? 0 : edits(word, name);
        if (count < fewest) {
            fewest = count;
            nearest = name;
        }
    }
    return nearest.empty() ? "" : fmt::format("; did you mean '{}{}'?", prefix, nearest);
}

}  // namespace toy::cli
