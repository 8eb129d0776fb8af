// Files written by llama.cpp's gguf-py (fixtures/make_gguf_py.py), an implementation that shares no code with ours.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "core/error.h"
#include "core/temp_folder.h"
#include "io/gguf.h"
#include "io/gguf_writer.h"

namespace toy {
namespace {

std::filesystem::path fixture(const std::string& name) {
    return std::filesystem::path(TOY_SOURCE_DIR) / "tests/io/fixtures" / name;
}

/// The script's values(n).
float value(size_t i) { return static_cast<float>(i % 65) / 32 - 1; }

template <class T>
std::vector<T> elements(const Gguf& gguf, const char* name) {
    const auto bytes = gguf.find(name)->bytes;
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

void expect_tensors(const Gguf& gguf) {
    const auto f32 = elements<float>(gguf, "f32");
    ASSERT_EQ(f32.size(), 15U);
    for (size_t i = 0; i < f32.size(); ++i) EXPECT_EQ(f32[i], value(i));
    EXPECT_EQ(gguf.find("f32")->ne, (std::array<int64_t, 4>{5, 3, 1, 1}));
    EXPECT_EQ(gguf.find("f16")->ne, (std::array<int64_t, 4>{4, 3, 2, 1}));
    EXPECT_EQ(gguf.find("i32")->ne, (std::array<int64_t, 4>{2, 2, 2, 1}));
    EXPECT_EQ(gguf.find("i32")->rank, 4);
    EXPECT_EQ(elements<double>(gguf, "f64"), (std::vector<double>{-1, -31.0 / 32, -30.0 / 32}));
    EXPECT_EQ(elements<int8_t>(gguf, "i8"), (std::vector<int8_t>{-4, -3, -2, -1, 0, 1, 2, 3}));
    EXPECT_EQ(elements<int16_t>(gguf, "i16"), (std::vector<int16_t>{-4, -3, -2, -1, 0, 1, 2, 3}));
    EXPECT_EQ(elements<int32_t>(gguf, "i32"), (std::vector<int32_t>{-4, -3, -2, -1, 0, 1, 2, 3}));
    EXPECT_EQ(elements<int64_t>(gguf, "i64"), (std::vector<int64_t>{-4, -3, -2, -1, 0, 1, 2, 3}));
    const std::pair<const char*, double> inexact[] = {{"f16", 0}, {"bf16", 0.004}, {"q8_0", 0.005}, {"q4_0", 0.13}};
    for (const auto& [name, tolerance] : inexact) {
        const GgufTensor* tensor = gguf.find(name);
        std::vector<float> back(static_cast<size_t>(tensor->elements()));
        to_f32(tensor->type, tensor->bytes.data(), back.data(), tensor->elements());
        for (size_t i = 0; i < back.size(); ++i) EXPECT_NEAR(back[i], value(i), tolerance) << name << " " << i;
    }
}

TEST(GgufPy, KeysOfEveryType) {  // lcpp#10100, lcpp#25401
    const Gguf gguf = Gguf::open(fixture("gguf_py.gguf"));
    const Metadata& m = gguf.metadata();
    EXPECT_EQ(std::get<uint8_t>(*m.find("test.u8")), 200);
    EXPECT_EQ(std::get<int8_t>(*m.find("test.i8")), -100);
    EXPECT_EQ(std::get<uint16_t>(*m.find("test.u16")), 60000);
    EXPECT_EQ(std::get<int16_t>(*m.find("test.i16")), -30000);
    EXPECT_EQ(std::get<uint32_t>(*m.find("test.u32")), 4000000000U);
    EXPECT_EQ(std::get<int32_t>(*m.find("test.i32")), -2000000000);
    EXPECT_EQ(std::get<uint64_t>(*m.find("test.u64")), 18000000000000000000U);
    EXPECT_EQ(std::get<int64_t>(*m.find("test.i64")), -9000000000000000000);
    EXPECT_EQ(std::get<float>(*m.find("test.f32")), 1.25F);
    EXPECT_EQ(std::get<double>(*m.find("test.f64")), 1e300);
    EXPECT_TRUE(m.boolean("test.bool"));
    EXPECT_EQ(m.string("test.string"), "Grüße, 世界 🚀");
    EXPECT_EQ(m.strings("test.strings")[2], std::string(1, '\0'));
    EXPECT_EQ(m.strings("test.strings")[3].size(), 100U);
    EXPECT_EQ(m.find_integers("test.i32s"), (std::vector<int64_t>{1, -2, 3}));
    EXPECT_EQ(*m.find_floats("test.f32s"), (std::vector<float>{0.5F, -0.5F}));
    EXPECT_EQ(std::get<Array>(*m.find("test.bools")), Array(std::vector<bool>{true, false, true}));
    EXPECT_EQ(std::get<Array>(*m.find("test.u64s")), Array(std::vector<uint64_t>{1, uint64_t{1} << 63}));
    EXPECT_EQ(std::get<Array>(*m.find("test.f64s")), Array(std::vector<double>{1e-300, 2.5}));
    EXPECT_EQ(m.string("general.architecture"), "test");
}

TEST(GgufPy, TensorsAtBothAlignments) {
    expect_tensors(Gguf::open(fixture("gguf_py.gguf")));
    const Gguf wide = Gguf::open(fixture("gguf_py_alignment_64.gguf"));
    EXPECT_EQ(wide.alignment(), 64U);
    expect_tensors(wide);
}

TEST(GgufPy, OurWriterGivesTheSameBytes) {
    const Gguf gguf = Gguf::open(fixture("gguf_py.gguf"));
    const TempFolder folder;
    GgufWriter writer;
    for (const auto& [key, value] : gguf.metadata().entries()) writer.set(key, value);
    for (const GgufTensor& tensor : gguf.tensors()) {
        writer.add(tensor.name, tensor.type, {tensor.ne.begin(), tensor.ne.begin() + tensor.rank}, tensor.bytes);
    }
    writer.write(folder / "copy.gguf");
    EXPECT_EQ(read_file(folder / "copy.gguf"), read_file(fixture("gguf_py.gguf")));
}

TEST(GgufPy, BigEndianFilesAreRefusedAsSuch) {  // lcpp#10094
    try {
        Gguf::open(fixture("gguf_py_big_endian.gguf"));
        FAIL() << "a big-endian file loaded";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("is a big-endian GGUF file; convert it"), std::string::npos);
    }
}

TEST(GgufPy, ASplitModelOpensThroughAnyPart) {
    for (const char* part : {"00001", "00002", "00003"}) {
        const Gguf gguf = Gguf::open(fixture(std::string("gguf_py_split-") + part + "-of-00003.gguf"));
        ASSERT_EQ(gguf.parts().size(), 3U);
        EXPECT_EQ(gguf.path().filename(), "gguf_py_split-00001-of-00003.gguf");
        EXPECT_EQ(gguf.metadata().string("general.architecture"), "test");
        EXPECT_EQ(gguf.tensors().size(), 10U);
        EXPECT_EQ(gguf.find("f32")->part, 0U);
        EXPECT_EQ(gguf.find("bf16")->part, 2U);
        expect_tensors(gguf);
    }
}

}  // namespace
}  // namespace toy
