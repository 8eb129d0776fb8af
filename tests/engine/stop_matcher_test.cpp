#include "engine/stop_matcher.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/error.h"

namespace toy {
namespace {

std::string all(StopMatcher& matcher, const std::vector<std::string>& pieces) {
    std::string shown;
    for (const std::string& piece : pieces) shown += matcher.push(piece);
    return shown + matcher.finish();
}

TEST(StopMatcher, FindsAStringAcrossPieces) {  // lcpp#10914, lcpp#13780, vllm#3574
    StopMatcher matcher({"STOP"});
    EXPECT_EQ(matcher.push("abS"), "ab");
    EXPECT_EQ(matcher.push("TO"), "");
    EXPECT_EQ(matcher.push("Pxyz"), "");
    EXPECT_TRUE(matcher.has_stopped());
    EXPECT_EQ(matcher.found(), "STOP");
    EXPECT_EQ(matcher.push("more"), "");
    EXPECT_EQ(matcher.finish(), "");
}

TEST(StopMatcher, FlushesWhatOnlyLookedLikeOne) {  // lcpp#15007
    StopMatcher matcher({"STOP"});
    EXPECT_EQ(matcher.push("aSTO"), "a");
    EXPECT_EQ(matcher.push("R"), "STOR");
    EXPECT_EQ(matcher.push("ST"), "");
    EXPECT_EQ(matcher.finish(), "ST");
}

TEST(StopMatcher, TheEarliestOfSeveralWins) {
    StopMatcher matcher({"b", "ab"});
    EXPECT_EQ(all(matcher, {"xa", "b"}), "x");
    EXPECT_EQ(matcher.found(), "ab");
}

TEST(StopMatcher, RefusesAnEmptyString) { EXPECT_THROW(StopMatcher({""}), Error); }

// However a text is cut, the result is that of searching the whole.
RC_GTEST_PROP(StopMatcher, CutsDoNotMatter, ()) {
    const auto letter = rc::gen::elementOf(std::string("ab"));
    const auto text = *rc::gen::container<std::string>(letter);
    const auto stops = *rc::gen::container<std::vector<std::string>>(
        2, rc::gen::suchThat(rc::gen::container<std::string>(letter),
                             [](const std::string& s) { return !s.empty() && s.size() < 6; }));
    std::vector<std::string> pieces;
    for (size_t at = 0; at < text.size();) {
        const auto length = *rc::gen::inRange<size_t>(1, 4);
        pieces.push_back(text.substr(at, length));
        at += length;
    }
    // A stop string that ends earlier is found earlier, even if another begins before it: text is shown as it comes.
    size_t shown = text.size();
    for (size_t end = 1; end <= text.size() && shown == text.size(); ++end) {
        for (const std::string& stop : stops) {
            const size_t at = std::string_view(text).substr(0, end).find(stop);
            if (at != std::string::npos) shown = std::min(shown, at);
        }
    }
    StopMatcher matcher(stops);
    std::string seen;
    for (const std::string& piece : pieces) {
        for (char c : piece) seen += matcher.push(std::string_view(&c, 1));
    }
    seen += matcher.finish();
    RC_ASSERT(seen == text.substr(0, shown));
}

}  // namespace
}  // namespace toy
