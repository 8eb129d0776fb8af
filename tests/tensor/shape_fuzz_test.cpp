#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "core/error.h"
#include "tensor/draw.h"
#include "tensor/runner.h"
#include "tensor/transfer.h"

// Every operator with thousands of random operands: either we refuse them, or ggml takes them: builds, allocates and
// computes. ggml's assertions end the process, so the calls are made in child processes (this program run anew, since
// a mere fork has no thread pool); a child that dies is a failure, named by operator, case and operands.
// TOY_FUZZ_CASES sets the number of cases of each operator; TOY_FUZZ_ONLY="softmax 123" makes one call in this process.

extern char** environ;

namespace toy::test {
namespace {

constexpr int k_most_deaths = 3;          // of one operator, before its other cases are left out
constexpr unsigned k_most_seconds = 600;  // of one child, before it counts as hanging

// Shared with the child: where it is, and what came out so far.
struct Progress {
    int64_t current, computed, refused, too_large;
    bool has_finished;
};

int64_t cases_of_each() {
    const char* set = std::getenv("TOY_FUZZ_CASES");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    constexpr long usual = 500;
#else
    constexpr long usual = 2000;
#endif
    return set != nullptr ? std::max(1L, std::atol(set)) : usual;
}

void fail(const Draw& draw, const char* what) {
    std::cerr << what << ": " << draw.text << std::endl;
    std::abort();
}

// Random ids name a row twice now and then, which set_rows does not promise to order.
bool may_race(std::string_view op) {
#if defined(__SANITIZE_THREAD__)
    return op == "set_rows";
#else
    static_cast<void>(op);
    return false;
#endif
}

// One call; the first thing that goes wrong ends the process.
void try_case(size_t op, int64_t number, bool is_loud, Progress& progress) {
    constexpr double most_bytes = 4e6;
    static Runner one(Device::cpu(), 1);
    static Runner two(Device::cpu(), 2);
    const Fuzzed& fuzzed = fuzzed_operators()[op];
    Draw draw(op * 1'000'003 + static_cast<uint64_t>(number), is_loud);
    try {
        const Tensor result = fuzzed.call(draw);
        if (draw.bytes() > most_bytes) {
            ++progress.too_large;
            return;
        }
        draw.graph.output(result);
        draw.params.allocate();
        draw.graph.allocate(Device::cpu());
        if (!draw.fill()) fail(draw, "an index out of range was taken");
        one.run(draw.graph);
        if (!may_race(fuzzed.name)) two.run(draw.graph);
        if (converts_to_f32(result.dtype())) read_f32(result);
        if (result.dtype() == DType::I32) read_i32(result);
        ++progress.computed;
    } catch (const Error& error) {
        if (is_loud) std::cerr << "refused: " << error.what() << std::endl;
        const bool is_ours = std::string_view(error.what()).find("ggml made another") == std::string_view::npos;
        if (!is_ours) fail(draw, error.what());
        ++progress.refused;
    }
}

void run_cases(size_t op, int64_t first, int64_t last, bool is_loud, Progress& progress) {
    alarm(k_most_seconds);
    for (int64_t i = first; i < last; ++i) {
        progress.current = i;
        try_case(op, i, is_loud, progress);
    }
    progress.has_finished = true;
}

// A file of shared memory with the child.
class SharedProgress {
 public:
    SharedProgress() : file_(memfd_create("progress", 0)) {
        if (ftruncate(file_, sizeof(Progress)) == 0) map();
    }
    explicit SharedProgress(int inherited) : file_(inherited) { map(); }
    ~SharedProgress() {
        munmap(progress_, sizeof(Progress));
        close(file_);
    }
    Progress* operator->() { return progress_; }
    Progress& operator*() { return *progress_; }
    int file() const { return file_; }

 private:
    void map() {
        progress_ =
            static_cast<Progress*>(mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
    }
    int file_;
    Progress* progress_ = nullptr;
};

// This program as a child that makes the given calls; returns what it printed on its error stream.
std::string run_child(size_t op, int64_t first, int64_t last, bool is_loud, const SharedProgress& progress) {
    std::string order = fmt::format("TOY_FUZZ_CHILD={} {} {} {}", first, last, is_loud ? 1 : 0, progress.file());
    std::string filter = fmt::format("--gtest_filter=*/ShapeFuzz.IsRefusedOrComputed/{}", fuzzed_operators()[op].name);
    std::vector<char*> environment;
    for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
    std::string no_backtrace = "GGML_NO_BACKTRACE=1";     // it would start a debugger
    std::string no_spinning = "OMP_WAIT_POLICY=passive";  // which beside other processes takes ten times as long
    environment.insert(environment.end(), {order.data(), no_backtrace.data(), no_spinning.data()});
    environment.push_back(nullptr);
    std::string program = "/proc/self/exe";
    std::array<char*, 3> arguments{program.data(), filter.data(), nullptr};
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return "no pipe";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    const int error = posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    std::string printed;
    std::array<char, 4096> buffer{};
    for (ssize_t n = 0; (n = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
        printed.append(buffer.data(), static_cast<size_t>(n));
    }
    close(ends[0]);
    int status = 0;
    if (error == 0) waitpid(child, &status, 0);
    return error == 0 ? printed : fmt::format("the child did not start: {}", error);
}

class ShapeFuzz : public testing::TestWithParam<size_t> {};

TEST_P(ShapeFuzz, IsRefusedOrComputed) {
    const size_t op = GetParam();
    const std::string name(fuzzed_operators()[op].name);
    if (const char* order = std::getenv("TOY_FUZZ_CHILD")) {
        long first = 0, last = 0;
        int is_loud = 0, file = -1;
        ASSERT_EQ(std::sscanf(order, "%ld %ld %d %d", &first, &last, &is_loud, &file), 4);
        SharedProgress progress(file);
        run_cases(op, first, last, is_loud != 0, *progress);
        return;
    }
    SharedProgress progress;
    if (const char* only = std::getenv("TOY_FUZZ_ONLY")) {
        const std::string_view wanted = only;
        const size_t space = wanted.find(' ');
        if (wanted.substr(0, space) == name) {
            const long number = std::atol(only + space);
            run_cases(op, number, number + 1, true, *progress);
        }
        return;
    }
    const int64_t cases = cases_of_each();
    int deaths = 0;
    for (int64_t first = 0; first < cases && deaths < k_most_deaths; first = progress->current + 1) {
        progress->has_finished = false;
        const std::string printed = run_child(op, first, cases, false, progress);
        if (progress->has_finished) break;
        ++deaths;
        const int64_t culprit = progress->current;
        const std::string operands = run_child(op, culprit, culprit + 1, true, progress);
        progress->current = culprit;
        ADD_FAILURE() << "TOY_FUZZ_ONLY='" << name << ' ' << culprit << "' ends the process: " << printed << operands;
    }
    std::cout << fmt::format("{}: {} computed, {} refused, {} too large\n", name, progress->computed, progress->refused,
                             progress->too_large);
    EXPECT_GT(progress->computed, cases / 12) << "too few operands fit to test anything";
    EXPECT_GT(progress->refused, 0);
}

INSTANTIATE_TEST_SUITE_P(Operators, ShapeFuzz, testing::Range<size_t>(0, fuzzed_operators().size()),
                         [](const auto& op) { return std::string(fuzzed_operators()[op.param].name); });

}  // namespace
}  // namespace toy::test
