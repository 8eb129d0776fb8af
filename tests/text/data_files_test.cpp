// Which files a corpus has, what they are, and where a single text is cut.
#include "text/data_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/temp_folder.h"
#include "refusal.h"

namespace toy::test {
namespace {

std::vector<std::string> names(const std::vector<DataFile>& files) {
    std::vector<std::string> result;
    for (const DataFile& file : files) result.push_back(file.name + ":" + std::string(name(file.format)));
    return result;
}

using Names = std::vector<std::string>;

TEST(DataFiles, AreSortedByTheBytesOfTheirNames) {
    const TempFolder folder;
    for (const char* file : {"b.txt", "a/z.txt", "a/B.jsonl", "a.txt", "a/b.NDJSON", "Z", "a/c/d.md"})
        folder.file(file, "x");
    EXPECT_EQ(names(find_data_files(folder.path(), DataFormat::automatic)),
              (Names{"Z:text", "a.txt:text", "a/B.jsonl:jsonl", "a/b.NDJSON:jsonl", "a/c/d.md:text", "a/z.txt:text",
                     "b.txt:text"}));
    EXPECT_EQ(names(find_data_files(folder / "a/", DataFormat::automatic))[0], "B.jsonl:jsonl");  // a slash at the end
    EXPECT_EQ(names(find_data_files(folder / "a", DataFormat::text)),
              (Names{"B.jsonl:text", "b.NDJSON:text", "c/d.md:text", "z.txt:text"}));
}

// A headerless file says nothing about itself: the extension or the flag decides, nothing else.
TEST(DataFiles, ExtensionsTellTheFormat) {
    const TempFolder folder;
    const std::vector<std::pair<const char*, DataFormat>> expected = {
        {"x.txt", DataFormat::text}, {"x", DataFormat::text},     {"x.jsonl", DataFormat::jsonl},
        {"x.i32", DataFormat::i32},  {"x.u16", DataFormat::u16},  {"x.bin", DataFormat::u16},
        {"x.BIN", DataFormat::u16},  {"x.toyc", DataFormat::toyc}};
    for (const auto& [file, format] : expected) {
        const auto path = folder.file(file, "");
        EXPECT_EQ(find_data_files(path, DataFormat::automatic)[0].format, format) << file;
        EXPECT_EQ(find_data_files(path, DataFormat::i32)[0].format, DataFormat::i32) << file;
    }
}

TEST(DataFiles, RefusesWhatCannotBeMeant) {
    const TempFolder folder;
    EXPECT_REFUSAL("no such file or folder", find_data_files(folder / "none", DataFormat::automatic));
    std::filesystem::create_directory(folder / "empty");
    EXPECT_REFUSAL("holds no file", find_data_files(folder / "empty", DataFormat::automatic));
    EXPECT_REFUSAL("JSON Lines", find_data_files(folder.file("a.json", "[]"), DataFormat::automatic));
    EXPECT_EQ(find_data_files(folder / "a.json", DataFormat::text).size(), 1u);
    folder.file("packs/a.bin", "1234");
    EXPECT_REFUSAL("a.bin: is a pack of token ids inside a folder",
                   find_data_files(folder / "packs", DataFormat::automatic));
    EXPECT_REFUSAL("is one file of token ids", find_data_files(folder / "packs", DataFormat::u16));
    folder.file("linked/a.txt", "x");
    std::filesystem::create_directory_symlink(folder / "empty", folder / "linked" / "b");
    EXPECT_REFUSAL("is a link to a folder", find_data_files(folder / "linked", DataFormat::automatic));
    EXPECT_REFUSAL("there is no data format 'parquet'", data_format("parquet"));
    EXPECT_EQ(data_format("u16"), DataFormat::u16);
}

TEST(DataFiles, SaysWhereATextIsNoUtf8) {
    EXPECT_NO_THROW(check_utf8("a\u00e9\n\u4e2d", "f"));
    EXPECT_REFUSAL("f: is not UTF-8: the byte 0xFF at offset 5, in line 3,", check_utf8("a\nbc\n\xFF", "f"));
    EXPECT_REFUSAL("the byte 0xC3 at offset 1, in line 1,", check_utf8("a\xC3", "f"));
}

// nanoGPT: data[:int(n * 0.9)] of the characters, data[int(n * 0.9):].
TEST(DataFiles, SplitsATextByCharacters) {
    const TextHalves halves = split_text("\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9xy", 0.1);
    EXPECT_EQ(halves.train, "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9");  // int(9.9) characters
    EXPECT_EQ(halves.validation, "xy");
    EXPECT_EQ(split_text("abc", 0).train, "abc");
    EXPECT_EQ(split_text("", 0.5).validation, "");
    EXPECT_EQ(split_text(std::string(1115394, 'a'), 0.1).train.size(), 1003854u);  // tinyshakespeare's published counts
}

}  // namespace
}  // namespace toy::test
