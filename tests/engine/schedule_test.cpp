#include "engine/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace toy {
namespace {

Schedule of(Schedule::Kind kind) { return {kind, 1e-3, 1e-4, 10, 110}; }

TEST(Schedule, RisesInAStraightLine) {
    for (auto kind : {Schedule::Kind::constant, Schedule::Kind::linear, Schedule::Kind::cosine, Schedule::Kind::wsd}) {
        EXPECT_DOUBLE_EQ(of(kind).at(0), 1e-4);
        EXPECT_DOUBLE_EQ(of(kind).at(4), 5e-4);
        EXPECT_DOUBLE_EQ(of(kind).at(9), 1e-3);
        EXPECT_DOUBLE_EQ(of(kind).at(10), 1e-3);
    }
}

TEST(Schedule, FallsAsItsKindSays) {
    EXPECT_DOUBLE_EQ(of(Schedule::Kind::constant).at(1000), 1e-3);
    EXPECT_DOUBLE_EQ(of(Schedule::Kind::linear).at(60), 5.5e-4);
    EXPECT_DOUBLE_EQ(of(Schedule::Kind::cosine).at(60), 5.5e-4);
    EXPECT_NEAR(of(Schedule::Kind::cosine).at(35), 1e-4 + 0.5 * 9e-4 * (1 + std::sqrt(0.5)), 1e-12);
    EXPECT_DOUBLE_EQ(of(Schedule::Kind::wsd).at(98), 1e-3);
    EXPECT_NEAR(of(Schedule::Kind::wsd).at(104), 1e-3 - 9e-4 * 5 / 11, 1e-12);
    for (auto kind : {Schedule::Kind::linear, Schedule::Kind::cosine, Schedule::Kind::wsd}) {
        EXPECT_DOUBLE_EQ(of(kind).at(110), 1e-4);
        EXPECT_DOUBLE_EQ(of(kind).at(5000), 1e-4);  // a run that goes on beyond its steps
    }
}

TEST(Schedule, WithoutStepsOrWithWarmUpAloneIsDefined) {
    EXPECT_DOUBLE_EQ((Schedule{Schedule::Kind::cosine, 1e-3, 0, 0, 0}.at(0)), 1e-3);
    EXPECT_DOUBLE_EQ((Schedule{Schedule::Kind::cosine, 1e-3, 0, 20, 10}.at(9)), 5e-4);
    EXPECT_DOUBLE_EQ((Schedule{Schedule::Kind::linear, 1e-3, 0, 0, 1}.at(0)), 1e-3);
}

TEST(Schedule, KindsHaveNames) {
    EXPECT_EQ(schedule_kind("wsd"), Schedule::Kind::wsd);
    EXPECT_EQ(schedule_kind("cosin"), std::nullopt);
}

}  // namespace
}  // namespace toy
