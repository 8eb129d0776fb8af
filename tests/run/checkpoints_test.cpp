#include "run/checkpoints.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "core/atomic_file.h"
#include "core/error.h"
#include "core/sha256.h"
#include "core/temp_folder.h"
#include "fake_trainer.h"
#include "support/sentence.h"

namespace toy {
namespace {

namespace fs = std::filesystem;

CheckpointFile file_of(const std::string& name, const std::string& text) {
    return {name, [text](const fs::path& path) {
                AtomicFile file(path);
                file.write(text);
                file.commit();
            }};
}

// The checkpoint of a step, whose files tell its number.
void write(Checkpoints& checkpoints, int64_t step, std::optional<int64_t> best = std::nullopt) {
    const std::vector<CheckpointFile> files = {file_of("weights.gguf", "weights " + std::to_string(step)),
                                               file_of("moments", "moments " + std::to_string(step))};
    checkpoints.write(step, static_cast<uint64_t>(step) * 100, files, best);
}

using Steps = std::vector<int64_t>;

TEST(Checkpoints, HoldTheFilesTheirSumsAndTheOffset) {
    const TempFolder folder;
    Checkpoints checkpoints(folder.path(), 2);
    write(checkpoints, 5);
    EXPECT_EQ(read_file(folder / "state/step_5/moments"), "moments 5");
    EXPECT_EQ(read_file(folder / "state/step_5/events.offset"), "500\n");
    const auto sums = nlohmann::json::parse(read_file(folder / "state/step_5/checksums.json"));
    EXPECT_EQ(sums.size(), 2u);
    EXPECT_EQ(sums["moments"]["sha256"], sha256_hex("moments 5"));
    EXPECT_EQ(sums["moments"]["size"], 9);
    EXPECT_EQ(read_file(folder / "weights/step_5.gguf"), "weights 5");
    EXPECT_EQ(read_file(folder / "weights/latest"), "weights 5");
    EXPECT_FALSE(fs::exists(folder / "weights/best"));
    std::vector<std::string> notes;
    const auto newest = Checkpoints(folder.path(), 2).recover(notes);
    ASSERT_TRUE(newest);
    EXPECT_EQ(newest->step, 5);
    EXPECT_EQ(newest->events_size, 500u);
    EXPECT_TRUE(notes.empty());
}

TEST(Checkpoints, KeepTheLastOnesAndTheBest) {
    const TempFolder folder;
    Checkpoints checkpoints(folder.path(), 2);
    write(checkpoints, 1, 1);
    write(checkpoints, 2, 2);
    EXPECT_EQ(checkpoint_steps(folder.path()), (Steps{1, 2}));
    write(checkpoints, 3, 2);
    EXPECT_EQ(checkpoint_steps(folder.path()), (Steps{2, 3}));
    write(checkpoints, 4, 2);
    write(checkpoints, 10, 2);
    EXPECT_EQ(checkpoint_steps(folder.path()), (Steps{2, 4, 10}));
    EXPECT_EQ(read_file(folder / "weights/best"), "weights 2");
    EXPECT_EQ(read_file(folder / "weights/latest"), "weights 10");
    EXPECT_FALSE(fs::exists(fs::symlink_status(folder / "weights/step_3.gguf")));
    write(checkpoints, 11, 11);
    EXPECT_EQ(checkpoint_steps(folder.path()), (Steps{10, 11}));
    EXPECT_EQ(read_file(folder / "weights/best"), "weights 11");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder / "state"), {}), 2);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder / "weights"), {}), 4);
}

TEST(Checkpoints, OneOfTheSameStepIsReplaced) {
    const TempFolder folder;
    Checkpoints checkpoints(folder.path(), 1);
    write(checkpoints, 3);
    const std::vector<CheckpointFile> files = {file_of("weights.gguf", "again")};
    checkpoints.write(3, 7, files);
    EXPECT_EQ(read_file(folder / "weights/latest"), "again");
    EXPECT_FALSE(fs::exists(folder / "state/step_3/moments"));
    EXPECT_EQ(verified_checkpoint(folder.path(), 3).events_size, 7u);
}

// The moment between the two renames of a replacement.
TEST(Checkpoints, OneThatWasBeingReplacedComesBack) {
    const TempFolder folder;
    Checkpoints checkpoints(folder.path(), 1);
    write(checkpoints, 3);
    fs::rename(folder / "state/step_3", folder / "state/.replaced-step_3");
    std::vector<std::string> notes;
    EXPECT_EQ(checkpoints.recover(notes)->step, 3);
    EXPECT_EQ(read_file(folder / "weights/latest"), "weights 3");
}

TEST(Checkpoints, RecoverPassesOverWhatIsDamaged) {
    const std::vector<std::pair<std::string, std::function<void(const fs::path&)>>> damages = {
        {"differs from its checksum", [](const fs::path& at) { std::ofstream(at / "moments") << "moments 0"; }},
        {"differs from its checksum", [](const fs::path& at) { fs::resize_file(at / "weights.gguf", 3); }},
        {"moments: cannot be opened", [](const fs::path& at) { fs::remove(at / "moments"); }},
        {"checksums.json: cannot be read", [](const fs::path& at) { fs::remove(at / "checksums.json"); }},
        {"checksums.json: is damaged", [](const fs::path& at) { std::ofstream(at / "checksums.json") << "{\"a\":1}"; }},
        {"checksums.json: is damaged", [](const fs::path& at) { fs::resize_file(at / "checksums.json", 40); }},
        {"which is no file",
         [](const fs::path& at) { std::ofstream(at / "checksums.json") << R"({"../x":{"sha256":"","size":1}})"; }},
        {"events.offset: is damaged", [](const fs::path& at) { std::ofstream(at / "events.offset") << "12"; }},
        {"events.offset: is damaged", [](const fs::path& at) { std::ofstream(at / "events.offset") << "-1\n"; }},
        {"events.offset: cannot be read", [](const fs::path& at) { fs::remove(at / "events.offset"); }},
        {"cannot be read", [](const fs::path& at) { fs::remove_all(at), std::ofstream(at) << "no folder"; }},
    };
    for (const auto& [reason, damage] : damages) {
        const TempFolder folder;
        Checkpoints checkpoints(folder.path(), 3);
        for (int64_t step : {1, 2, 3}) write(checkpoints, step);
        damage(folder / "state/step_3");
        std::vector<std::string> notes;
        const auto newest = checkpoints.recover(notes);
        ASSERT_TRUE(newest) << reason;
        EXPECT_EQ(newest->step, 2);
        ASSERT_EQ(notes.size(), 1u);
        EXPECT_NE(notes[0].find(reason), std::string::npos) << notes[0];
        EXPECT_NE(notes[0].find("put aside as"), std::string::npos);
        EXPECT_TRUE(fs::exists(folder / "state/damaged_step_3"));
        EXPECT_EQ(read_file(folder / "weights/latest"), "weights 2");
        EXPECT_FALSE(fs::exists(fs::symlink_status(folder / "weights/step_3.gguf")));
        write(checkpoints, 3);  // the run comes by there again
        EXPECT_EQ(verified_checkpoint(folder.path(), 3).step, 3);
    }
}

TEST(Checkpoints, RecoverRemovesWhatDeadWritersLeft) {
    const TempFolder folder;
    Checkpoints checkpoints(folder.path(), 2);
    write(checkpoints, 1);
    folder.file("state/.writing-step_2/weights.gguf", "half");
    folder.file("state/.removing-step_0/weights.gguf", "half");
    folder.file("state/step_1/.toy-1-1.tmp", "");
    folder.file(".toy-1-1.tmp", "half");
    fs::create_symlink("step_0.gguf", folder / "weights/best");
    std::vector<std::string> notes;
    EXPECT_EQ(checkpoints.recover(notes)->step, 1);
    EXPECT_TRUE(notes.empty());
    EXPECT_EQ(std::distance(fs::directory_iterator(folder / "state"), {}), 1);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder / "weights"), {}), 2);
    EXPECT_EQ(folder.entries(), 2u);
}

TEST(Checkpoints, RecoverFindsNoneWhereThereIsNone) {
    const TempFolder folder;
    std::vector<std::string> notes;
    EXPECT_FALSE(Checkpoints(folder.path(), 1).recover(notes));
    folder.file("state/step_x/f", "");
    folder.file("state/step_07/f", "");
    EXPECT_FALSE(Checkpoints(folder.path(), 1).recover(notes));
    EXPECT_TRUE(notes.empty());
}

TEST(Checkpoints, AFullDiskIsOneSentenceAndTheEarlierOneStays) {
    const TempFolder folder;
    const int code = test::in_child([&] {
        std::signal(SIGXFSZ, SIG_IGN);  // a file size limit stands for the full disk
        const rlimit limit{4000, 4000};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        Checkpoints checkpoints(folder.path(), 1);
        write(checkpoints, 1);
        const std::vector<CheckpointFile> files = {file_of("weights.gguf", "small"),
                                                   file_of("moments", std::string(5000, 'x'))};
        const std::string said = sentence([&] { checkpoints.write(2, 0, files); });
        const bool is_clear = said.starts_with("the checkpoint of step 2 was not written (") &&
                              said.find("moments: cannot be written: File too large") != std::string::npos &&
                              said.ends_with("; the last one is that of step 1");
        if (!is_clear) throw std::runtime_error(said);
    });
    EXPECT_EQ(code, 0);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder / "state"), {}), 1);
    EXPECT_EQ(verified_checkpoint(folder.path(), 1).step, 1);
    EXPECT_EQ(read_file(folder / "weights/latest"), "weights 1");
}

TEST(Checkpoints, AStateFolderThatVanishesIsOneSentence) {
    const TempFolder folder;
    Checkpoints checkpoints(folder.path(), 1);
    write(checkpoints, 1);
    fs::remove_all(folder / "state");
    const std::string said = sentence([&] { write(checkpoints, 2); });
    EXPECT_TRUE(said.starts_with("the checkpoint of step 2 was not written (")) << said;
    EXPECT_TRUE(said.ends_with("cannot be made: No such file or directory); the run has none")) << said;
}

TEST(Checkpoints, AFolderThatRefusesIsOneSentenceAndTheEarlierOneStays) {
    const TempFolder folder;
    Checkpoints checkpoints(folder.path(), 1);
    write(checkpoints, 1);
    fs::permissions(folder.path(), fs::perms(0755));
    fs::permissions(folder / "state", fs::perms(0555));
    const int code = test::in_child([&] {
        if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(77);  // permissions do not bind root
        const std::string said = sentence([&] { write(checkpoints, 2); });
        const bool is_clear = said.find("cannot be made: Permission denied") != std::string::npos &&
                              said.ends_with("; the last one is that of step 1");
        if (!is_clear) throw std::runtime_error(said);
    });
    fs::permissions(folder / "state", fs::perms(0755));
    if (code == 77) GTEST_SKIP() << "needs a user whom permissions bind";
    EXPECT_EQ(code, 0);
    EXPECT_EQ(verified_checkpoint(folder.path(), 1).step, 1);
}

}  // namespace
}  // namespace toy
