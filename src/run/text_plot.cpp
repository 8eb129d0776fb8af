#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "run/plot.h"

namespace toy {
namespace {

constexpr std::array<int, 6> k_colours = {34, 33, 32, 35, 36, 31};  // of ECMA-48's eight, without black and white
constexpr int k_least_columns = 8;

// Which of a cell's 2 x 4 braille dots is which bit (Unicode 15, chapter 21.1).
constexpr std::array<std::array<unsigned, 2>, 4> k_braille = {{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};

struct Cell {
    unsigned dots = 0;  // braille
    char mark = 0;      // a letter over it
    int colour = 0;
};

std::string utf8_braille(unsigned dots) {
    // U+2800 + dots, as three bytes.
    return {static_cast<char>(0xE2), static_cast<char>(0xA0 | (dots >> 6)), static_cast<char>(0x80 | (dots & 0x3F))};
}

// The picture, without labels: one place per cell in ASCII, 2 x 4 in braille.
class Canvas {
 public:
    Canvas(int columns, int rows, bool has_braille)
        : columns_(columns), rows_(rows), has_braille_(has_braille), cells_(static_cast<size_t>(columns * rows)) {}

    int width() const { return columns_ * (has_braille_ ? 2 : 1); }
    int height() const { return rows_ * (has_braille_ ? 4 : 1); }
    Cell& cell(int column, int row) { return cells_[static_cast<size_t>(row * columns_ + column)]; }

    void point(int x, int y, char mark, int colour) {
        if (x < 0 || y < 0 || x >= width() || y >= height()) return;
        Cell& one = has_braille_ ? cell(x / 2, y / 4) : cell(x, y);
        one.colour = colour;
        if (has_braille_) {
            one.dots |= k_braille[static_cast<size_t>(y % 4)][static_cast<size_t>(x % 2)];
        } else {
            one.mark = mark;
        }
    }
    void letter(int x, int y, char mark, int colour) {
        Cell& one = has_braille_ ? cell(x / 2, y / 4) : cell(x, y);
        one.mark = mark;
        one.colour = colour;
    }
    void line(int x0, int y0, int x1, int y1, char mark, int colour) {
        const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
        for (int i = 0; i <= steps; ++i) {
            const double share = static_cast<double>(i) / steps;
            point(x0 + static_cast<int>(std::lround(share * (x1 - x0))),
                  y0 + static_cast<int>(std::lround(share * (y1 - y0))), mark, colour);
        }
    }

    std::string row(int number, bool has_colour) {
        std::string text;
        for (int column = 0; column < columns_; ++column) {
            const Cell& one = cell(column, number);
            const bool is_empty = one.mark == 0 && one.dots == 0;
            std::string shown = one.mark != 0 ? std::string(1, one.mark) : is_empty ? " " : utf8_braille(one.dots);
            if (has_colour && !is_empty) shown = fmt::format("\x1b[{}m{}\x1b[0m", one.colour, shown);
            text += shown;
        }
        return text.substr(0, text.find_last_not_of(' ') + 1);
    }

 private:
    int columns_, rows_;
    bool has_braille_;
    std::vector<Cell> cells_;
};

int colour_of(const Series& series) { return k_colours[static_cast<size_t>(series.colour) % k_colours.size()]; }

int64_t lines_of(const Plot& plot) {
    return std::count_if(plot.series.begin(), plot.series.end(),
                         [](const Series& s) { return s.style == Series::Style::line; });
}

// The letter that stands for a series where dots or colours do not tell it from others.
char mark_of(const Plot& plot, const Series& series) {
    if (series.style == Series::Style::faint) return '.';
    const bool is_dots = series.style == Series::Style::dots;
    if (lines_of(plot) <= 1) return is_dots ? 'o' : '*';
    return static_cast<char>((is_dots ? 'A' : 'a') + series.colour % 26);
}

// Braille has no faint dots: without colours the smoothed course alone is to be seen.
bool is_shown(const Series& series, bool has_braille, bool has_colour) {
    return series.style != Series::Style::faint || !has_braille || has_colour;
}

void draw(Canvas& canvas, const Series& series, const Axes& axes, char mark) {
    bool has_last = false;
    int last_x = 0, last_y = 0;
    for (const Point& point : thinned(series.points, axes.x, canvas.width())) {
        if (!axes.x.takes(point.x) || !axes.y.takes(point.y)) {
            has_last = false;
            continue;
        }
        const int x = static_cast<int>(std::lround(axes.x.place(point.x) * (canvas.width() - 1)));
        const int y = static_cast<int>(std::lround((1 - axes.y.place(point.y)) * (canvas.height() - 1)));
        if (series.style == Series::Style::dots) {
            canvas.letter(x, y, mark, colour_of(series));
        } else if (has_last) {
            canvas.line(last_x, last_y, x, y, mark, colour_of(series));
        } else {
            canvas.point(x, y, mark, colour_of(series));
        }
        has_last = true;
        last_x = x;
        last_y = y;
    }
}

std::string below(const Axes& axes, size_t indent, int columns, std::string_view unit) {
    std::string labels(indent + static_cast<size_t>(columns), ' ');
    size_t free = 0;
    for (double tick : axes.x.ticks(std::max(columns / 12, 2))) {
        const std::string label = Axis::label(tick);
        const auto centre = indent + static_cast<size_t>(std::lround(axes.x.place(tick) * (columns - 1)));
        const size_t begin = std::min(centre - std::min(centre, label.size() / 2), labels.size() - label.size());
        if (begin < free) continue;
        labels.replace(begin, label.size(), label);
        free = begin + label.size() + 1;
    }
    labels.erase(labels.find_last_not_of(' ') + 1);
    if (labels.size() + 1 + unit.size() <= indent + static_cast<size_t>(columns)) labels += fmt::format(" {}", unit);
    return labels + "\n";
}

std::string legend(const Plot& plot, const TextScreen& screen, bool has_braille) {
    std::string text;
    for (const Series& series : plot.series) {
        if (!is_shown(series, has_braille, screen.has_colour)) continue;
        const bool is_letter = !has_braille || series.style == Series::Style::dots;
        std::string mark = is_letter ? std::string(1, mark_of(plot, series)) : utf8_braille(0x36);
        if (screen.has_colour) mark = fmt::format("\x1b[{}m{}\x1b[0m", colour_of(series), mark);
        text += fmt::format("{}{} {}", text.empty() ? "" : "   ", mark, series.name);
    }
    return text + "\n";
}

}  // namespace

std::string text_plot(const Plot& plot, const TextScreen& screen) {
    const auto axes = axes_of(plot);
    if (!axes) return "no points yet\n";
    const int rows = std::max(screen.rows, 4);
    const std::vector<double> ticks = axes->y.ticks(std::max(rows / 4, 2));
    size_t indent = 0;
    for (double tick : ticks) indent = std::max(indent, Axis::label(tick).size());
    const int columns = std::max(screen.columns - static_cast<int>(indent) - 3, k_least_columns);
    // Curves of dots can be told apart by colour alone.
    const bool has_braille = screen.has_utf8 && (screen.has_colour || lines_of(plot) <= 1);
    Canvas canvas(columns, rows, has_braille);
    for (const Series& series : plot.series) {
        if (is_shown(series, has_braille, screen.has_colour)) draw(canvas, series, *axes, mark_of(plot, series));
    }

    std::vector<std::string> labels(static_cast<size_t>(rows));
    for (double tick : ticks) {
        labels[static_cast<size_t>(std::lround((1 - axes->y.place(tick)) * (rows - 1)))] = Axis::label(tick);
    }
    std::string text = plot.title + "\n";
    for (int row = 0; row < rows; ++row) {
        const std::string& label = labels[static_cast<size_t>(row)];
        const char* border = screen.has_utf8 ? (label.empty() ? "│" : "┤") : (label.empty() ? "|" : "+");
        text += fmt::format("{:>{}} {}{}\n", label, indent, border, canvas.row(row, screen.has_colour));
    }
    text += std::string(indent + 1, ' ') + (screen.has_utf8 ? "└" : "+");
    for (int column = 0; column < columns; ++column) text += screen.has_utf8 ? "─" : "-";
    return text + "\n" + below(*axes, indent + 2, columns, plot.x_label) + legend(plot, screen, has_braille);
}

}  // namespace toy
