// Importance matrices in both of llama.cpp's formats, and files that are none.
#include "io/imatrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/error.h"
#include "core/temp_folder.h"
#include "io/gguf_writer.h"

namespace toy {
namespace {

/// A legacy file, put together piece by piece.
struct Legacy {
    std::string bytes;
    Legacy& number(int32_t n) {
        bytes.append(reinterpret_cast<const char*>(&n), sizeof(n));
        return *this;
    }
    Legacy& text(const std::string& words) {
        number(static_cast<int32_t>(words.size()));
        bytes += words;
        return *this;
    }
    Legacy& values(const std::vector<float>& all) {
        number(static_cast<int32_t>(all.size()));
        bytes.append(reinterpret_cast<const char*>(all.data()), all.size() * sizeof(float));
        return *this;
    }
};

std::string refusal(const std::filesystem::path& path) {
    try {
        read_imatrix(path);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::Kind::bad_input) << error.what();
        return error.what();
    }
    return "read";
}

Legacy two_weights() {
    return Legacy().number(2).text("a.weight").number(4).values({4, 8}).text("b.weight").number(0).values({1, 2, 3});
}

TEST(Imatrix, LegacySumsAreDividedByTheCalls) {
    const TempFolder folder;
    folder.file("m.dat", two_weights().number(17).text("wiki.txt").bytes);
    const ImportanceMatrix m = read_imatrix(folder / "m.dat");
    EXPECT_EQ(m.weights.at("a.weight"), (std::vector<float>{1, 2}));
    EXPECT_EQ(m.weights.at("b.weight"), (std::vector<float>{1, 2, 3}));
    EXPECT_EQ(m.chunks, 17);
    EXPECT_EQ(m.datasets, std::vector<std::string>{"wiki.txt"});
    // What follows the entries may be absent.
    folder.file("short.dat", two_weights().bytes);
    EXPECT_EQ(read_imatrix(folder / "short.dat").weights, m.weights);
    EXPECT_EQ(read_imatrix(folder / "short.dat").chunks, 0);
    folder.file("chunks.dat", two_weights().number(3).bytes);
    EXPECT_EQ(read_imatrix(folder / "chunks.dat").chunks, 3);
}

// Cut anywhere, a file is refused, or it is one that ends where a file may end.
TEST(Imatrix, ALegacyFileThatEndsEarlyIsRefused) {
    const TempFolder folder;
    const std::string whole = two_weights().number(17).text("wiki.txt").bytes;
    const size_t entries = two_weights().bytes.size();
    for (size_t size = 0; size < whole.size(); ++size) {
        folder.file("cut.dat", whole.substr(0, size));
        const bool may_end = size == entries || size == entries + 4;
        EXPECT_EQ(refusal(folder / "cut.dat") == "read", may_end) << size << ": " << refusal(folder / "cut.dat");
    }
}

TEST(Imatrix, LegacyNonsenseIsRefused) {
    const TempFolder folder;
    const auto told = [&](const Legacy& file) {
        folder.file("bad.dat", file.bytes);
        return refusal(folder / "bad.dat");
    };
    EXPECT_NE(told(Legacy().number(0)).find("the number of entries at byte 0 is 0"), std::string::npos);
    EXPECT_NE(told(Legacy().number(-5)).find("number of entries"), std::string::npos);
    EXPECT_NE(told(Legacy().number(1).number(1 << 30)).find("length of a name"), std::string::npos);
    // A count of values that the file cannot hold allocates nothing.
    EXPECT_NE(told(Legacy().number(1).text("a").number(1).number(2147483647)).find("within values"), std::string::npos);
    EXPECT_NE(told(Legacy().number(1).text("a").number(-1).values({1})).find("number of calls"), std::string::npos);
    EXPECT_NE(told(Legacy().number(1).text("a").number(1).values({1, std::nanf("")})).find("no mean of squares"),
              std::string::npos);
    EXPECT_NE(told(Legacy().number(1).text("a").number(1).values({-1})).find("no mean of squares"), std::string::npos);
    EXPECT_NE(told(Legacy().number(2).text("a").number(1).values({1}).text("a").number(1).values({1}))
                  .find("two importances of 'a'"),
              std::string::npos);
    folder.file("text.txt", std::string("This is a text, no importance matrix."));
    EXPECT_NE(refusal(folder / "text.txt").find("is no importance matrix"), std::string::npos);
    EXPECT_NE(refusal(folder / "absent.dat").find("absent.dat"), std::string::npos);
}

struct GgufMatrix {
    GgufWriter w;
    explicit GgufMatrix(bool has_keys = true) {
        w.set("general.type", std::string("imatrix"));
        if (!has_keys) return;
        w.set("imatrix.datasets", Array(std::vector<std::string>{"one.txt", "two.txt"}));
        w.set("imatrix.chunk_count", uint32_t{9});
        w.set("imatrix.chunk_size", uint32_t{512});
    }
    GgufMatrix& add(const std::string& name, const std::vector<float>& values, int64_t rows = 1,
                    DType type = DType::F32) {
        w.add_f32(name, type, {static_cast<int64_t>(values.size()) / rows, rows}, values);
        return *this;
    }
};

TEST(Imatrix, GgufSumsAreDividedByTheCountOfTheirExpert) {
    const TempFolder folder;
    GgufMatrix()
        .add("up.in_sum2", {2, 4})
        .add("up.counts", {2})
        .add("exps.in_sum2", {2, 4, 6, 8, 5, 5}, 3)
        .add("exps.counts", {2, 4, 0}, 3)
        .w.write(folder / "m.gguf");
    const ImportanceMatrix m = read_imatrix(folder / "m.gguf");
    EXPECT_EQ(m.weights.at("up"), (std::vector<float>{1, 2}));
    // An expert that no token used says nothing: all its inputs count alike.
    EXPECT_EQ(m.weights.at("exps"), (std::vector<float>{1, 2, 1.5, 2, 1, 1}));
    EXPECT_EQ(m.datasets, (std::vector<std::string>{"one.txt", "two.txt"}));
    EXPECT_EQ(m.chunks, 9);
}

TEST(Imatrix, GgufNonsenseIsRefused) {
    const TempFolder folder;
    const auto told = [&](const GgufMatrix& file) {
        file.w.write(folder / "bad.gguf");
        return refusal(folder / "bad.gguf");
    };
    EXPECT_NE(told(GgufMatrix(false).add("a.in_sum2", {1}).add("a.counts", {1})).find("imatrix.datasets"),
              std::string::npos);
    EXPECT_NE(told(GgufMatrix().add("a.in_sum2", {1})).find("no tensor 'a.counts'"), std::string::npos);
    EXPECT_NE(told(GgufMatrix().add("a.counts", {1})).find("no tensor 'a.in_sum2'"), std::string::npos);
    EXPECT_NE(told(GgufMatrix().add("a.in_sum2", {1, 2, 3}).add("a.counts", {1, 1}, 2)).find("3 sums for 2 counts"),
              std::string::npos);
    EXPECT_NE(told(GgufMatrix().add("a.in_sum2", {1}).add("a.counts", {-1})).find("no count"), std::string::npos);
    EXPECT_NE(told(GgufMatrix().add("a.in_sum2", {1}).add("a.counts", {INFINITY})).find("no count"), std::string::npos);
    EXPECT_NE(told(GgufMatrix().add("a.in_sum2", {NAN}).add("a.counts", {1})).find("no mean of squares"),
              std::string::npos);
    EXPECT_NE(told(GgufMatrix().add("a.in_sum2", {1}, 1, DType::F16).add("a.counts", {1})).find("f16, not f32"),
              std::string::npos);
    EXPECT_NE(told(GgufMatrix()).find("no importance of any weight"), std::string::npos);
}

}  // namespace
}  // namespace toy
