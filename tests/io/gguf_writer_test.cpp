#include "io/gguf_writer.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <functional>
#include <limits>

#include "core/error.h"
#include "core/temp_folder.h"
#include "io/gguf.h"
#include "reference_reader.h"

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

bool says(const std::function<void()>& action, std::string_view part) {
    const std::string said = sentence(action);
    EXPECT_NE(said.find(part), std::string::npos) << said;
    return said.find(part) != std::string::npos;
}

std::string text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(GgufWriter, AnEmptyFileIsAFile) {
    const TempFolder folder;
    GgufWriter().write(folder / "empty.gguf");
    EXPECT_EQ(Gguf::open(folder / "empty.gguf").tensors().size(), 0U);
    EXPECT_TRUE(ggml_loads(folder / "empty.gguf", true));
}

TEST(GgufWriter, StreamsTensorsInPieces) {
    const TempFolder folder;
    GgufWriter writer;
    writer.add("pieces", DType::I8, {10}, [](const auto& write) {
        write(bytes_of("01234"));
        write({});
        write(bytes_of("56789"));
    });
    writer.write(folder / "a.gguf");
    EXPECT_EQ(text(Gguf::open(folder / "a.gguf").find("pieces")->bytes), "0123456789");
}

TEST(GgufWriter, ASourceThatGivesTooLittleOrTooMuchWritesNothing) {
    const TempFolder folder;
    for (const char* given : {"123", "12345"}) {
        GgufWriter writer;
        writer.add("t", DType::I8, {4}, [&](const auto& write) { write(bytes_of(given)); });
        EXPECT_TRUE(says([&] { writer.write(folder / "a.gguf"); }, "tensor 't' takes 4 bytes, but its source gave"));
    }
    EXPECT_EQ(folder.entries(), 0U);
}

TEST(GgufWriter, ASourceThatThrowsLeavesTheOldFile) {
    const TempFolder folder;
    folder.file("a.gguf", "old");
    GgufWriter writer;
    writer.add("t", DType::I8, {4}, [](const auto&) { failure("no data"); });
    EXPECT_EQ(sentence([&] { writer.write(folder / "a.gguf"); }), "no data");
    EXPECT_EQ(read_file(folder / "a.gguf"), "old");
    EXPECT_EQ(folder.entries(), 1U);
}

TEST(GgufWriter, ConvertsFloats) {
    const TempFolder folder;
    std::vector<float> values(64);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 32;
    GgufWriter writer;
    writer.add_f32("f32", DType::F32, {32, 2}, values).add_f32("f16", DType::F16, {32, 2}, values);
    writer.add_f32("q8_0", DType::Q8_0, {32, 2}, values).add_f32("none", DType::Q8_0, {32, 0}, {});
    std::vector<float>(values).swap(values);  // the writer owns what it converted
    writer.write(folder / "a.gguf");
    const Gguf gguf = Gguf::open(folder / "a.gguf");
    for (const char* name : {"f32", "f16", "q8_0"}) {
        const GgufTensor* tensor = gguf.find(name);
        std::vector<float> back(64);
        to_f32(tensor->type, tensor->bytes.data(), back.data(), 64);
        for (size_t i = 0; i < back.size(); ++i) EXPECT_NEAR(back[i], values[i], 0.2) << name;
    }
    EXPECT_EQ(gguf.find("none")->elements(), 0);
}

TEST(GgufWriter, MistakesAreRefusedWhenAdded) {
    const std::string data(64, 'x');
    GgufWriter writer;
    writer.set("a.b_c-1", uint32_t{1}).add("t", DType::I8, {64}, bytes_of(data));
    EXPECT_TRUE(says([&] { writer.set("", uint32_t{1}); }, "key '' cannot be written"));
    EXPECT_TRUE(says([&] { writer.set("Upper", uint32_t{1}); }, "key 'Upper' cannot be written"));
    EXPECT_TRUE(says([&] { writer.set("sp ace", uint32_t{1}); }, "key 'sp ace' cannot be written"));
    EXPECT_TRUE(says([&] { writer.set(std::string(65536, 'k'), uint32_t{1}); }, "keys have 1 to 65535"));
    EXPECT_TRUE(says([&] { writer.set("a.b_c-1", 2.0F); }, "key 'a.b_c-1' is set twice"));
    EXPECT_TRUE(says([&] { writer.set("general.alignment", uint32_t{24}); }, "power of two"));
    EXPECT_TRUE(says([&] { writer.set("general.alignment", int32_t{32}); }, "has to be a u32"));
    EXPECT_TRUE(says([&] { writer.add("t", DType::I8, {64}, bytes_of(data)); }, "tensor 't' is added twice"));
    EXPECT_TRUE(says([&] { writer.add("", DType::I8, {64}, bytes_of(data)); }, "has 0 bytes; 1 to 63"));
    EXPECT_TRUE(
        says([&] { writer.add(std::string(64, 'n'), DType::I8, {64}, bytes_of(data)); }, "has 64 bytes; 1 to 63"));
    EXPECT_TRUE(says([&] { writer.add("u", DType::I8, {}, bytes_of(data)); }, "has 0 axes"));
    EXPECT_TRUE(says([&] { writer.add("u", DType::I8, {1, 1, 1, 1, 64}, bytes_of(data)); }, "has 5 axes"));
    EXPECT_TRUE(says(
        [&] {
            writer.add("u", DType::I8, {-64, -1}, bytes_of(data));
        },
        "cannot have the shape [-64, -1]"));
    EXPECT_TRUE(
        says([&] { writer.add("u", DType::F64, {int64_t{1} << 62}, bytes_of(data)); }, "cannot have the shape"));
    EXPECT_TRUE(says([&] { writer.add("u", DType::Q8_0, {33}, bytes_of(data)); }, "rows of 33 elements"));
    EXPECT_TRUE(
        says([&] { writer.add("u", DType::I8, {63}, bytes_of(data)); }, "takes 63 bytes as i8, but 64 were given"));
    EXPECT_TRUE(
        says([&] { writer.add_f32("u", DType::F32, {3}, std::vector<float>(4)); }, "3 elements, but 4 were given"));
    const TempFolder folder;
    writer.write(folder / "a.gguf");  // what was refused left no trace
    EXPECT_EQ(Gguf::open(folder / "a.gguf").tensors().size(), 1U);
    EXPECT_EQ(Gguf::open(folder / "a.gguf").metadata().entries().size(), 1U);
}

TEST(GgufWriter, AlignsAsTheKeySays) {
    const TempFolder folder;
    for (const uint32_t alignment : {1U, 8U, 32U, 64U, 16384U}) {
        GgufWriter writer;
        writer.set("general.alignment", alignment);
        writer.add("a", DType::I8, {5}, bytes_of("hello")).add("b", DType::I8, {5}, bytes_of("world"));
        writer.write(folder / "a.gguf");
        const Gguf gguf = Gguf::open(folder / "a.gguf");
        EXPECT_EQ(gguf.alignment(), alignment);
        EXPECT_EQ(gguf.find("a")->offset % alignment, 0U);
        EXPECT_EQ(gguf.find("b")->offset, gguf.find("a")->offset + std::max(5U, alignment));
        EXPECT_EQ(text(gguf.find("b")->bytes), "world");
        EXPECT_TRUE(ggml_loads(folder / "a.gguf", true));
    }
}

TEST(GgufWriter, KeepsEveryBitOfUnusualValues) {
    const TempFolder folder;
    const float odd = std::bit_cast<float>(0x7fc12345U);  // a NaN with a payload
    GgufWriter()
        .set("nan", odd)
        .set("infinities", Array(std::vector<double>{std::numeric_limits<double>::infinity(), -0.0}))
        .set("no_utf8", std::string("\xff\0\xfe", 3))
        .set("empty", "")
        .set("none", Array(std::vector<std::string>{}))
        .write(folder / "a.gguf");
    const Gguf gguf = Gguf::open(folder / "a.gguf");
    EXPECT_EQ(std::bit_cast<uint32_t>(std::get<float>(*gguf.metadata().find("nan"))), 0x7fc12345U);
    EXPECT_TRUE(std::signbit(std::get<std::vector<double>>(std::get<Array>(*gguf.metadata().find("infinities")))[1]));
    EXPECT_EQ(gguf.metadata().string("no_utf8"), std::string("\xff\0\xfe", 3));
    EXPECT_EQ(gguf.metadata().string("empty"), "");
    EXPECT_TRUE(gguf.metadata().strings("none").empty());
}

// ---- round trips of random files ----

template <class T>
rc::Gen<Value> scalar() {
    return rc::gen::map(rc::gen::arbitrary<T>(), [](T value) { return Value(std::move(value)); });
}

template <class T>
rc::Gen<Value> array() {
    return rc::gen::map(rc::gen::container<std::vector<T>>(rc::gen::arbitrary<T>()),
                        [](std::vector<T> values) { return Value(Array(std::move(values))); });
}

rc::Gen<Value> any_value() {
    return rc::gen::oneOf(scalar<uint8_t>(), scalar<int8_t>(), scalar<uint16_t>(), scalar<int16_t>(),
                          scalar<uint32_t>(), scalar<int32_t>(), scalar<float>(), scalar<bool>(), scalar<std::string>(),
                          scalar<uint64_t>(), scalar<int64_t>(), scalar<double>(), array<uint8_t>(), array<int8_t>(),
                          array<uint16_t>(), array<int16_t>(), array<uint32_t>(), array<int32_t>(), array<float>(),
                          array<bool>(), array<std::string>(), array<uint64_t>(), array<int64_t>(), array<double>());
}

struct Drawn {
    std::string name;
    DType type;
    std::vector<int64_t> ne;
    std::string bytes;
};

Drawn draw_tensor(size_t number) {
    Drawn drawn;
    drawn.name = fmt::format("{}.{}", number, *rc::gen::container<std::string>(rc::gen::inRange(' ', '~')).as("name"));
    drawn.name.resize(std::min<size_t>(drawn.name.size(), 63));
    drawn.type = *rc::gen::elementOf(std::vector<DType>(all_dtypes().begin(), all_dtypes().end()));
    drawn.ne.resize(*rc::gen::inRange<size_t>(1, 5));
    for (int64_t& n : drawn.ne) n = *rc::gen::inRange<int64_t>(0, 5);
    size_t bytes = row_bytes(drawn.type, drawn.ne[0] *= block_elements(drawn.type));
    for (size_t axis = 1; axis < drawn.ne.size(); ++axis) bytes *= static_cast<size_t>(drawn.ne[axis]);
    drawn.bytes.resize(bytes);
    for (size_t i = 0; i < bytes; ++i) drawn.bytes[i] = static_cast<char>(i * 7 + number);
    return drawn;
}

void copy(const Gguf& from, const std::filesystem::path& to) {
    GgufWriter writer;
    for (const auto& [key, value] : from.metadata().entries()) writer.set(key, value);
    for (const GgufTensor& tensor : from.tensors()) {
        writer.add(tensor.name, tensor.type, {tensor.ne.begin(), tensor.ne.begin() + tensor.rank}, tensor.bytes);
    }
    writer.write(to);
}

TEST(GgufRoundTrip, WhatIsWrittenIsReadBackAndGgmlReadsItToo) {
    const TempFolder folder;
    const bool holds = rc::check("random keys, values and tensors of every type", [&] {
        const auto values = *rc::gen::container<std::vector<Value>>(any_value());
        GgufWriter writer;
        for (size_t i = 0; i < values.size(); ++i) writer.set("key." + std::to_string(i), values[i]);
        const bool own_alignment = *rc::gen::arbitrary<bool>();
        if (own_alignment) writer.set("general.alignment", uint32_t{1} << *rc::gen::inRange(0, 12));
        std::vector<Drawn> tensors;
        const size_t count = *rc::gen::inRange<size_t>(0, 8);
        for (size_t i = 0; i < count; ++i) tensors.push_back(draw_tensor(i));
        for (const Drawn& drawn : tensors) writer.add(drawn.name, drawn.type, drawn.ne, bytes_of(drawn.bytes));

        const auto path = folder / "a.gguf";
        writer.write(path);
        const Gguf gguf = Gguf::open(path);
        RC_ASSERT(gguf.metadata().entries().size() == values.size() + own_alignment);
        for (size_t i = 0; i < values.size(); ++i) RC_ASSERT(gguf.metadata().entries()[i].second == values[i]);
        RC_ASSERT(gguf.tensors().size() == tensors.size());
        for (size_t i = 0; i < tensors.size(); ++i) {
            const GgufTensor* tensor = gguf.find(tensors[i].name);
            RC_ASSERT(tensor == &gguf.tensors()[i]);
            RC_ASSERT(tensor->type == tensors[i].type);
            RC_ASSERT(std::vector<int64_t>(tensor->ne.begin(), tensor->ne.begin() + tensor->rank) == tensors[i].ne);
            RC_ASSERT(text(tensor->bytes) == tensors[i].bytes);
        }
        RC_ASSERT(ggml_loads(path, true));
        copy(gguf, folder / "b.gguf");
        RC_ASSERT(read_file(folder / "b.gguf") == read_file(path));
    });
    EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace toy
