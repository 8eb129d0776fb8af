#include "run/training_progress.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace toy {
namespace {

struct FakeScreen {
    std::string text;
    double now = 100.0;
    Progress::Screen screen(bool is_terminal, int columns = 200) {
        return {is_terminal, columns, [this](std::string_view t) { text += t; }, [this] { return now; }};
    }
    std::string taken() { return std::exchange(text, ""); }
};

void step(TrainingProgress& progress, int64_t number, double loss) {
    progress.event("step", number, Phase::train,
                   {{"loss", loss}, {"lr", 1e-3}, {"grad_norm", 0.875}, {"tokens", 512}, {"wall_us", 50000}});
}

TEST(TrainingProgress, OneLineOnATerminal) {
    FakeScreen fake;
    {
        TrainingProgress progress(100, fake.screen(true));
        fake.now += 2;
        step(progress, 1, 4.0);
        EXPECT_EQ(
            fake.taken(),
            "\r\x1b[Kstep 1/100  loss 4.0000  smoothed 4.0000  10.24k tokens/s  lr 1.00e-03  grad 0.875  3:18 left");
        fake.now += 0.05;
        step(progress, 2, 2.0);
        EXPECT_EQ(fake.taken(), "");  // drawn at most ten times a second
        fake.now += 0.15;
        progress.event("eval", 2, Phase::eval, {{"name", "validation"}, {"loss", 3.5}, {"ppl", 1}, {"samples", 1}});
        step(progress, 3, std::nan(""));
        const std::string line = fake.taken();
        EXPECT_NE(line.find("step 3/100  loss nan  smoothed 2.9744  validation 3.5000"), std::string::npos) << line;
        progress.event("note", 3, Phase::none, {{"text", "a\x1b[31m note"}});
        EXPECT_EQ(fake.taken(), "\r\x1b[Knote: a?[31m note\n");
    }
    EXPECT_EQ(fake.taken(), "");
}

TEST(TrainingProgress, TheLastLineStays) {
    FakeScreen fake;
    {
        TrainingProgress progress(2, fake.screen(true));
        step(progress, 1, 4.0);
        step(progress, 2, 4.0);
        fake.taken();
    }
    const std::string end = fake.taken();
    EXPECT_NE(end.find("step 2/2 "), std::string::npos);
    EXPECT_NE(end.find("0:00 left\n"), std::string::npos);
}

TEST(TrainingProgress, NarrowTerminalsKeepWhatMattersMost) {
    for (int columns : {5, 30, 45, 80}) {
        FakeScreen fake;
        TrainingProgress progress(100, fake.screen(true, columns));
        step(progress, 1, 4.0);
        const std::string line = fake.taken().substr(4);
        EXPECT_LT(line.size(), static_cast<size_t>(columns));
        EXPECT_EQ(line.find("left") != std::string::npos, columns >= 30);
        EXPECT_EQ(line.find("loss 4.0000") != std::string::npos, columns >= 45);
    }
}

TEST(TrainingProgress, PlainLinesEveryFewSecondsElsewhere) {
    FakeScreen fake;
    int lines = 0;
    {
        TrainingProgress progress(1000, fake.screen(false));
        for (int i = 1; i <= 100; ++i) {
            fake.now += 0.1;
            step(progress, i, 4.0);
        }
        const std::string text = fake.taken();
        EXPECT_EQ(text.find('\r'), std::string::npos);
        lines = static_cast<int>(std::count(text.begin(), text.end(), '\n'));
        EXPECT_EQ(lines, 2);
        EXPECT_EQ(text.rfind("step 1/1000  loss", 0), 0u);
    }
    EXPECT_EQ(fake.taken().rfind("step 100/1000  loss", 0), 0u);
}

// After a resume the time left comes from the steps of this session alone.
TEST(TrainingProgress, AResumedRunMeasuresItsOwnSteps) {
    FakeScreen fake;
    TrainingProgress progress(1000, fake.screen(true));
    fake.now += 1;
    step(progress, 901, 4.0);
    EXPECT_NE(fake.taken().find("1:39 left"), std::string::npos);
}

}  // namespace
}  // namespace toy
