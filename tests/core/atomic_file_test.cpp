#include "core/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "core/error.h"
#include "core/temp_folder.h"

namespace toy {
namespace {

std::string sentence(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

/// Runs the action in a child process and returns its exit code.
int exit_code_of(const std::function<int()>& action) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(action());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(AtomicFile, AppearsWithCommitAndNotBefore) {
    const TempFolder folder;
    AtomicFile file(folder / "out");
    file.write("hello ");
    file.write(std::string(1 << 20, 'x'));
    file.write(" end");
    EXPECT_EQ(file.size(), 6U + (1U << 20) + 4U);
    EXPECT_FALSE(std::filesystem::exists(folder / "out"));
    file.commit();
    EXPECT_EQ(read_file(folder / "out"), "hello " + std::string(1 << 20, 'x') + " end");
    EXPECT_EQ(folder.entries(), 1U);
}

TEST(AtomicFile, WithoutCommitNothingChanges) {
    const TempFolder folder;
    folder.file("out", "old");
    {
        AtomicFile file(folder / "out");
        file.write("new");
    }
    EXPECT_EQ(read_file(folder / "out"), "old");
    EXPECT_EQ(folder.entries(), 1U);
}

TEST(AtomicFile, ReplacesWhatWasThere) {
    const TempFolder folder;
    folder.file("out", "a longer old text");
    AtomicFile file(folder / "out");
    file.write("new");
    file.commit();
    EXPECT_EQ(read_file(folder / "out"), "new");
}

TEST(AtomicFile, TakesTheUsualPermissions) {
    const TempFolder folder;
    const mode_t mask = ::umask(022);
    AtomicFile file(folder / "out");
    file.commit();
    ::umask(mask);
    EXPECT_EQ(std::filesystem::status(folder / "out").permissions(), std::filesystem::perms(0644));
}

TEST(AtomicFile, WritesTheLongestNames) {
    const TempFolder folder;
    const std::string name(255, 'n');
    AtomicFile file(folder / name);
    file.write("x");
    file.commit();
    EXPECT_EQ(read_file(folder / name), "x");
}

TEST(AtomicFile, WritesIntoTheWorkingFolder) {
    const TempFolder folder;
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    AtomicFile file("out");
    file.write("x");
    file.commit();
    std::filesystem::current_path(before);
    EXPECT_EQ(read_file(folder / "out"), "x");
}

TEST(AtomicFile, RefusesTargetsThatAreNoFiles) {
    const TempFolder folder;
    EXPECT_NE(sentence([&] { AtomicFile file(folder.path()); }).find("is a folder"), std::string::npos);
    EXPECT_NE(sentence([&] { AtomicFile file(folder / "none/out"); }).find("does not exist"), std::string::npos);
    EXPECT_NE(sentence([&] { AtomicFile file("/dev/null"); }).find("is not a regular file"), std::string::npos);
    EXPECT_NE(sentence([&] { AtomicFile file(folder / "out/"); }).find("is not a file name"), std::string::npos);
    EXPECT_EQ(folder.entries(), 0U);
}

TEST(AtomicFile, AFullDiskIsOneSentenceAndLeavesTheOldFile) {
    const TempFolder folder;
    folder.file("out", "old");
    const int code = exit_code_of([&] {
        std::signal(SIGXFSZ, SIG_IGN);  // a file size limit stands for the full disk
        const rlimit limit{1000, 1000};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        const std::string said = sentence([&] {
            AtomicFile file(folder / "out");
            file.write(std::string(1 << 20, 'x'));
            file.commit();
        });
        const bool one_sentence = said.find("out: cannot be written: ") != std::string::npos &&
                                  said.find("nothing was changed") != std::string::npos;
        return one_sentence ? 0 : 1;
    });
    EXPECT_EQ(code, 0);
    EXPECT_EQ(read_file(folder / "out"), "old");
    EXPECT_EQ(folder.entries(), 1U);
}

TEST(AtomicFile, AProcessThatDiesLeavesTheOldFile) {
    const TempFolder folder;
    folder.file("out", "old");
    exit_code_of([&] {
        AtomicFile file(folder / "out");
        file.write(std::string(1 << 20, 'x'));
        ::_exit(3);
        return 0;
    });
    EXPECT_EQ(read_file(folder / "out"), "old");
}

TEST(AtomicFile, WritersOfOneNameDoNotMix) {
    const TempFolder folder;
    AtomicFile one(folder / "out");
    AtomicFile two(folder / "out");
    one.write("one");
    two.write("two");
    two.commit();
    EXPECT_EQ(read_file(folder / "out"), "two");
    one.commit();
    EXPECT_EQ(read_file(folder / "out"), "one");
    EXPECT_EQ(folder.entries(), 1U);
}

}  // namespace
}  // namespace toy
