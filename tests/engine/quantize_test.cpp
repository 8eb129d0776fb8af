// toy's quantiser beside llama.cpp's: the same types and the same bytes (tests/fixtures/quantize, docs/oracle.md).
#include "engine/quantize.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "io/gguf_writer.h"
#include "support/family_models.h"
#include "support/oracle.h"
#include "support/quantize_models.h"
#include "support/random_model.h"

namespace toy {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const FileType* type_named(std::string_view name) {
    for (const FileType& type : file_types()) {
        if (type.name == name) return &type;
    }
    return nullptr;
}

/// "Q4_K_M pure imatrix"
struct Case {
    const FileType* target;
    bool is_pure, has_importance;
    explicit Case(const std::string& label)
        : target(type_named(label.substr(0, label.find(' ')))),
          is_pure(label.find(" pure") != label.npos),
          has_importance(label.find(" imatrix") != label.npos) {}
};

std::string hash_of_types(const std::vector<TypeChoice>& choices) {
    uint64_t hash = 14695981039346656037U;
    for (const TypeChoice& choice : choices) {
        for (const char c : fmt::format("{} {}\n", choice.tensor->name, name(choice.type))) {
            hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
        }
    }
    return fmt::format("{:016x}", hash);
}

fs::path fresh_folder(const std::string& name) {
    const fs::path folder = test::models_folder() / name;
    fs::remove_all(folder);
    fs::create_directory(folder);
    return folder;
}

std::string refusal(const Gguf& input, const fs::path& output, const QuantizeOptions& options) {
    try {
        quantize(input, output, options);
    } catch (const Error& error) {
        return error.what();
    }
    return "written";
}

// One fixture: a model, and what llama.cpp writes for each file type.
class Quantize : public testing::TestWithParam<std::string> {
 protected:
    Quantize() {
        std::ifstream in(fs::path(TOY_SOURCE_DIR) / "tests/fixtures/quantize" / (GetParam() + ".json"));
        fixture = Json::parse(in);
        folder = fresh_folder("quantize-" + GetParam());
        test::write_legacy_imatrix(test::random_importance(GetParam()), folder / "importance.dat");
        importance = read_imatrix(folder / "importance.dat");
    }
    ~Quantize() override { fs::remove_all(folder); }

    QuantizeOptions options(const Case& one) const {
        QuantizeOptions o;
        o.target = one.target;
        o.importance = one.has_importance ? &importance : nullptr;
        o.is_pure = one.is_pure;
        o.may_requantize = true;
        return o;
    }

    const Gguf input = Gguf::open(test::quantize_model(GetParam()));
    Json fixture;
    fs::path folder;
    ImportanceMatrix importance;
};

TEST_P(Quantize, TheModelIsTheRecordedOne) {
    EXPECT_EQ(test::fnv1a(test::quantize_model(GetParam())), fixture.at("model_fnv1a"));
    EXPECT_EQ(test::fnv1a(folder / "importance.dat"), fixture.at("imatrix_fnv1a"));
}

TEST_P(Quantize, ChoosesTheTypesOfLlamaCpp) {
    int compared = 0;
    for (const auto& [label, recorded] : fixture.at("files").items()) {
        const Case one(label);
        if (recorded.is_null() || one.target == nullptr) continue;
        EXPECT_EQ(hash_of_types(choose_types(input, *one.target, one.is_pure, one.has_importance)), recorded.at(0))
            << label;
        ++compared;
    }
    EXPECT_GT(compared, 80);
}

// ggml prepares some types for seconds: those wait for the slow suites.
class QuantizeBytes : public Quantize {
 protected:
    static bool is_prepared_for_long(const std::string& label) {
        for (const char* type : {"IQ1_", "IQ2_S", "IQ2_M", "IQ2_XS", "IQ3_X"}) {
            if (label.starts_with(type)) return true;
        }
        return false;
    }
    void compare(bool are_slow);
};

void QuantizeBytes::compare(bool are_slow) {
#ifndef __x86_64__
    GTEST_SKIP() << "recorded on x86-64: where the compiler fuses multiplications and additions, rounding differs";
#endif
    const fs::path output = folder / "out.gguf";
    for (const auto& [label, recorded] : fixture.at("files").items()) {
        if (!are_slow && is_prepared_for_long(label)) continue;
        QuantizeOptions o = options(Case(label));
        o.threads = 1 + static_cast<int>(label.size() % 3);
        const std::string told = refusal(input, output, o);
        if (recorded.is_null()) {
            EXPECT_NE(told, "written") << label;
            EXPECT_FALSE(fs::exists(output)) << label;
            continue;
        }
        ASSERT_EQ(told, "written") << label;
        EXPECT_EQ(test::fnv1a(output), recorded.at(1)) << label;
        fs::remove(output);
    }
}

TEST_P(QuantizeBytes, AreThoseOfLlamaCpp) { compare(false); }
class SlowQuantizeBytes : public QuantizeBytes {};
TEST_P(SlowQuantizeBytes, AreThoseOfLlamaCpp) { compare(true); }

INSTANTIATE_TEST_SUITE_P(All, Quantize, testing::ValuesIn(test::fixture_names("quantize")),
                         [](const auto& entry) { return test::test_name(entry.param); });
INSTANTIATE_TEST_SUITE_P(All, QuantizeBytes, testing::Values("small", "odd", "moe4"),
                         [](const auto& entry) { return test::test_name(entry.param); });
INSTANTIATE_TEST_SUITE_P(Slow, SlowQuantizeBytes, testing::Values("odd", "shared", "moe8", "requantized"),
                         [](const auto& entry) { return test::test_name(entry.param); });

// A file with one matrix of those values.
Gguf one_matrix(const fs::path& path, const std::vector<float>& values, DType type, int64_t columns) {
    GgufWriter w;
    w.set("general.architecture", std::string("llama"));
    w.set("llama.block_count", uint32_t{1});
    w.add_f32("blk.0.ffn_up.weight", type, {columns, static_cast<int64_t>(values.size()) / columns}, values);
    w.write(path);
    return Gguf::open(path);
}

TEST(QuantizeRefuses, TheInputAsOutput) {
    const fs::path folder = fresh_folder("quantize-itself");
    const fs::path path = folder / "model.gguf";
    test::write_quantize_model("small", path);
    const std::string before = test::fnv1a(path);
    const Gguf input = Gguf::open(path);
    QuantizeOptions options;
    options.target = type_named("Q4_0");
    EXPECT_NE(refusal(input, path, options).find("is the file that is read"), std::string::npos);
    fs::create_symlink(path, folder / "link.gguf");
    EXPECT_NE(refusal(input, folder / "link.gguf", options).find("is the file that is read"), std::string::npos);
    EXPECT_EQ(test::fnv1a(path), before);
    EXPECT_NE(refusal(input, fs::path("/proc/model.gguf"), options).find("cannot be written"), std::string::npos);
}

TEST(QuantizeRefuses, ValuesThatTheTypeCannotHold) {
    const fs::path folder = fresh_folder("quantize-values");
    std::vector<float> values(64 * 40, 0.5f);
    QuantizeOptions options;
    options.threads = 3;
    values[64 * 33 + 5] = std::nanf("");
    const Gguf with_nan = one_matrix(folder / "in.gguf", values, DType::F32, 64);
    for (const char* type : {"Q8_0", "F16", "Q4_0", "BF16"}) {
        options.target = type_named(type);
        EXPECT_EQ(refusal(with_nan, folder / "out.gguf", options),
                  "tensor 'blk.0.ffn_up.weight': holds nan at row 33, column 5");
    }
    values[64 * 33 + 5] = 1e6f;
    const Gguf with_large = one_matrix(folder / "in2.gguf", values, DType::F32, 64);
    options.target = type_named("F16");
    EXPECT_NE(refusal(with_large, folder / "out.gguf", options).find("too large for the type"), std::string::npos);
    // Beyond what a lattice type holds, ggml would end the process.
    std::vector<float> wide(2 * 256, 1e6f);  // one row alone would be a vector, which stays f32
    const Gguf with_wide = one_matrix(folder / "in3.gguf", wide, DType::F32, 256);
    options.target = type_named("IQ3_S");
    EXPECT_EQ(refusal(with_wide, folder / "out.gguf", options),
              "tensor 'blk.0.ffn_up.weight': is too large for the type: it holds 1000000 at row 0, column 0");
    options.target = type_named("BF16");
    EXPECT_EQ(refusal(with_large, folder / "out.gguf", options), "written");
    fs::remove(folder / "out.gguf");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 3);
}

TEST(QuantizeRefuses, AMatrixThatIsQuantisedAlready) {
    const fs::path folder = fresh_folder("quantize-again");
    const Gguf input = Gguf::open(test::quantize_model("requantized"));
    QuantizeOptions options;
    options.target = type_named("Q4_K_M");
    EXPECT_NE(refusal(input, folder / "out.gguf", options).find("is quantised already (q8_0)"), std::string::npos);
    EXPECT_TRUE(fs::is_empty(folder));
    options.may_requantize = true;
    EXPECT_EQ(refusal(input, folder / "out.gguf", options), "written");
    // What keeps its type is no loss.
    options.may_requantize = false;
    options.target = type_named("Q8_0");
    EXPECT_EQ(refusal(input, folder / "out.gguf", options), "written");
}

TEST(QuantizeRefuses, WhatNeedsAnImportanceMatrix) {
    const fs::path folder = fresh_folder("quantize-importance");
    const Gguf input = Gguf::open(test::quantize_model("small"));
    QuantizeOptions options;
    for (const char* type : {"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "Q2_K_S"}) {
        options.target = type_named(type);
        EXPECT_NE(refusal(input, folder / "out.gguf", options).find("without an importance matrix"), std::string::npos)
            << type;
    }
    ImportanceMatrix matrix{"some.dat", test::random_importance("small"), {}, 0};
    matrix.weights.erase("blk.1.ffn_up.weight");
    options.importance = &matrix;
    EXPECT_EQ(refusal(input, folder / "out.gguf", options),
              "some.dat: says nothing of tensor 'blk.1.ffn_up.weight', which needs it to be written as q2_K");
    matrix.weights["blk.1.ffn_up.weight"] = {1.0f, 2.0f};
    EXPECT_EQ(refusal(input, folder / "out.gguf", options),
              "some.dat: has 2 values for tensor 'blk.1.ffn_up.weight', whose rows need 256");
    EXPECT_TRUE(fs::is_empty(folder));
}

TEST(QuantizeRefuses, ADiskThatFillsUpLeavesNothing) {
    const fs::path folder = fresh_folder("quantize-full");
    const Gguf input = Gguf::open(test::family_file("llama:f32"));
    const pid_t child = ::fork();
    if (child == 0) {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{1 << 17, 1 << 17};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        QuantizeOptions options;
        options.target = type_named("F16");
        const std::string told = refusal(input, folder / "out.gguf", options);
        ::_exit(told.find("nothing was changed") != std::string::npos && fs::is_empty(folder) ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(QuantizeResult, DependsNeitherOnThreadsNorOnStopping) {
    const fs::path folder = fresh_folder("quantize-threads");
    const Gguf input = Gguf::open(test::family_file("mixtral:f32"));
    QuantizeOptions options;
    options.target = type_named("Q4_K_M");
    uint64_t last = 0;
    options.progress = [&](uint64_t done, uint64_t total) {
        EXPECT_GE(done, last);
        EXPECT_LE(done, total);
        last = done;
    };
    const QuantizeReport report = quantize(input, folder / "1.gguf", options);
    EXPECT_EQ(last, report.bytes_before);
    options.threads = 7;
    last = 0;
    quantize(input, folder / "7.gguf", options);
    EXPECT_EQ(test::fnv1a(folder / "1.gguf"), test::fnv1a(folder / "7.gguf"));
    EXPECT_EQ(report.fallbacks(), 0U);
    uint64_t bytes = 0;
    const Gguf written = Gguf::open(folder / "1.gguf");
    for (const GgufTensor& tensor : written.tensors()) bytes += tensor.bytes.size();
    EXPECT_EQ(bytes, report.bytes_after);
    options.progress = [](uint64_t, uint64_t) { failure("stop"); };
    EXPECT_EQ(refusal(input, folder / "never.gguf", options), "stop");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 2);
}

// Rows that are no whole blocks, and what stands in: of the blocks of 32 where those fit, else f16.
TEST(QuantizeResult, FallbacksAreTold) {
    const Gguf input = Gguf::open(test::quantize_model("odd"));
    size_t f16 = 0, q5_0 = 0;
    for (const TypeChoice& choice : choose_types(input, *type_named("Q4_K_S"), false, false)) {
        if (choice.type == choice.wanted) continue;
        f16 += choice.type == DType::F16 ? 1 : 0;
        q5_0 += choice.type == DType::Q5_0 ? 1 : 0;
        EXPECT_NE(choice.tensor->ne[0] % block_elements(choice.wanted), 0);
    }
    EXPECT_EQ(f16, 8U);    // ffn_down, of 50 columns
    EXPECT_GT(q5_0, 30U);  // of 96
}

}  // namespace
}  // namespace toy
