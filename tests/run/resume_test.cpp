// A run that is killed at any moment and resumed ends with the bytes of one that never stopped
// (pytorch#35047, prime-diloco#97, the_well#77, keys_values#101; transformers#11323, #11648; Megatron-LM#1298;
// torchtitan#1720; tt-metal#47949; OpenVerifiableLLM#73; nanoGPT#636).
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "core/random.h"
#include "core/temp_folder.h"
#include "fake_trainer.h"
#include "run/run_bundle.h"
#include "run/run_history.h"

namespace toy {
namespace {

using test::FakeTraining;
using test::in_child;
using test::lasting_files;
using test::train;
using Clock = std::chrono::steady_clock;

// Starts or resumes the training and kills it after a while; whether it came to its end before that.
bool train_until_killed(const std::filesystem::path& folder, const FakeTraining& training, double seconds) {
    const pid_t child = ::fork();
    if (child == 0) {
        try {
            train(folder, training);
        } catch (const std::exception&) {
            ::_exit(1);
        }
        ::_exit(0);
    }
    ::usleep(static_cast<useconds_t>(seconds * 1e6));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFEXITED(status);
}

TEST(Resume, TwoRunsLeaveTheSameBytes) {
    const TempFolder folder;
    train(folder / "one");
    train(folder / "two");
    auto one = lasting_files(folder / "one"), two = lasting_files(folder / "two");
    // The run's own name is in run_start.
    const auto at = two["events.jsonl"].find("\"two\"");
    ASSERT_NE(at, std::string::npos);
    two["events.jsonl"].replace(at, 5, "\"one\"");
    EXPECT_EQ(one, two);
    EXPECT_EQ(read_run(folder / "one").state, "completed");
}

TEST(Resume, KilledAtRandomMomentsEndsWithTheSameBytes) {
    const TempFolder folder;
    const FakeTraining training{.steps = 40, .pause_us = 500};
    const auto begin = Clock::now();
    ASSERT_EQ(in_child([&] { train(folder / "whole/run", training); }), 0);
    const double whole = std::chrono::duration<double>(Clock::now() - begin).count();
    const auto expected = lasting_files(folder / "whole/run");
    Random random(3);
    int kills = 0, before_the_first_checkpoint = 0;
    for (int run = 0; kills < 24; ++run) {
        const auto place = folder / ("killed" + std::to_string(run)) / "run";
        // Where beginning takes longer than a life lasts, no kill would be the last: after some, the run may end.
        constexpr int k_most_of_one_run = 6;
        bool is_complete = false;
        for (int i = 0; i < k_most_of_one_run && !is_complete; ++i) {
            is_complete = train_until_killed(place, training, random.uniform() * whole * 0.5);
            kills += is_complete ? 0 : 1;
            const bool has_record = std::filesystem::exists(place / "run.json");
            before_the_first_checkpoint += has_record && checkpoint_steps(place).empty() ? 1 : 0;
        }
        if (!is_complete) {
            ASSERT_EQ(in_child([&] { train(place, training); }), 0);
        }
        EXPECT_EQ(lasting_files(place), expected);
        EXPECT_EQ(read_run(place).state, "completed");
    }
    RecordProperty("before_the_first_checkpoint", before_the_first_checkpoint);
}

// Lets a child make system calls that concern files until it has made `calls` of them, then kills it before the next.
// Returns how many it made. −1: the system does not let us watch it.
int kill_after_calls(const std::function<void()>& action, int calls) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(100);
        ::raise(SIGSTOP);
        try {
            action();
        } catch (const std::exception&) {
            ::_exit(101);
        }
        ::_exit(0);
    }
    int status = 0, made = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status)) return -1;
    ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    for (bool is_entry = true;; is_entry = !is_entry) {
        if (::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0) return -1;
        ::waitpid(child, &status, 0);
        if (WIFEXITED(status)) {
            EXPECT_EQ(WEXITSTATUS(status), 0);
            return made;
        }
        if (!WIFSTOPPED(status) || WSTOPSIG(status) != (SIGTRAP | 0x80)) {
            is_entry = !is_entry;  // a signal of its own
            continue;
        }
        if (!is_entry) continue;
        if (made == calls) {
            ::kill(child, SIGKILL);
            ::waitpid(child, &status, 0);
            return made;
        }
        ++made;
    }
}

// Before system calls that are spread evenly over a short run.
TEST(Resume, KilledBeforeAnySystemCallEndsWithTheSameBytes) {
    const TempFolder folder;
    const FakeTraining training{.steps = 6, .checkpoint_every = 2, .keep = 1, .weights = 4};
    const auto whole = folder / "whole/run";
    const int calls = kill_after_calls([&] { train(whole, training); }, 1 << 30);
    if (calls < 0) GTEST_SKIP() << "needs ptrace, which this system does not allow";
    const auto expected = lasting_files(whole);
    constexpr int k_runs = 60;  // some seconds; the sanitizers need half a minute
    const int stride = std::max(calls / k_runs, 1);
    for (int call = static_cast<int>(Random(5).bits() % static_cast<uint64_t>(stride)); call < calls; call += stride) {
        const auto place = folder / "killed/run";
        std::filesystem::remove_all(folder / "killed");
        kill_after_calls([&] { train(place, training); }, call);
        // Whatever is called a checkpoint is whole at any moment.
        for (int64_t step : checkpoint_steps(place)) ASSERT_NO_THROW(verified_checkpoint(place, step));
        // A second one dies at the same distance from its start: while it recovers, early on.
        if (std::filesystem::exists(place / "run.json")) kill_after_calls([&] { train(place, training); }, call / 3);
        ASSERT_EQ(in_child([&] { train(place, training); }), 0) << "killed before call " << call;
        ASSERT_EQ(lasting_files(place), expected) << "killed before call " << call;
    }
}

TEST(Resume, AStoppedRunGoesOnAsIfItHadNot) {
    const TempFolder folder;
    train(folder / "whole/run", {.steps = 20});
    train(folder / "stopped/run", {.steps = 20, .stop_at = "10"});
    RunHistory stopped = read_run(folder / "stopped/run");
    EXPECT_EQ(stopped.state, "interrupted");
    EXPECT_EQ(stopped.steps, 10);
    train(folder / "stopped/run", {.steps = 20});
    EXPECT_EQ(lasting_files(folder / "stopped/run"), lasting_files(folder / "whole/run"));
    EXPECT_EQ(read_run_json(folder / "stopped/run")["resumes"].size(), 1u);
    EXPECT_EQ(read_run_json(folder / "stopped/run")["resumes"][0]["from_step"], 10);
}

TEST(Resume, TimesGoOnAfterAResume) {
    const TempFolder folder;
    train(folder / "run", {.steps = 20, .pause_us = 1000, .stop_at = "10"});
    const double before = read_run(folder / "run").seconds;
    train(folder / "run", {.steps = 20, .pause_us = 1000});
    const RunHistory run = read_run(folder / "run");
    EXPECT_GT(run.seconds, before);
    double last = 0;
    for (const Scalar& one : run.scalars.at("train/loss")) {
        EXPECT_GE(one.t, last);
        last = one.t;
    }
}

}  // namespace
}  // namespace toy
