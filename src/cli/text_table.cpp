#include "cli/text_table.h"

#include <algorithm>

namespace toy::cli {
namespace {

std::string padded(const std::string& cell, size_t width, TextTable::Side side) {
    const std::string space(width - std::min(width, width_of(cell)), ' ');
    return side == TextTable::Side::left ? cell + space : space + cell;
}

// Lines of one paragraph.
void wrap_paragraph(std::string& out, std::string_view paragraph, const std::string& indent, size_t width) {
    std::string line = indent;
    while (!paragraph.empty()) {
        const size_t end = std::min(paragraph.find_first_of(" \n"), paragraph.size());
        const std::string_view word = paragraph.substr(0, end);
        paragraph.remove_prefix(std::min(end + 1, paragraph.size()));
        if (word.empty()) continue;
        if (line.size() > indent.size() && width_of(line) + 1 + width_of(word) > width) {
            out += line + "\n";
            line = indent;
        }
        if (line.size() > indent.size()) line += ' ';
        line += word;
    }
    out += line + "\n";
}

}  // namespace

size_t width_of(std::string_view text) {
    return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string TextTable::text(std::string_view indent) const {
    std::vector<size_t> widths(sides_.size(), 0);
    for (const auto& row : rows_) {
        for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
    }
    std::string out;
    for (const auto& row : rows_) {
        std::string line(indent);
        for (size_t i = 0; i < row.size(); ++i) line += (i == 0 ? "" : "  ") + padded(row[i], widths[i], sides_[i]);
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    return out;
}

std::string wrapped(std::string_view text, size_t indent, size_t width) {
    const std::string space(indent, ' ');
    std::string out;
    while (!text.empty()) {
        const size_t end = std::min(text.find("\n\n"), text.size());
        const std::string_view paragraph = text.substr(0, end);
        text.remove_prefix(std::min(end + 2, text.size()));
        if (!out.empty()) out += "\n";
        wrap_paragraph(out, paragraph, space, width);
    }
    return out;
}

}  // namespace toy::cli
