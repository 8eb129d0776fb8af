#include "core/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/temp_folder.h"

namespace toy {
namespace {

std::string text(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

std::string sentence(const std::filesystem::path& path) {
    try {
        MappedFile::open(path);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::Kind::bad_input);
        return error.what();
    }
    return "opened";
}

TEST(MappedFile, ShowsTheBytesOfTheFile) {
    const TempFolder folder;
    const auto path = folder.file("a", std::string("one\0two", 7));
    const auto file = MappedFile::open(path);
    EXPECT_EQ(text(*file), std::string("one\0two", 7));
    EXPECT_EQ(file->path(), path);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(file->bytes().data()) % 4096, 0U);
}

TEST(MappedFile, AnEmptyFileHasNoBytes) {
    const TempFolder folder;
    EXPECT_TRUE(MappedFile::open(folder.file("empty", ""))->bytes().empty());
}

TEST(MappedFile, RefusesWhatIsNoFile) {
    const TempFolder folder;
    EXPECT_NE(sentence(folder / "absent").find("absent: no such file"), std::string::npos);
    EXPECT_NE(sentence(folder.path()).find("is a folder"), std::string::npos);
    ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);  // must not wait for a writer either
    EXPECT_NE(sentence(folder / "pipe").find("is not a regular file"), std::string::npos);
    EXPECT_NE(sentence("/dev/null").find("is not a regular file"), std::string::npos);
}

TEST(MappedFile, OutlivesTheDeletionOfItsName) {
    const TempFolder folder;
    const auto path = folder.file("a", "still here");
    const auto file = MappedFile::open(path);
    std::filesystem::remove(path);
    EXPECT_EQ(text(*file), "still here");
}

TEST(MappedFile, MapsAndUnmapsOnManyThreads) {
    const TempFolder folder;
    const auto path = folder.file("a", "shared");
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 200; ++i) wrong += text(*MappedFile::open(path)) != "shared";
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
}

[[noreturn]] void read_after_shrinking(const std::filesystem::path& path) {
    const auto file = MappedFile::open(path);
    if (::truncate(path.c_str(), 0) != 0) ::_exit(8);
    const volatile std::byte* bytes = file->bytes().data();
    static_cast<void>(bytes[5000]);
    ::_exit(9);  // reached only if reading beyond the end went unnoticed
}

TEST(MappedFileDeathTest, AShrinkingFileEndsTheProcessWithOneSentence) {
    const TempFolder folder;
    const auto path = folder.file("model.gguf", std::string(10000, 'x'));
    EXPECT_EXIT(read_after_shrinking(path), testing::ExitedWithCode(1),
                "^toy: error: [^\n]*/model.gguf: cannot be read any more: the file became shorter [^\n]*\n$");
}

TEST(MappedFileDeathTest, AShrinkingFileIsFoundAmongMany) {
    const TempFolder folder;
    std::vector<std::shared_ptr<const MappedFile>> others;
    for (int i = 0; i < 50; ++i) others.push_back(MappedFile::open(folder.file(std::to_string(i), "other")));
    others.erase(others.begin() + 10, others.begin() + 20);
    const auto path = folder.file("model.gguf", std::string(10000, 'x'));
    EXPECT_EXIT(read_after_shrinking(path), testing::ExitedWithCode(1), "/model.gguf: cannot be read any more");
}

[[noreturn]] void raise_with_a_previous_handler(const std::filesystem::path& path) {
    std::signal(SIGBUS, [](int) { ::_exit(7); });
    const auto file = MappedFile::open(path);
    ::raise(SIGBUS);
    ::_exit(9);
}

TEST(MappedFileDeathTest, ForeignSignalsReachThePreviousHandler) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // the handler is installed once in a process: start a fresh one
    const TempFolder folder;
    EXPECT_EXIT(raise_with_a_previous_handler(folder.file("a", "x")), testing::ExitedWithCode(7), "^$");
}

[[noreturn]] void raise_without_a_previous_handler(const std::filesystem::path& path) {
    std::signal(SIGBUS, SIG_DFL);
    const auto file = MappedFile::open(path);
    ::raise(SIGBUS);
    ::_exit(9);
}

TEST(MappedFileDeathTest, ForeignSignalsKillAsEver) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const TempFolder folder;
    EXPECT_EXIT(raise_without_a_previous_handler(folder.file("a", "x")), testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace toy
