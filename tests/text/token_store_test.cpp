// Packs of token ids: what they say, and what is refused with the byte offset.
#include "text/token_store.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/temp_folder.h"
#include "refusal.h"

namespace toy::test {
namespace {

template <class T>
std::string bytes_of(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::vector<int32_t> ids(const TokenStore& store) {
    std::vector<int32_t> result;
    for (int64_t at = 0; at < store.size(); ++at) result.push_back(store.id(at));
    return result;
}

class Packs : public testing::Test {
 protected:
    std::shared_ptr<const TokenStore> open(const std::string& bytes, DataFormat format, int32_t vocabulary = 10) {
        return TokenStore::of_pack(MappedFile::open(folder_.file("pack", bytes)), format, vocabulary);
    }
    static std::string toyc(uint32_t version, uint32_t vocabulary, uint32_t reserved, std::vector<int32_t> ids) {
        return "TOYC" + bytes_of<uint32_t>({version, vocabulary, reserved}) + bytes_of(ids);
    }
    TempFolder folder_;
};

TEST_F(Packs, AreRead) {
    const std::vector<int32_t> expected = {3, 0, 9, 5, 1};
    EXPECT_EQ(ids(*open(bytes_of<int32_t>(expected), DataFormat::i32)), expected);
    EXPECT_EQ(ids(*open(bytes_of<uint16_t>({3, 0, 9, 5, 1}), DataFormat::u16)), expected);
    const auto store = open(toyc(1, 10, 0, expected), DataFormat::toyc);
    EXPECT_EQ(ids(*store), expected);
    EXPECT_TRUE(store->is_target(4));
    EXPECT_EQ(ids(*open(bytes_of<uint16_t>({65535}), DataFormat::u16, 65536)), std::vector<int32_t>{65535});
}

TEST_F(Packs, AreRefusedWithTheByteOffset) {
    EXPECT_REFUSAL("holds no token ids", open("", DataFormat::i32));
    EXPECT_REFUSAL("5 bytes of token ids are no multiple of 4 (the last id begins at byte offset 4)",
                   open(std::string(5, '\0'), DataFormat::i32));
    EXPECT_REFUSAL("3 bytes of token ids are no multiple of 2", open(std::string(3, '\0'), DataFormat::u16));
    EXPECT_REFUSAL("pack: the id 10 at byte offset 8 is outside the vocabulary of 10 tokens",
                   open(bytes_of<int32_t>({1, 9, 10, 11}), DataFormat::i32));
    EXPECT_REFUSAL("the id -1 at byte offset 4", open(bytes_of<int32_t>({1, -1}), DataFormat::i32));
    EXPECT_REFUSAL("the id 300 at byte offset 2", open(bytes_of<uint16_t>({1, 300}), DataFormat::u16));
    EXPECT_REFUSAL("the id 8 at byte offset 20 is outside the vocabulary of 8",
                   open(toyc(1, 8, 0, {7, 8}), DataFormat::toyc));
    EXPECT_REFUSAL("was made for a vocabulary of 11 tokens (byte offset 8), but the model has 10",
                   open(toyc(1, 11, 0, {1}), DataFormat::toyc));
    EXPECT_REFUSAL("TOYC version 2 (byte offset 4)", open(toyc(2, 10, 0, {1}), DataFormat::toyc));
    EXPECT_REFUSAL("reserved field at byte offset 12 is 5", open(toyc(1, 10, 5, {1}), DataFormat::toyc));
    EXPECT_REFUSAL("holds no token ids", open(toyc(1, 10, 0, {}), DataFormat::toyc));
    EXPECT_REFUSAL("ends inside the header", open("TOYC\1", DataFormat::toyc));
    EXPECT_REFUSAL("does not begin with 'TOYC'", open(bytes_of<int32_t>({1, 2, 3, 4, 5}), DataFormat::toyc));
}

// The older toy's headerless .bin has ids of 32 bits, nanoGPT's of 16: read as the other they are numbers all the same.
TEST_F(Packs, HalvesOfWideIdsAreNotTakenForIds) {
    const std::string wide = bytes_of<int32_t>({7, 3, 9});
    EXPECT_REFUSAL("give the format i32", open(wide, DataFormat::u16));
    const std::string large = bytes_of<int32_t>({70000, 3, 9});
    EXPECT_REFUSAL("every second 16-bit id is at most 1", open(large, DataFormat::u16, 100000));
    EXPECT_EQ(open(bytes_of<uint16_t>({7, 0, 3, 1}), DataFormat::u16)->size(), 4);
}

TEST(TokenStore, KeepsWhatIsToBePredicted) {
    TokenStore store;
    Document first, second;
    first.append(std::vector<int32_t>{4, 5}, false);
    first.append(6, true);
    second.append(7, true);
    store.append(first);
    store.append(second);
    EXPECT_EQ(ids(store), (std::vector<int32_t>{4, 5, 6, 7}));
    EXPECT_FALSE(store.is_target(1));
    EXPECT_TRUE(store.is_target(2));
    EXPECT_TRUE(store.is_target(3));
}

}  // namespace
}  // namespace toy::test
