#include "run/trace_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "core/error.h"
#include "core/temp_folder.h"
#include "fake_trainer.h"

namespace toy {
namespace {

TEST(TraceFile, IsValidAtAnyMoment) {
    const TempFolder folder;
    TraceFile trace(folder / "trace.json");
    EXPECT_EQ(nlohmann::json::parse(read_file(folder / "trace.json")).size(), 0u);
    for (size_t i = 1; i <= 5; ++i) {
        { const TraceSpan span(&trace, "step \"1\"\n", "train"); }
        trace.flush();
        const auto events = nlohmann::json::parse(read_file(folder / "trace.json"));
        ASSERT_EQ(events.size(), i);
        EXPECT_EQ(events[i - 1]["name"], "step \"1\"\n");
        EXPECT_EQ(events[i - 1]["ph"], "X");
        EXPECT_EQ(events[i - 1]["cat"], "train");
        EXPECT_GE(events[i - 1]["dur"].get<double>(), 0);
        EXPECT_EQ(events[i - 1]["pid"], ::getpid());
    }
}

TEST(TraceFile, TellsThreadsApartAndTimesThem) {
    const TempFolder folder;
    {
        TraceFile trace(folder / "trace.json");
        const auto work = [&trace] {
            for (int i = 0; i < 1000; ++i) {
                const TraceSpan outer(&trace, "outer", "a");
                const TraceSpan inner(&trace, "inner", "a");
            }
        };
        std::thread other(work);
        work();
        other.join();
        const TraceSpan none(nullptr, "x", "y");
    }
    const auto events = nlohmann::json::parse(read_file(folder / "trace.json"));
    ASSERT_EQ(events.size(), 4000u);
    std::set<int> threads;
    for (const auto& event : events) threads.insert(event["tid"].get<int>());
    EXPECT_EQ(threads, (std::set<int>{1, 2}));
}

TEST(TraceFile, SurvivesAKillUpToItsLastWrite) {
    const TempFolder folder;
    test::in_child([&] {
        TraceFile trace(folder / "trace.json");
        for (int i = 0; i < 5000; ++i) const TraceSpan span(&trace, "step", "train");
        ::kill(::getpid(), SIGKILL);
    });
    EXPECT_GT(nlohmann::json::parse(read_file(folder / "trace.json")).size(), 3000u);
}

TEST(TraceFile, AFullDiskLeavesItValid) {
    const TempFolder folder;
    const int code = test::in_child([&] {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{2000, 2000};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        TraceFile trace(folder / "trace.json");
        bool has_failed = false;
        try {
            for (int i = 0; i < 100; ++i) {
                { const TraceSpan span(&trace, "step", "train"); }
                trace.flush();
            }
        } catch (const Error&) {
            has_failed = true;
        }
        if (!has_failed) ::_exit(3);
    });
    EXPECT_EQ(code, 0);
    EXPECT_GT(nlohmann::json::parse(read_file(folder / "trace.json")).size(), 10u);
}

}  // namespace
}  // namespace toy
