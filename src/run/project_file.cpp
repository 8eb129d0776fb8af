#include "run/project_file.h"

#include <fstream>
#include <optional>

#include "core/error.h"
#include "core/log.h"
#include "io/quote.h"

namespace toy {
namespace {

constexpr std::string_view k_blank = " \t\r";

std::string_view trimmed(std::string_view text) {
    const size_t begin = text.find_first_not_of(k_blank);
    if (begin == std::string_view::npos) return "";
    return text.substr(begin, text.find_last_not_of(k_blank) - begin + 1);
}

// A value without its quotes, or without the comment behind it; nothing where quotes do not close.
std::optional<std::string> plain_value(std::string_view text) {
    if (!text.empty() && (text[0] == '"' || text[0] == '\'')) {
        const size_t end = text.find(text[0], 1);
        if (end == std::string_view::npos) return std::nullopt;
        const std::string_view behind = trimmed(text.substr(end + 1));
        if (!behind.empty() && behind[0] != '#') return std::nullopt;
        return std::string(text.substr(1, end - 1));
    }
    return std::string(trimmed(text.substr(0, text.find(" #"))));
}

}  // namespace

ProjectFile read_project_file(const std::filesystem::path& path) {
    ProjectFile project;
    std::ifstream stream(path);
    std::string line;
    for (int number = 1; std::getline(stream, line); ++number) {
        const std::string_view text = trimmed(line);
        if (text.empty() || text[0] == '#' || text == "---") continue;
        const size_t colon = text.find(':');
        const auto value =
            colon == std::string_view::npos ? std::nullopt : plain_value(trimmed(text.substr(colon + 1)));
        if (!value) bad_input("{}: line {} is no pair `key: value`: {}", path.native(), number, quote(text));
        const std::string_view key = trimmed(text.substr(0, colon));
        if (key == "run_id_template") {
            project.run_id_template = *value;
        } else if (key != "algos_path") {
            logging::warn("{}: line {}: the key {} is unknown", path.native(), number, quote(key));
        }
    }
    return project;
}

}  // namespace toy
