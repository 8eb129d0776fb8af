#include "core/progress.h"

#include <gtest/gtest.h>

namespace toy {
namespace {

struct FakeScreen {
    std::string text;
    int draws = 0;
    double now = 100.0;
    Progress::Screen screen(bool is_terminal, int columns = 80) {
        return {is_terminal, columns,
                [this](std::string_view t) {
                    text = t;
                    ++draws;
                },
                [this] { return now; }};
    }
};

TEST(Progress, SaysNothingWhereNobodyLooks) {
    FakeScreen fake;
    Progress progress("prompt", 100, fake.screen(false));
    fake.now += 60;
    progress.show(50);
    EXPECT_EQ(fake.draws, 0);
}

TEST(Progress, SaysNothingDuringTheFirstSecond) {
    FakeScreen fake;
    {
        Progress progress("prompt", 100, fake.screen(true));
        fake.now += 0.9;
        progress.show(50);
    }
    EXPECT_EQ(fake.draws, 0);
}

TEST(Progress, ShowsShareAndTimeLeft) {
    FakeScreen fake;
    Progress progress("prompt", 200, fake.screen(true));
    fake.now += 30;
    progress.show(50);
    EXPECT_EQ(fake.text, "\r\x1b[Kprompt [=======                       ]  25 %  1:30 left");
    fake.now += 3600;
    progress.show(100);
    EXPECT_NE(fake.text.find(" 50 %  1:00:30 left"), std::string::npos) << fake.text;
}

TEST(Progress, DrawsAtMostTenTimesASecond) {
    FakeScreen fake;
    Progress progress("prompt", 1000, fake.screen(true));
    fake.now += 1;
    for (int i = 0; i < 1000; ++i, fake.now += 0.001) progress.show(i);
    EXPECT_GE(fake.draws, 9);
    EXPECT_LE(fake.draws, 11);
}

TEST(Progress, WipesItsLineAtTheEnd) {
    FakeScreen fake;
    {
        Progress progress("prompt", 100, fake.screen(true));
        fake.now += 2;
        progress.show(50);
    }
    EXPECT_EQ(fake.text, "\r\x1b[K");
    EXPECT_EQ(fake.draws, 2);
}

TEST(Progress, FitsEveryWidthAndCount) {
    for (int columns = 1; columns < 60; ++columns) {
        FakeScreen fake;
        Progress progress("a long label", 0, fake.screen(true, columns));
        fake.now += 2;
        progress.show(columns % 3 == 0 ? -5 : 7);
        EXPECT_LT(fake.text.size() - std::string("\r\x1b[K").size(), static_cast<size_t>(columns));
    }
}

}  // namespace
}  // namespace toy
