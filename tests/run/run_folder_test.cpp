#include "run/run_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "core/error.h"
#include "core/temp_folder.h"
#include "fake_trainer.h"
#include "run/project_file.h"
#include "run/run_lock.h"
#include "support/sentence.h"

namespace toy {
namespace {

namespace fs = std::filesystem;
constexpr std::time_t k_now = 1796094245;  // 2026-12-01 03:04:05 UTC

NewRun new_run(const TempFolder& folder, const std::string& arch = "gpt2") {
    return {.arch = arch, .runs = folder / "runs", .now = k_now};
}

TEST(RunFolder, IdsCountThroughTheDay) {
    const TempFolder folder;
    EXPECT_EQ(run_id_of(make_run_folder(new_run(folder))), "gpt2-20261201-001");
    EXPECT_EQ(run_id_of(make_run_folder(new_run(folder))), "gpt2-20261201-002");
    EXPECT_EQ(run_id_of(make_run_folder(new_run(folder, "llama"))), "llama-20261201-003");
    fs::create_directories(folder / "runs/gpt2-20261201-999");
    fs::create_directories(folder / "runs/gpt2-20261201-1x");
    fs::create_directories(folder / "runs/gpt2-20261202-1234");
    EXPECT_EQ(run_id_of(make_run_folder(new_run(folder))), "gpt2-20261201-1000");
    NewRun tomorrow = new_run(folder);
    tomorrow.now += 3 * 86400;
    EXPECT_EQ(run_id_of(make_run_folder(tomorrow)), "gpt2-20261204-001");
}

TEST(RunFolder, TemplatesMayHoldTimesAndText) {
    const TempFolder folder;
    NewRun run = new_run(folder);
    run.id_template = "a+{time}@{arch}";
    EXPECT_EQ(run_id_of(make_run_folder(run)), "a+030405@gpt2");
    EXPECT_EQ(sentence([&] { make_run_folder(run); }), "no error");  // while it is empty
    std::ofstream(folder / "runs/a+030405@gpt2/run.json") << "{}";
    EXPECT_NE(sentence([&] { make_run_folder(run); }).find("exists and is not empty"), std::string::npos);
}

TEST(RunFolder, RefusesTemplatesThatMakeNoId) {
    const TempFolder folder;
    for (const char* bad : {"", "{date", "{day}", "../{seq}", "a b", ".{seq}", "{arch}/x", "a\n"}) {
        NewRun run = new_run(folder);
        run.id_template = bad;
        EXPECT_NE(sentence([&] { make_run_folder(run); }), "no error") << bad;
    }
    EXPECT_NE(sentence([&] { make_run_folder(new_run(folder, "../../x")); }).find("cannot name a run"),
              std::string::npos);
    EXPECT_FALSE(fs::exists(folder / "runs"));
    EXPECT_TRUE(is_run_id("a-b_c.d+e=f@g"));
    EXPECT_FALSE(is_run_id(std::string(201, 'a')));
}

TEST(RunFolder, ANamedFolderIsTakenWhereItIsEmpty) {
    const TempFolder folder;
    NewRun run;
    run.out = folder / "a/b/mine";
    EXPECT_EQ(make_run_folder(run), folder / "a/b/mine");
    EXPECT_EQ(make_run_folder(run), folder / "a/b/mine");
    run.out = folder / "a/b/mine/";
    EXPECT_EQ(run_id_of(make_run_folder(run)), "mine");
    folder.file("a/b/mine/x", "");
    EXPECT_NE(sentence([&] { make_run_folder(run); }).find("mine: exists and is not empty; name another folder"),
              std::string::npos);
    run.out = folder.file("file", "");
    EXPECT_NE(sentence([&] { make_run_folder(run); }), "no error");
    run.out = folder / "file/x";
    EXPECT_NE(sentence([&] { make_run_folder(run); }), "no error");
}

TEST(RunFolder, ProcessesThatStartAtOnceGetFoldersOfTheirOwn) {
    const TempFolder folder;
    constexpr int k_processes = 8, k_runs = 20;
    std::vector<pid_t> children;
    for (int i = 0; i < k_processes; ++i) {
        children.push_back(::fork());
        if (children.back() != 0) continue;
        for (int run = 0; run < k_runs; ++run) {
            const fs::path made = make_run_folder(new_run(folder));
            // Whoever made it finds it empty, and nobody else puts anything in.
            if (!fs::is_empty(made)) ::_exit(1);
            std::ofstream(made / std::to_string(::getpid())) << "mine";
        }
        ::_exit(0);
    }
    for (pid_t child : children) {
        int status = -1;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    int folders = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder / "runs")) {
        EXPECT_EQ(std::distance(fs::directory_iterator(entry.path()), {}), 1);
        ++folders;
    }
    EXPECT_EQ(folders, k_processes * k_runs);
}

TEST(RunLock, HoldsOffOthersAndGoesWithItsProcess) {
    const TempFolder folder;
    EXPECT_FALSE(RunLock::is_held(folder.path()));
    {
        const RunLock lock(folder.path());
        const std::string said = sentence([&] { RunLock second(folder.path()); });
        EXPECT_NE(said.find("process " + std::to_string(::getpid()) + " is writing this run"), std::string::npos);
        // Another process sees it too, and looking takes nothing away.
        EXPECT_EQ(test::in_child([&] {
                      if (!RunLock::is_held(folder.path())) ::_exit(3);
                  }),
                  0);
    }
    EXPECT_FALSE(RunLock::is_held(folder.path()));
    const int died = test::in_child([&] {
        const RunLock lock(folder.path());
        ::kill(::getpid(), SIGKILL);
    });
    EXPECT_EQ(died, -SIGKILL);
    EXPECT_FALSE(RunLock::is_held(folder.path()));
    const RunLock next(folder.path());
}

TEST(ProjectFile, GivesTheTemplate) {
    const TempFolder folder;
    EXPECT_EQ(read_project_file(folder / "none").run_id_template, "{arch}-{date}-{seq}");
    const auto read = [&](const std::string& text) {
        return read_project_file(folder.file("toy.yml", text)).run_id_template;
    };
    EXPECT_EQ(read("---\n# a comment\n\nrun_id_template: \"x-{seq}\"  # why\nalgos_path: algos\n"), "x-{seq}");
    EXPECT_EQ(read("run_id_template: {date}-{seq} # why\r\n"), "{date}-{seq}");
    EXPECT_EQ(read("run_id_template: 'a#b'\n"), "a#b");
    EXPECT_NE(sentence([&] { read("a: b\n- c\n"); }).find("line 2 is no pair"), std::string::npos);
    EXPECT_NE(sentence([&] { read("run_id_template: \"x\n"); }).find("line 1 is no pair"), std::string::npos);
    testing::internal::CaptureStderr();
    EXPECT_EQ(read("colour: red\n"), "{arch}-{date}-{seq}");
    EXPECT_NE(testing::internal::GetCapturedStderr().find("the key 'colour' is unknown"), std::string::npos);
}

TEST(RunFolder, TimesAreIso) { EXPECT_EQ(iso_time(k_now), "2026-12-01T03:04:05Z"); }

}  // namespace
}  // namespace toy
