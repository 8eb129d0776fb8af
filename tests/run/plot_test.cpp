#include "run/plot.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <regex>

#include "core/temp_folder.h"
#include "fake_trainer.h"
#include "run/loss_plot.h"
#include "run/smoother.h"

namespace toy {
namespace {

constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();
using Values = std::vector<double>;

std::vector<std::string> labels(const Values& ticks) {
    std::vector<std::string> all;
    for (double tick : ticks) all.push_back(Axis::label(tick));
    return all;
}

size_t count(const std::string& text, const std::string& what) {
    size_t n = 0;
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++n;
    return n;
}

TEST(Axis, TicksAreRoundAndInside) {
    EXPECT_EQ(labels(Axis(0, 2000, Scale::linear).ticks(8)),
              (std::vector<std::string>{"0", "500", "1000", "1500", "2000"}));
    EXPECT_EQ(labels(Axis(1.47, 4.31, Scale::linear).ticks(6)),
              (std::vector<std::string>{"1.5", "2", "2.5", "3", "3.5", "4"}));
    EXPECT_EQ(labels(Axis(-1e-3, 1e-3, Scale::linear).ticks(4)),
              (std::vector<std::string>{"-0.001", "-0.0005", "0", "0.0005", "0.001"}));
    EXPECT_EQ(labels(Axis(1, 20000, Scale::log).ticks(6)), (std::vector<std::string>{"1", "10", "100", "1000", "10k"}));
    EXPECT_EQ(labels(Axis(1.6, 4.7, Scale::log).ticks(6)), (std::vector<std::string>{"2", "3", "4"}));
    EXPECT_EQ(Axis::label(1500000), "1.5M");
    EXPECT_EQ(Axis::label(40000), "40k");
}

RC_GTEST_PROP(Axis, EveryRangeHasTicksInsideAndPlacesBetweenZeroAndOne, ()) {
    const double low = *rc::gen::map(rc::gen::inRange(-1000000, 1000000), [](int i) { return i / 1000.0; });
    const double range = *rc::gen::map(rc::gen::inRange(0, 400), [](int i) { return std::pow(10.0, i / 40.0 - 5); });
    const bool is_log = *rc::gen::arbitrary<bool>();
    const double begin = is_log ? std::abs(low) + 1e-3 : low;
    const Axis axis(begin, begin + range, is_log ? Scale::log : Scale::linear);
    const Values ticks = axis.ticks(6);
    RC_ASSERT(ticks.size() >= 1u);
    RC_ASSERT(ticks.size() <= 20u);
    for (size_t i = 0; i < ticks.size(); ++i) {
        RC_ASSERT(axis.place(ticks[i]) >= -1e-6);
        RC_ASSERT(axis.place(ticks[i]) <= 1 + 1e-6);
        const bool rises = i == 0 || ticks[i] > ticks[i - 1];
        RC_ASSERT(rises);
    }
    RC_ASSERT(std::abs(axis.place(axis.low())) < 1e-9);
    RC_ASSERT(std::abs(axis.place(axis.high()) - 1) < 1e-9);
}

TEST(Plot, AxesHoldWhatHasAPlace) {
    Plot plot;
    plot.series = {{"a", {{1, 5}, {2, k_nan}, {3, INFINITY}, {4, 2}}}, {"b", {{10, -1}}}};
    EXPECT_EQ(axes_of(plot)->y.low(), -1);
    EXPECT_EQ(axes_of(plot)->y.high(), 5);
    EXPECT_EQ(axes_of(plot)->x.high(), 10);
    plot.y_scale = Scale::log;  // has no place for −1
    EXPECT_EQ(axes_of(plot)->y.low(), 2);
    EXPECT_EQ(axes_of(plot)->x.high(), 4);
    plot.series = {{"a", {{1, k_nan}}}};
    EXPECT_FALSE(axes_of(plot));
}

TEST(Plot, ThinningKeepsPeaksEndsAndGaps) {
    Curve curve;
    for (int i = 0; i < 100000; ++i) curve.push_back({static_cast<double>(i), 1.0});
    curve[50001].y = 9;
    curve[50002].y = -9;
    curve[70000].y = k_nan;
    const Axis x(0, 99999, Scale::linear);
    const Curve thin = thinned(curve, x, 100);
    EXPECT_LE(thin.size(), 500u);
    EXPECT_EQ(thin.front().x, 0);
    EXPECT_EQ(thin.back().x, 99999);
    const auto has = [&](double y) {
        return std::any_of(thin.begin(), thin.end(), [&](const Point& p) { return p.y == y; });
    };
    EXPECT_TRUE(has(9) && has(-9));
    EXPECT_EQ(std::count_if(thin.begin(), thin.end(), [](const Point& p) { return std::isnan(p.y); }), 1);
    EXPECT_TRUE(std::is_sorted(thin.begin(), thin.end(), [](const Point& a, const Point& b) { return a.x < b.x; }));
}

Plot a_plot() {
    Plot plot;
    plot.title = "a <run> & \"more\"\x01";
    plot.series = {{"train", {{0, 4}, {1, 3}, {2, k_nan}, {3, 2}, {4, 2.5}}, Series::Style::faint, 0},
                   {"smoothed", {{0, 4}, {1, 3.5}, {3, 3}, {4, 2.8}}, Series::Style::line, 0},
                   {"validation", {{2, 3}, {4, 2.9}}, Series::Style::dots, 1}};
    return plot;
}

// Where every tag that opens closes again, attributes are quoted and nothing else holds < or &, XML is well formed.
void expect_well_formed(const std::string& svg) {
    const std::string body = svg.substr(svg.find("?>") + 2);
    static const std::regex tag(R"(<(/?)(\w+)((?: [\w:-]+="[^"<]*")*)(/?)>)");
    std::vector<std::string> open;
    std::string text;
    auto at = body.begin();
    for (std::sregex_iterator it(body.begin(), body.end(), tag), end; it != end; ++it) {
        text += std::string(at, (*it)[0].first);
        at = (*it)[0].second;
        if ((*it)[1].length() > 0) {
            ASSERT_FALSE(open.empty());
            ASSERT_EQ(open.back(), (*it)[2].str());
            open.pop_back();
        } else if ((*it)[4].length() == 0) {
            open.push_back((*it)[2].str());
        }
    }
    EXPECT_TRUE(open.empty());
    text += std::string(at, body.end());
    EXPECT_EQ(text.find('<'), std::string::npos);
    EXPECT_TRUE(std::regex_search(text, std::regex("&(?!amp;|lt;|gt;|quot;)")) == false);
}

TEST(SvgPlot, IsWellFormedAndShowsGapsAndLabels) {
    const std::string svg = svg_plot(a_plot());
    expect_well_formed(svg);
    EXPECT_NE(svg.find("a &lt;run&gt; &amp; &quot;more&quot;?"), std::string::npos);
    EXPECT_NE(svg.find(">step</text>"), std::string::npos);
    EXPECT_NE(svg.find(">loss</text>"), std::string::npos);
    EXPECT_NE(svg.find("prefers-color-scheme: dark"), std::string::npos);
    EXPECT_EQ(count(svg, "<polyline class=\"faint\""), 2u);  // the NaN cuts it in two
    EXPECT_EQ(count(svg, "<circle"), 3u);                    // two evaluations and the legend
    EXPECT_EQ(count(svg, "nan"), 0u);
    EXPECT_EQ(count(svg, "inf"), 0u);
}

TEST(SvgPlot, SurvivesNoPointsAndOne) {
    expect_well_formed(svg_plot({}));
    EXPECT_NE(svg_plot({}).find("no points yet"), std::string::npos);
    Plot plot;
    plot.series = {{"x", {{5, 2}}}};
    expect_well_formed(svg_plot(plot));
    EXPECT_EQ(count(svg_plot(plot), "<circle"), 1u);
    plot.y_scale = plot.x_scale = Scale::log;
    expect_well_formed(svg_plot(plot));
}

TEST(TextPlot, FitsTheScreenInAsciiAndBraille) {
    for (int columns : {20, 40, 80, 200}) {
        for (bool has_utf8 : {false, true}) {
            const std::string text = text_plot(a_plot(), {.columns = columns, .rows = 10, .has_utf8 = has_utf8});
            std::istringstream lines(text.substr(0, text.rfind('\n', text.size() - 2)));  // but the legend
            int number = 0;
            for (std::string line; std::getline(lines, line); ++number) {
                const auto width = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
                if (number > 0) {
                    EXPECT_LE(width, columns) << line;
                }
            }
            EXPECT_EQ(number, 13);
            EXPECT_EQ(text.find('\x1b'), std::string::npos);
            const bool is_ascii = std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
            EXPECT_EQ(is_ascii, !has_utf8);
        }
    }
}

TEST(TextPlot, PutsPointsWhereTheyBelong) {
    Plot plot;
    plot.title = "t";
    plot.series = {{"x", {{0, 0}, {10, 10}}, Series::Style::line, 0}};
    const std::string expected =
        "t\n"
        "10 +      **\n"
        "   |    **\n"
        " 5 +  **\n"
        " 0 +**\n"
        "   +--------\n"
        "    0   5 10\n"
        "* x\n";
    EXPECT_EQ(text_plot(plot, {.columns = 13, .rows = 4, .has_utf8 = false}), expected);
    EXPECT_EQ(text_plot({}, {}), "no points yet\n");
    // Dots at the corners of the same picture: the lowest left and the highest right of all.
    const std::string braille = text_plot(plot, {.columns = 13, .rows = 4});
    EXPECT_NE(braille.find("⡠"), std::string::npos);
}

TEST(TextPlot, ColoursOnlyWhereAsked) {
    EXPECT_NE(text_plot(a_plot(), {.has_colour = true}).find("\x1b[34m"), std::string::npos);
}

TEST(Smoother, IsAMeanFromItsFirstValueOn) {
    Smoother smoother(0.9);
    EXPECT_TRUE(std::isnan(smoother.mean()));
    EXPECT_DOUBLE_EQ(smoother.add(4), 4);
    EXPECT_DOUBLE_EQ(smoother.add(k_nan), 4);
    EXPECT_DOUBLE_EQ(smoother.add(2), (0.9 * 4 + 2) / 1.9);
}

TEST(LossPlot, IsWrittenBesideTheRun) {
    const TempFolder folder;
    test::train(folder / "run", {.steps = 12});
    const std::string svg = read_file(folder / "run/loss.svg");
    expect_well_formed(svg);
    EXPECT_EQ(count(svg, "<circle"), 5u);  // evaluations at steps 3, 6, 9, 12, and the legend
    const LossCurves run = loss_curves(read_run(folder / "run"));
    EXPECT_EQ(svg_plot(loss_plot(std::span(&run, 1))), svg);
    const std::vector<LossCurves> two = {run, run};
    EXPECT_EQ(loss_plot(two).series.size(), 4u);
    EXPECT_EQ(loss_plot(two).series[2].colour, 1);
}

}  // namespace
}  // namespace toy
