// Memory and time stay within bounds whatever the header claims.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>

#include "core/error.h"
#include "core/temp_folder.h"
#include "io/gguf.h"
#include "io/gguf_header.h"
#include "io/gguf_writer.h"
#include "raw_gguf.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TOY_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TOY_SANITIZED 1
#endif
#endif

namespace toy {
namespace {

#ifdef TOY_SANITIZED
constexpr double k_fast_ms = 30000;
#else
constexpr double k_fast_ms = 3000;  // what no quadratic check would meet, but any machine does
#endif

enum class Outcome { loaded, refused, out_of_memory, died };

/// Opens the file in a child that may take only `bytes` more of private memory than it has.
Outcome open_within(const std::filesystem::path& path, size_t bytes) {
    const pid_t child = ::fork();
    if (child == 0) {
        std::ifstream statm("/proc/self/statm");
        size_t pages[6] = {};
        for (size_t& count : pages) statm >> count;
        const size_t have = pages[5] * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
        const rlimit limit{have + bytes, have + bytes};  // private memory only: the mapped file does not count
        ::setrlimit(RLIMIT_DATA, &limit);
        Outcome outcome = Outcome::loaded;
        try {
            Gguf::open(path);
        } catch (const Error&) {
            outcome = Outcome::refused;
        } catch (const std::bad_alloc&) {
            outcome = Outcome::out_of_memory;
        }
        ::_exit(static_cast<int>(outcome));
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? static_cast<Outcome>(WEXITSTATUS(status)) : Outcome::died;
}

class GgufMemory : public testing::Test {
 protected:
    void SetUp() override {
#ifdef TOY_SANITIZED
        GTEST_SKIP() << "a sanitizer's own memory would count against the limit; the release build runs this test";
#endif
    }
    TempFolder folder_;
    Outcome within_1_mib(const RawGguf& raw) { return open_within(folder_.file("model.gguf", raw.bytes), 1 << 20); }
};

TEST_F(GgufMemory, ClaimedCountsOfTensorsAllocateNothing) {  // CVE-2024-23496, ggml/709
    for (const uint64_t count :
         {uint64_t{1} << 19, uint64_t{1} << 20, uint64_t{1} << 40, uint64_t{1} << 61, ~uint64_t{0}}) {
        EXPECT_EQ(within_1_mib(RawGguf().header(count, 0).zeros(64)), Outcome::refused) << count;
        EXPECT_EQ(within_1_mib(RawGguf().header(0, count).zeros(64)), Outcome::refused) << count;
    }
}

TEST_F(GgufMemory, ClaimedLengthsOfStringsAndArraysAllocateNothing) {  // lcpp#14595, lcpp#19856
    for (const uint64_t length : {uint64_t{1} << 25, uint64_t{1} << 32, (uint64_t{1} << 61) + 1, ~uint64_t{0}}) {
        EXPECT_EQ(within_1_mib(RawGguf().header(0, 1).length(length).zeros(64)), Outcome::refused) << length;
        RawGguf string;
        string.header(0, 1).key("s", ValueType::string).length(length).zeros(64);
        EXPECT_EQ(within_1_mib(string), Outcome::refused) << length;
        for (const ValueType type : {ValueType::u8, ValueType::f64, ValueType::boolean, ValueType::string}) {
            RawGguf array;
            array.header(0, 1).array("a", type, length).zeros(64);
            EXPECT_EQ(within_1_mib(array), Outcome::refused) << length << " of " << name(type);
        }
    }
}

TEST_F(GgufMemory, ASparseFileOfAnySizeIsHeldToTheHeaderLimit) {
    RawGguf raw;
    raw.header(0, 1).array("zeros", ValueType::u8, uint64_t{1} << 33);
    const auto path = folder_.file("model.gguf", raw.bytes);
    std::filesystem::resize_file(path, uint64_t{1} << 34);
    EXPECT_EQ(open_within(path, 1 << 20), Outcome::refused);
    try {
        Gguf::open(path);
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("a header may take 268435456 in all"), std::string::npos)
            << error.what();
    }
}

TEST_F(GgufMemory, EmptyStringsTakeAFewTimesTheirBytes) {
    constexpr uint64_t k_count = 1 << 20;  // 8 MiB of lengths in the file, 32 MiB of strings in memory
    RawGguf raw;
    raw.header(0, 1).array("empty", ValueType::string, k_count).zeros(k_count * 8);
    const auto path = folder_.file("model.gguf", raw.bytes);
    EXPECT_EQ(open_within(path, 5 * k_count * 8), Outcome::loaded);
    EXPECT_EQ(open_within(path, k_count * 8), Outcome::out_of_memory);  // the limit does bite
}

TEST(GgufSpeed, AVocabularyOf262144TokensOpensFast) {
    // lcpp#19919: checks once made loading slow. Measured: 19 ms (release, 262,144 tokens and 524,288 merges).
    std::vector<std::string> tokens(262144);
    std::vector<std::string> merges(524288);
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = "token" + std::to_string(i);
    for (size_t i = 0; i < merges.size(); ++i) merges[i] = "left" + std::to_string(i) + " right" + std::to_string(i);
    const TempFolder folder;
    GgufWriter()
        .set("general.architecture", "llama")
        .set("tokenizer.ggml.tokens", Array(tokens))
        .set("tokenizer.ggml.scores", Array(std::vector<float>(tokens.size())))
        .set("tokenizer.ggml.token_type", Array(std::vector<int32_t>(tokens.size())))
        .set("tokenizer.ggml.merges", Array(merges))
        .write(folder / "vocabulary.gguf");
    const auto start = std::chrono::steady_clock::now();
    const Gguf gguf = Gguf::open(folder / "vocabulary.gguf");
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(gguf.metadata().strings("tokenizer.ggml.merges"), merges);
    RecordProperty("milliseconds", std::to_string(took.count()));
    EXPECT_LT(took.count(), k_fast_ms);
}

TEST(GgufSpeed, ManyKeysAndTensorsOpenInLinearTime) {  // lcpp#19919: ggml compares each name with all before it
    constexpr uint64_t k_keys = 65536;
    constexpr uint64_t k_tensors = 100000;
    RawGguf raw;
    raw.header(k_tensors, k_keys);
    for (uint64_t i = 0; i < k_keys; ++i) raw.key("key." + std::to_string(i), ValueType::u8).put(uint8_t{1});
    for (uint64_t i = 0; i < k_tensors; ++i) raw.tensor("tensor." + std::to_string(i), {8}, 0, i * 32);
    raw.pad().zeros(k_tensors * 32);
    const TempFolder folder;
    const auto path = folder.file("model.gguf", raw.bytes);
    const auto start = std::chrono::steady_clock::now();
    const Gguf gguf = Gguf::open(path);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(gguf.find("tensor.99999")->offset % 32, 0U);
    RecordProperty("milliseconds", std::to_string(took.count()));
    EXPECT_LT(took.count(), k_fast_ms);
}

TEST(GgufLimits, CountsBeyondTheLimitsAreRefused) {
    const TempFolder folder;
    const auto sentence = [&](uint64_t tensors, uint64_t keys, uint64_t size) -> std::string {
        const auto path = folder.file("model.gguf", RawGguf().header(tensors, keys).bytes);
        std::filesystem::resize_file(path, size);
        try {
            Gguf::open(path);
        } catch (const Error& error) {
            return error.what();
        }
        return "loaded";
    };
    const uint64_t roomy = uint64_t{1} << 30;  // sparse: room enough for all that is claimed
    EXPECT_NE(sentence(k_gguf_max_tensors + 1, 0, roomy).find("at most 1048576 are read"), std::string::npos);
    EXPECT_NE(sentence(0, k_gguf_max_keys + 1, roomy).find("at most 65536 are read"), std::string::npos);
    EXPECT_NE(sentence(k_gguf_max_tensors, 0, roomy).find("the name of tensor number 1 at byte 24"), std::string::npos);
    const char* too_many = "is 50, more than its 1000 remaining bytes can hold";
    EXPECT_NE(sentence(50, 0, 16 + 1000).find(too_many), std::string::npos) << sentence(50, 0, 16 + 1000);
    EXPECT_NE(sentence(0, 90, 24 + 1000).find("is 90, more than its 1000 remaining"), std::string::npos);
}

}  // namespace
}  // namespace toy
