// What the handcrafted files of llama.cpp leave out: truncation everywhere, every length wrong, and the additions that
// traps.md lists. Nothing may crash, hang, or be accepted that ggml's reader refuses.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <limits>

#include "core/error.h"
#include "core/temp_folder.h"
#include "io/gguf.h"
#include "raw_gguf.h"
#include "reference_reader.h"

namespace toy {
namespace {

constexpr int32_t k_f32 = 0;
constexpr int32_t k_q4_0 = 2;

/// The refusal, or "" where the file loads.
std::string refusal(const std::filesystem::path& path) {
    try {
        Gguf::open(path);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::Kind::bad_input);
        const std::string said = error.what();
        EXPECT_TRUE(said.starts_with(path.native() + ": ")) << said;
        EXPECT_EQ(said.find('\n'), std::string::npos) << said;
        return said;
    }
    return "";
}

class GgufMalformed : public testing::Test {
 protected:
    TempFolder folder_;
    std::string refusal_of(const RawGguf& raw) { return refusal(folder_.file("model.gguf", raw.bytes)); }
    bool loads(const RawGguf& raw) { return refusal_of(raw).empty(); }
};

/// A small valid file with a value of every type and two tensors.
RawGguf small_file(uint32_t version = 3) {
    RawGguf raw;
    raw.header(2, 15, version);
    raw.key("general.architecture", ValueType::string).text("llama");
    raw.key("u8", ValueType::u8).put(uint8_t{1}).key("i8", ValueType::i8).put(int8_t{-1});
    raw.key("u16", ValueType::u16).put(uint16_t{1}).key("i16", ValueType::i16).put(int16_t{-1});
    raw.key("u32", ValueType::u32).put(uint32_t{1}).key("i32", ValueType::i32).put(int32_t{-1});
    raw.key("f32", ValueType::f32).put(1.5F).key("bool", ValueType::boolean).put(uint8_t{1});
    raw.key("u64", ValueType::u64).put(uint64_t{1}).key("i64", ValueType::i64).put(int64_t{-1});
    raw.key("f64", ValueType::f64).put(1.5);
    raw.array("scalars", ValueType::i16, 3).put(int16_t{1}).put(int16_t{2}).put(int16_t{3});
    raw.array("bools", ValueType::boolean, 2).put(uint8_t{0}).put(uint8_t{1});
    raw.array("strings", ValueType::string, 3).text("a").text("").text("bcd");
    raw.tensor("first", {3, 5}, k_f32, 0).tensor("second", {32, 2}, k_q4_0, 64).pad();
    for (uint8_t i = 0; i < 128; ++i) raw.put(i);
    return raw;
}

TEST_F(GgufMalformed, TheSmallFileItselfLoadsInBothVersions) {
    for (const uint32_t version : {2U, 3U}) {
        const auto path = folder_.file("model.gguf", small_file(version).bytes);
        const Gguf gguf = Gguf::open(path);
        EXPECT_EQ(gguf.version(), version);
        EXPECT_EQ(gguf.metadata().string("general.architecture"), "llama");
        EXPECT_EQ(gguf.metadata().integer("i64"), -1);
        EXPECT_EQ(gguf.metadata().strings("strings"), (std::vector<std::string>{"a", "", "bcd"}));
        EXPECT_EQ(gguf.metadata().find_integers("scalars"), (std::vector<int64_t>{1, 2, 3}));
        ASSERT_EQ(gguf.tensors().size(), 2U);
        EXPECT_EQ(gguf.find("first")->bytes.size(), 60U);
        EXPECT_EQ(gguf.find("first")->bytes[1], std::byte{1});
        EXPECT_EQ(gguf.find("second")->bytes.size(), 36U);
        EXPECT_EQ(gguf.find("second")->bytes[0], std::byte{64});
        EXPECT_TRUE(ggml_loads(path, true));
    }
}

TEST_F(GgufMalformed, TruncationAtEveryByteIsRefused) {
    const std::string whole = small_file().bytes;
    const auto path = folder_.file("model.gguf", whole);
    for (size_t length = whole.size(); length-- > 0;) {
        ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(length)), 0);
        EXPECT_NE(refusal(path), "") << "cut after byte " << length;
    }
}

TEST_F(GgufMalformed, EveryWrongLengthIsRefused) {
    const RawGguf whole = small_file();
    ASSERT_EQ(whole.lengths.size(), 26U);
    for (const size_t at : whole.lengths) {
        uint64_t right = 0;
        std::memcpy(&right, whole.bytes.data() + at, sizeof right);
        for (const uint64_t wrong :
             {right + 1, right - 1, uint64_t{1} << 31, uint64_t{1} << 32, (uint64_t{1} << 63) - 1, uint64_t{1} << 63,
              std::numeric_limits<uint64_t>::max()}) {
            // One tensor fewer is a valid file: its list ends earlier, and what follows its data does no harm.
            if (at == whole.lengths[0] && wrong == right - 1) continue;
            std::string bytes = whole.bytes;
            std::memcpy(bytes.data() + at, &wrong, sizeof wrong);
            const auto path = folder_.file("model.gguf", bytes);
            EXPECT_NE(refusal(path), "") << right << " became " << wrong << " at byte " << at;
        }
    }
}

TEST_F(GgufMalformed, WhateverLoadsAfterOneByteChangedAlsoLoadsInGgml) {
    const std::string whole = small_file().bytes;
    const size_t header = whole.size() - 128;
    for (size_t at = 0; at < header; ++at) {
        for (const char mask : {'\x01', '\x80', '\xff'}) {
            std::string bytes = whole;
            bytes[at] = static_cast<char>(bytes[at] ^ mask);
            const auto path = folder_.file("model.gguf", bytes);
            EXPECT_TRUE(!refusal(path).empty() || ggml_loads(path, true)) << "byte " << at;
        }
    }
}

TEST_F(GgufMalformed, AnArrayOfArraysIsRefused) {
    RawGguf raw;
    raw.header(0, 1).array("nested", ValueType::array, 1).put(uint32_t{4}).put(uint64_t{1}).put(uint32_t{7});
    EXPECT_NE(refusal_of(raw).find("key 'nested' is an array of arrays"), std::string::npos);
}

TEST_F(GgufMalformed, AnUnknownElementTypeIsRefused) {
    RawGguf raw;
    raw.header(0, 1).array("odd", static_cast<ValueType>(13), 1).put(uint64_t{0});
    EXPECT_NE(refusal_of(raw).find("unknown element type 13"), std::string::npos);
}

TEST_F(GgufMalformed, ValidHeaderWithSwappedBytesIsBigEndian) {
    RawGguf raw;  // lcpp#10094: the magic stands as ever, all numbers are swapped
    raw.bytes = "GGUF";
    raw.put(__builtin_bswap32(3)).put(__builtin_bswap64(1)).put(__builtin_bswap64(0)).zeros(100);
    EXPECT_NE(refusal_of(raw).find("is a big-endian GGUF file"), std::string::npos);
}

TEST_F(GgufMalformed, AlignmentHasToBeAPowerOfTwo) {
    for (const uint32_t alignment : {0U, 3U, 33U}) {
        RawGguf raw;
        raw.header(0, 1).alignment(alignment);
        EXPECT_NE(refusal_of(raw).find("not a power of two"), std::string::npos) << alignment;
    }
    for (const uint32_t alignment : {1U, 8U, 4096U}) {
        RawGguf raw;
        raw.header(2, 1)
            .alignment(alignment)
            .tensor("a", {1}, k_f32, 0)
            .tensor("b", {1}, k_f32, std::max(4U, alignment));
        raw.pad(alignment).zeros(2 * std::max(4U, alignment));
        EXPECT_TRUE(loads(raw)) << alignment;
    }
}

TEST_F(GgufMalformed, AlignmentOfTheWrongTypeIsRefused) {  // lcpp#25596
    RawGguf raw;
    raw.header(0, 1).key("general.alignment", ValueType::u64).put(uint64_t{32});
    EXPECT_NE(refusal_of(raw).find("'general.alignment' holds u64, expected u32"), std::string::npos);
    RawGguf text;
    text.header(0, 1).key("general.alignment", ValueType::string).text("32");
    EXPECT_NE(refusal_of(text).find("holds string, expected u32"), std::string::npos);
}

TEST_F(GgufMalformed, AHugeAlignmentNeedsAHugeFile) {
    RawGguf raw;
    raw.header(1, 1).alignment(uint32_t{1} << 31).tensor("a", {1}, k_f32, 0).zeros(1000);
    EXPECT_NE(refusal_of(raw).find("ends beyond the file"), std::string::npos);
}

TEST_F(GgufMalformed, OverlappingMisalignedAndDistantTensorsAreRefused) {
    const std::pair<uint64_t, const char*> offsets[] = {
        {0, "it overlaps another tensor"}, {31, "it is not aligned"}, {96, "there is a gap before it"}};
    for (const auto& [offset, reason] : offsets) {
        RawGguf raw;
        raw.header(2, 0).tensor("a", {16}, k_f32, 0).tensor("b", {16}, k_f32, offset).pad().zeros(256);
        EXPECT_NE(refusal_of(raw).find(reason), std::string::npos) << offset;
    }
    RawGguf backwards;
    backwards.header(2, 0).tensor("a", {16}, k_f32, 64).tensor("b", {16}, k_f32, 0).pad().zeros(256);
    EXPECT_FALSE(loads(backwards));
}

TEST_F(GgufMalformed, NamesThatDifferInCaseAreDifferent) {
    // llama.cpp compares names byte by byte, and so do we: such a file loads, and each name finds its own tensor. A
    // model that asks for "a.weight" never gets "A.weight".
    RawGguf raw;
    raw.header(2, 0).tensor("a.weight", {1}, k_f32, 0).tensor("A.weight", {1}, k_f32, 32).pad().zeros(64);
    const auto path = folder_.file("model.gguf", raw.bytes);
    EXPECT_TRUE(ggml_loads(path, true));
    const Gguf gguf = Gguf::open(path);
    EXPECT_EQ(gguf.find("A.weight")->offset, gguf.find("a.weight")->offset + 32);
    EXPECT_EQ(gguf.find("a.Weight"), nullptr);
}

TEST_F(GgufMalformed, NamesHave1To63Bytes) {
    for (const size_t length : {0U, 1U, 63U, 64U, 65536U}) {
        RawGguf raw;
        raw.header(1, 0).tensor(std::string(length, 'n'), {1}, k_f32, 0).pad().zeros(32);
        EXPECT_EQ(loads(raw), length >= 1 && length <= 63) << length;
    }
}

TEST_F(GgufMalformed, KeysHave1To65535Bytes) {
    for (const size_t length : {0U, 1U, 65535U, 65536U}) {
        RawGguf raw;
        raw.header(0, 1).key(std::string(length, 'k'), ValueType::u8).put(uint8_t{1});
        EXPECT_EQ(loads(raw), length >= 1 && length <= 65535) << length;
    }
}

TEST_F(GgufMalformed, WithdrawnAndUnknownTypesAreRefused) {
    for (const int32_t type : {-1, 4, 5, 31, 32, 33, 36, 37, 38, 43, 1 << 30}) {
        RawGguf raw;
        raw.header(1, 0).tensor("t", {256}, type, 0).pad().zeros(4096);
        EXPECT_NE(refusal_of(raw).find("tensor 't' has the unknown or withdrawn type"), std::string::npos) << type;
    }
}

TEST_F(GgufMalformed, RowsAreWholeBlocks) {
    RawGguf raw;
    raw.header(1, 0).tensor("t", {33, 2}, k_q4_0, 0).pad().zeros(4096);
    EXPECT_NE(refusal_of(raw).find("rows of 33 elements, not a multiple of the 32 in a block of q4_0"),
              std::string::npos);
}

TEST_F(GgufMalformed, ZeroDimensionsLoadWherever) {  // lcpp#25596
    for (const std::vector<int64_t>& ne : {std::vector<int64_t>{0}, {0, 3}, {3, 0}, {0, 0, 0, 0}, {2, 0, 4, 5}}) {
        RawGguf raw;
        raw.header(2, 0).tensor("zero", ne, k_f32, 0).tensor("after", {8}, k_f32, 0).pad().zeros(32);
        const auto path = folder_.file("model.gguf", raw.bytes);
        ASSERT_EQ(refusal(path), "");
        const Gguf gguf = Gguf::open(path);
        EXPECT_EQ(gguf.find("zero")->elements(), 0);
        EXPECT_TRUE(gguf.find("zero")->bytes.empty());
        EXPECT_EQ(gguf.find("after")->bytes.size(), 32U);
    }
}

TEST_F(GgufMalformed, AZeroDimensionHidesNoOverflow) {
    const int64_t huge = int64_t{1} << 62;  // products of the other axes would overflow wherever they are taken
    for (const std::vector<int64_t>& ne : {std::vector<int64_t>{huge, huge, 0}, {0, huge, huge}, {huge, 0, huge}}) {
        RawGguf raw;
        raw.header(1, 0).tensor("t", ne, k_f32, 0).pad();
        EXPECT_NE(refusal_of(raw).find("too large to address"), std::string::npos);
    }
}

TEST_F(GgufMalformed, ShapesNearTheEndOfIntegersAreRefused) {  // lcpp#18674, lcpp#19072, lcpp#19856, lcpp#26318
    const int64_t most = std::numeric_limits<int64_t>::max();
    const std::vector<int64_t> shapes[] = {{most},         {most, 2},    {1, most},
                                           {most / 4 + 1}, {most - 30},  {int64_t{1} << 32, int64_t{1} << 32},
                                           {-32},          {1, 1, 1, -1}};
    for (const auto& ne : shapes) {
        for (const int32_t type : {k_f32, static_cast<int32_t>(DType::I8), static_cast<int32_t>(DType::I64)}) {
            RawGguf raw;
            raw.header(1, 0).tensor("t", ne, type, 0).pad().zeros(64);
            EXPECT_FALSE(loads(raw)) << ne[0] << " of type " << type;
        }
    }
}

TEST_F(GgufMalformed, OffsetsBeyondTheFileAreRefused) {  // CVE-2026-7482: such a tensor read the server's memory
    for (const uint64_t offset : {uint64_t{64}, uint64_t{1} << 40, uint64_t{1} << 63,
                                  std::numeric_limits<uint64_t>::max(), std::numeric_limits<uint64_t>::max() - 31}) {
        RawGguf raw;
        raw.header(1, 0).tensor("t", {8}, k_f32, offset).pad().zeros(64);
        EXPECT_FALSE(loads(raw)) << offset;
    }
    RawGguf raw;  // the offset is right, but the shape claims more than the file has
    raw.header(1, 0).tensor("t", {1 << 20}, k_f32, 0).pad().zeros(64);
    EXPECT_NE(refusal_of(raw).find("the data of tensor 't' at byte 64 ends beyond the file"), std::string::npos);
}

TEST_F(GgufMalformed, AScalarHasOneElement) {
    RawGguf raw;  // no axes at all: gguf-py writes zero-dimensional arrays so
    raw.header(1, 0).tensor("t", {}, k_f32, 0).pad().zeros(32);
    const Gguf gguf = Gguf::open(folder_.file("model.gguf", raw.bytes));
    EXPECT_EQ(gguf.find("t")->rank, 1);
    EXPECT_EQ(gguf.find("t")->elements(), 1);
}

TEST_F(GgufMalformed, BytesAfterTheLastTensorDoNoHarm) {
    RawGguf raw = small_file();
    raw.zeros(1000);
    EXPECT_TRUE(loads(raw));
}

TEST_F(GgufMalformed, TheFilesTextCannotSpeakToTheTerminal) {
    RawGguf raw;
    raw.header(0, 2)
        .key("\x1b[31mred\n", ValueType::u8)
        .put(uint8_t{1})
        .key("\x1b[31mred\n", ValueType::u8)
        .put(uint8_t{1});
    EXPECT_NE(refusal_of(raw).find("key '\\x1b[31mred\\x0a' occurs twice"), std::string::npos);
}

TEST_F(GgufMalformed, OtherFilesAreNotGguf) {
    EXPECT_NE(refusal(folder_.file("a", "PK\x03\x04 a zip archive of some kind")).find("is not a GGUF file"),
              std::string::npos);
    EXPECT_NE(refusal(folder_.file("b", "")).find("the magic number"), std::string::npos);
}

}  // namespace
}  // namespace toy
