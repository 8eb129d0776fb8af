#include <gtest/gtest.h>

#include "core/error.h"
#include "core/temp_folder.h"
#include "io/gguf.h"
#include "io/gguf_writer.h"

namespace toy {
namespace {

/// Writes a model of three parts, one tensor each, with deviations that a test asks for.
class GgufSplit : public testing::Test {
 protected:
    struct Part {
        int64_t number;
        int64_t count = 3;
        int64_t tensors = 3;
        std::string tensor;
    };

    void SetUp() override {
        for (int64_t number = 0; number < 3; ++number) write({.number = number, .tensor = std::to_string(number)});
    }

    void write(const Part& part) { write(part, name(part.number)); }
    void write(const Part& part, const std::string& as) {
        GgufWriter writer;
        if (part.number == 0) writer.set("general.architecture", "llama");
        writer.set("split.no", static_cast<uint16_t>(part.number))
            .set("split.count", static_cast<uint16_t>(part.count));
        writer.set("split.tensors.count", static_cast<int32_t>(part.tensors));
        writer.add_f32(part.tensor, DType::F32, {1}, std::vector<float>{static_cast<float>(part.number)});
        writer.write(folder_ / as);
    }
    static std::string name(int64_t number) { return fmt::format("m-{:05}-of-00003.gguf", number + 1); }
    std::string refusal(const std::string& file = name(0)) {
        try {
            Gguf::open(folder_ / file);
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), Error::Kind::bad_input);
            return error.what();
        }
        return "";
    }
    void expect_refusal(const std::string& part, const std::string& file = name(0)) {
        EXPECT_NE(refusal(file).find(part), std::string::npos) << refusal(file);
    }

    TempFolder folder_;
};

TEST_F(GgufSplit, ReadsAsOne) {
    const Gguf gguf = Gguf::open(folder_ / name(1));
    EXPECT_EQ(gguf.parts().size(), 3U);
    EXPECT_EQ(gguf.metadata().string("general.architecture"), "llama");
    for (size_t i = 0; i < 3; ++i) {
        const GgufTensor* tensor = gguf.find(std::to_string(i));
        EXPECT_EQ(tensor->part, i);
        EXPECT_EQ(*reinterpret_cast<const float*>(tensor->bytes.data()), static_cast<float>(i));
    }
}

TEST_F(GgufSplit, TheHeaderOfOnePartStandsAlone) {
    EXPECT_EQ(Gguf::open_header(folder_ / name(2)).tensors().size(), 1U);
}

TEST_F(GgufSplit, AMissingPartIsNamed) {
    std::filesystem::remove(folder_ / name(1));
    expect_refusal("m-00002-of-00003.gguf: part 2 of 3 of the split model is missing");
    expect_refusal("m-00002-of-00003.gguf: part 2 of 3 of the split model is missing", name(2));
}

TEST_F(GgufSplit, APartUnderAnotherNameCannotFindItsSiblings) {
    std::filesystem::rename(folder_ / name(0), folder_ / "renamed.gguf");
    expect_refusal("its name has to end in '-00001-of-00003.gguf'", "renamed.gguf");
}

TEST_F(GgufSplit, AForeignPartIsRefused) {
    write({.number = 2, .tensor = "2"}, name(1));
    expect_refusal("m-00002-of-00003.gguf: does not belong to its split model");
    write({.number = 1, .count = 4, .tensor = "1"});
    expect_refusal("m-00002-of-00003.gguf: does not belong to its split model");
    write({.number = 1, .tensors = 4, .tensor = "1"});
    expect_refusal("m-00002-of-00003.gguf: does not belong to its split model");
    GgufWriter().write(folder_ / name(1));
    expect_refusal("m-00002-of-00003.gguf: does not belong to its split model");
}

TEST_F(GgufSplit, TheNumberOfTensorsIsChecked) {
    for (int64_t number = 0; number < 3; ++number) {
        write({.number = number, .tensors = 4, .tensor = std::to_string(number)});
    }
    expect_refusal("the 3 parts hold 3 tensors, but key 'split.tensors.count' says 4");
}

TEST_F(GgufSplit, ATensorInTwoPartsIsRefused) {
    write({.number = 2, .tensor = "0"});
    expect_refusal("m-00003-of-00003.gguf: the name of tensor number 3, '0', occurs before, as number 1");
}

TEST_F(GgufSplit, APartThatIsCutIsRefused) {
    std::filesystem::resize_file(folder_ / name(2), std::filesystem::file_size(folder_ / name(2)) - 32);
    expect_refusal("m-00003-of-00003.gguf: the data of tensor '2'");
}

TEST_F(GgufSplit, KeysOutOfRangeAreRefused) {
    const auto open = [&](const Value& number, const Value& count) {
        GgufWriter()
            .set("split.no", number)
            .set("split.count", count)
            .set("split.tensors.count", int32_t{0})
            .write(folder_ / "x.gguf");
        return refusal("x.gguf");
    };
    EXPECT_NE(open(uint16_t{3}, uint16_t{3}).find("'split.no' is 3, but 'split.count' is 3"), std::string::npos);
    EXPECT_NE(open(int16_t{-1}, uint16_t{3}).find("'split.no' is -1"), std::string::npos);
    EXPECT_NE(open(uint16_t{0}, int32_t{-2}).find("'split.count' is -2"), std::string::npos);
    EXPECT_NE(open(uint16_t{0}, uint32_t{1} << 31).find("'split.count' is 2147483648"), std::string::npos);
    EXPECT_NE(open("one", uint16_t{3}).find("'split.no' holds string"), std::string::npos);
    GgufWriter().set("split.count", uint16_t{3}).write(folder_ / "x.gguf");
    expect_refusal("key 'split.no' is missing", "x.gguf");
}

TEST_F(GgufSplit, CountsOf0And1AreWholeModels) {
    for (const uint16_t count : {uint16_t{0}, uint16_t{1}}) {  // gguf-split --merge leaves a 0
        GgufWriter().set("split.count", count).write(folder_ / "x.gguf");
        EXPECT_EQ(refusal("x.gguf"), "");
    }
}

}  // namespace
}  // namespace toy
