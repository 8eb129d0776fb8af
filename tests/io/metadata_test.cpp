#include "io/metadata.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "core/error.h"

namespace toy {
namespace {

std::string sentence(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::Kind::bad_input);
        return error.what();
    }
    return "no error";
}

TEST(Metadata, CodesAreThoseOfTheFormat) {
    EXPECT_EQ(type_of(Value(uint8_t{1})), ValueType::u8);
    EXPECT_EQ(type_of(Value(int8_t{1})), ValueType::i8);
    EXPECT_EQ(type_of(Value(uint16_t{1})), ValueType::u16);
    EXPECT_EQ(type_of(Value(int16_t{1})), ValueType::i16);
    EXPECT_EQ(type_of(Value(uint32_t{1})), ValueType::u32);
    EXPECT_EQ(type_of(Value(int32_t{1})), ValueType::i32);
    EXPECT_EQ(type_of(Value(1.0F)), ValueType::f32);
    EXPECT_EQ(type_of(Value(true)), ValueType::boolean);
    EXPECT_EQ(type_of(Value("text")), ValueType::string);
    EXPECT_EQ(type_of(Value(Array(std::vector<float>{1}))), ValueType::array);
    EXPECT_EQ(type_of(Value(uint64_t{1})), ValueType::u64);
    EXPECT_EQ(type_of(Value(int64_t{1})), ValueType::i64);
    EXPECT_EQ(type_of(Value(1.0)), ValueType::f64);
    EXPECT_EQ(element_type_of(Array(std::vector<std::string>{"a"})), ValueType::string);
    EXPECT_EQ(element_type_of(Array(std::vector<uint64_t>{1})), ValueType::u64);
    EXPECT_EQ(element_type_of(Array(std::vector<double>{1})), ValueType::f64);
    EXPECT_EQ(static_cast<int>(ValueType::f64), 12);
    EXPECT_EQ(name(ValueType::boolean), "bool");
    EXPECT_EQ(name(ValueType::f64), "f64");
}

TEST(Metadata, AnyIntegerTypeThatHoldsTheValueServes) {
    Metadata metadata("m.gguf");
    metadata.set("a", uint8_t{200});
    metadata.set("b", int64_t{-5});
    metadata.set("c", uint64_t{1} << 63);
    metadata.set("d", 1.0F);
    metadata.set("e", true);
    EXPECT_EQ(metadata.integer("a"), 200);
    EXPECT_EQ(metadata.integer("b"), -5);
    EXPECT_EQ(sentence([&] { metadata.integer("c"); }), "m.gguf: key 'c' holds a number above 9223372036854775807");
    EXPECT_EQ(sentence([&] { metadata.integer("d"); }), "m.gguf: key 'd' holds f32, expected an integer");
    EXPECT_EQ(sentence([&] { metadata.integer("e"); }), "m.gguf: key 'e' holds bool, expected an integer");
    EXPECT_EQ(sentence([&] { metadata.integer("f"); }), "m.gguf: key 'f' is missing");
    EXPECT_FALSE(metadata.find_integer("f").has_value());
}

TEST(Metadata, RealsBooleansAndStrings) {
    Metadata metadata("m.gguf");
    metadata.set("f32", 0.5F);
    metadata.set("f64", 0.25);
    metadata.set("bool", false);
    metadata.set("string", "text");
    EXPECT_EQ(metadata.real("f32"), 0.5);
    EXPECT_EQ(metadata.real("f64"), 0.25);
    EXPECT_FALSE(metadata.boolean("bool"));
    EXPECT_EQ(metadata.string("string"), "text");
    EXPECT_EQ(sentence([&] { metadata.real("bool"); }),
              "m.gguf: key 'bool' holds bool, expected a real number (f32 or f64)");
    EXPECT_EQ(sentence([&] { metadata.boolean("string"); }), "m.gguf: key 'string' holds string, expected a bool");
    EXPECT_EQ(sentence([&] { metadata.string("f32"); }), "m.gguf: key 'f32' holds f32, expected a string");
    EXPECT_EQ(sentence([&] { metadata.real("none"); }), "m.gguf: key 'none' is missing");
    EXPECT_EQ(sentence([&] { metadata.boolean("none"); }), "m.gguf: key 'none' is missing");
    EXPECT_EQ(sentence([&] { metadata.string("none"); }), "m.gguf: key 'none' is missing");
    EXPECT_EQ(metadata.find_string("none"), nullptr);
    EXPECT_FALSE(metadata.find_real("none").has_value());
    EXPECT_FALSE(metadata.find_boolean("none").has_value());
}

TEST(Metadata, Arrays) {
    Metadata metadata("m.gguf");
    metadata.set("strings", Array(std::vector<std::string>{"a", "b"}));
    metadata.set("i16", Array(std::vector<int16_t>{-1, 2}));
    metadata.set("u64", Array(std::vector<uint64_t>{1, std::numeric_limits<uint64_t>::max()}));
    metadata.set("floats", Array(std::vector<float>{1, 2, 3}));
    EXPECT_EQ(metadata.strings("strings"), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(metadata.find_integers("i16"), (std::vector<int64_t>{-1, 2}));
    EXPECT_EQ(metadata.find_floats("floats")->size(), 3U);
    EXPECT_EQ(metadata.find_strings("none"), nullptr);
    EXPECT_FALSE(metadata.find_integers("none").has_value());
    EXPECT_EQ(sentence([&] { metadata.strings("none"); }), "m.gguf: key 'none' is missing");
    EXPECT_EQ(sentence([&] { metadata.find_integers("u64"); }),
              "m.gguf: key 'u64' holds a number above 9223372036854775807");
    EXPECT_EQ(sentence([&] { metadata.find_strings("i16"); }),
              "m.gguf: key 'i16' holds an array of i16, expected an array of strings");
    EXPECT_EQ(sentence([&] { metadata.find_integers("floats"); }),
              "m.gguf: key 'floats' holds an array of f32, expected an array of integers");
    EXPECT_EQ(sentence([&] { metadata.integer("floats"); }),
              "m.gguf: key 'floats' holds an array of f32, expected an integer");
}

TEST(Metadata, SetReplacesInPlaceAndEraseRemoves) {
    Metadata metadata;
    metadata.set("a", uint32_t{1});
    metadata.set("b", uint32_t{2});
    metadata.set("a", "text");
    ASSERT_EQ(metadata.entries().size(), 2U);
    EXPECT_EQ(metadata.entries()[0].first, "a");
    EXPECT_EQ(metadata.string("a"), "text");
    metadata.erase("a");
    EXPECT_FALSE(metadata.has("a"));
    EXPECT_TRUE(metadata.has("b"));
    metadata.erase("none");
    EXPECT_EQ(metadata.entries().size(), 1U);
}

}  // namespace
}  // namespace toy
