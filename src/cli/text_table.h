#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace toy::cli {

/// Rows of cells, printed in columns as wide as their widest cell.
class TextTable {
 public:
    enum class Side { left, right };
    explicit TextTable(std::vector<Side> sides) : sides_(std::move(sides)) {}

    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    /// The rows, each with `indent` before it and a line break after it; two spaces stand between columns.
    std::string text(std::string_view indent = "") const;

 private:
    std::vector<Side> sides_;
    std::vector<std::vector<std::string>> rows_;
};

/// Columns that the UTF-8 text takes on a terminal, one for each character.
size_t width_of(std::string_view text);

/// The paragraphs (separated by empty lines) broken into lines of at most `width` columns, each after `indent` spaces.
std::string wrapped(std::string_view text, size_t indent, size_t width = 100);

}  // namespace toy::cli
