// Every handcrafted file of llama.cpp's tests/test-gguf.cpp (v0.5.0), by its name there, with the outcome that its
// expect_context_not_null demands. Files of the groups HEADER, KV and TENSORS end before any tensor data: llama.cpp
// reads them without data, so do we with open_header; open itself then demands the data.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>

#include "core/error.h"
#include "core/temp_folder.h"
#include "io/gguf.h"
#include "raw_gguf.h"
#include "reference_reader.h"

namespace toy {
namespace {

struct Key {
    std::string name;
    uint32_t type;
    std::string payload;
    std::optional<uint64_t> claimed_length;
};

struct PlannedTensor {
    std::string name;
    std::vector<int64_t> ne;
    int32_t type;
    std::optional<uint64_t> offset;  // else where the tensor belongs
    std::optional<uint32_t> axes;    // else as many as ne has
};

/// A valid file of random content that a case then spoils.
struct Plan {
    std::string magic = "GGUF";
    uint32_t version = 3;
    std::optional<uint64_t> n_tensors;
    std::optional<uint64_t> n_keys;
    std::vector<Key> keys;
    std::vector<PlannedTensor> tensors;
    uint32_t alignment = 32;
    int64_t data_bytes = 0;  // beyond the planned data
    bool with_data = false;

    void declare_alignment(ValueType type, uint32_t value) {
        keys.push_back({"general.alignment", static_cast<uint32_t>(type), RawGguf().put(value).bytes, {}});
    }
};

constexpr size_t k_payload_bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};  // by code; strings and arrays differ

std::string random_bytes(std::mt19937& random, size_t count) {
    std::string bytes(count, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
}

/// Random bytes serve as every type: bools are any byte, strings need not be UTF-8.
Key random_key(std::mt19937& random, size_t number) {
    const auto type = static_cast<uint32_t>(random() % 13);
    RawGguf payload;
    if (type == static_cast<uint32_t>(ValueType::string)) {
        payload.text(random_bytes(random, random() % 64));
    } else if (type == static_cast<uint32_t>(ValueType::array)) {
        auto element = static_cast<uint32_t>(random() % 13);
        if (element == static_cast<uint32_t>(ValueType::array)) element = 0;
        const uint64_t count = random() % 17;
        payload.put(element).length(count);
        for (uint64_t i = 0; i < count; ++i) {
            if (element == static_cast<uint32_t>(ValueType::string)) payload.text(random_bytes(random, random() % 5));
            payload.bytes += random_bytes(random, k_payload_bytes[element]);
        }
    } else {
        payload.bytes = random_bytes(random, k_payload_bytes[type]);
    }
    return {"my_key_" + std::to_string(number), type, payload.bytes, {}};
}

PlannedTensor random_tensor(std::mt19937& random, size_t number) {
    const DType type = all_dtypes()[random() % all_dtypes().size()];
    std::vector<int64_t> ne(1 + random() % 4);
    for (int64_t& n : ne) n = 1 + random() % 10;
    ne[0] *= block_elements(type);
    return {"my_tensor_" + std::to_string(number), ne, static_cast<int32_t>(type), {}, {}};
}

Plan header_plan(std::mt19937&) { return {}; }

Plan keys_plan(std::mt19937& random) {
    Plan plan;
    for (size_t i = 0; i < 50; ++i) plan.keys.push_back(random_key(random, i));
    return plan;
}

Plan tensors_plan(std::mt19937& random) {
    Plan plan = keys_plan(random);
    for (size_t i = 0; i < 50; ++i) plan.tensors.push_back(random_tensor(random, i));
    // Not a multiple of 32 bytes, so that offsets of another alignment stand out; and the last tensor fills its
    // padding, so that a missing byte is one of data.
    plan.tensors.front() = {"my_tensor_0", {5}, static_cast<int32_t>(DType::I8), {}, {}};
    plan.tensors.back() = {"my_tensor_49", {32}, static_cast<int32_t>(DType::I8), {}, {}};
    return plan;
}

Plan data_plan(std::mt19937& random) {
    Plan plan = tensors_plan(random);
    plan.with_data = true;
    return plan;
}

/// Also of nonsense, where it wraps as llama.cpp's test does.
uint64_t bytes_of(const PlannedTensor& tensor) {
    const auto type = dtype_from_code(tensor.type);
    if (!type) return 0;
    uint64_t bytes = static_cast<uint64_t>(tensor.ne[0] / block_elements(*type)) * block_bytes(*type);
    for (size_t axis = 1; axis < tensor.ne.size(); ++axis) bytes *= static_cast<uint64_t>(tensor.ne[axis]);
    return bytes;
}

std::string build(const Plan& plan) {
    RawGguf raw;
    raw.bytes = plan.magic;
    raw.put(plan.version).put(plan.n_tensors.value_or(plan.tensors.size())).put(plan.n_keys.value_or(plan.keys.size()));
    for (const Key& key : plan.keys) {
        raw.put(key.claimed_length.value_or(key.name.size()));
        raw.bytes += key.name;
        raw.put(key.type).bytes += key.payload;
    }
    uint64_t offset = 0;
    for (const PlannedTensor& tensor : plan.tensors) {
        raw.text(tensor.name).put(tensor.axes.value_or(static_cast<uint32_t>(tensor.ne.size())));
        for (const int64_t n : tensor.ne) raw.put(n);
        raw.put(tensor.type).put(tensor.offset.value_or(offset));
        offset += (bytes_of(tensor) + plan.alignment - 1) / plan.alignment * plan.alignment;
    }
    raw.pad(plan.alignment);
    if (plan.with_data) raw.zeros(static_cast<size_t>(static_cast<int64_t>(offset) + plan.data_bytes));
    return raw.bytes;
}

struct Case {
    const char* name;
    Plan (*valid)(std::mt19937&);
    bool loads;
    std::function<void(Plan&)> change;
    const char* sentence = "";  // part of the refusal
};

void each_tensor(Plan& plan, const std::function<void(PlannedTensor&)>& change) {
    for (PlannedTensor& tensor : plan.tensors) change(tensor);
}

constexpr int64_t k_huge = 0x7FFFFFFFFFFFFFC0;  // two of these wrap a 64-bit size

const Case k_cases[] = {
    {"HEADER_BAD_MAGIC", header_plan, false, [](Plan& p) { p.magic = "FUGG"; }, "starts with 'FUGG'"},
    {"HEADER_BAD_VERSION_0", header_plan, false, [](Plan& p) { p.version = 0; }, "has GGUF version 0"},
    {"HEADER_BAD_VERSION_1", header_plan, false, [](Plan& p) { p.version = 1; }, "is GGUF version 1"},
    {"HEADER_BAD_VERSION_FUTURE", header_plan, false, [](Plan& p) { p.version = 4; }, "has GGUF version 4"},
    {"HEADER_BAD_N_TENSORS", header_plan, false, [](Plan& p) { p.n_tensors = -1; }, "the number of tensors"},
    {"HEADER_BAD_N_KV", header_plan, false, [](Plan& p) { p.n_keys = -1; }, "the number of keys"},
    {"HEADER_EMPTY", header_plan, true, [](Plan&) {}},

    {"KV_BAD_KEY_SIZE", keys_plan, false,
     [](Plan& p) {
         for (Key& key : p.keys) key.claimed_length = -1;
     },
     "key number 1 at byte 32 takes 18446744073709551615 bytes"},
    {"KV_EMPTY_KEY", keys_plan, false, [](Plan& p) { p.keys[7].name = ""; }, "key number 8 at byte"},
    {"KV_BAD_TYPE", keys_plan, false, [](Plan& p) { p.keys[7].type = 13; }, "unknown value type 13"},
    {"KV_DUPLICATE_KEY", keys_plan, false, [](Plan& p) { p.keys[7].name = "my_key_3"; }, "key 'my_key_3' occurs twice"},
    {"KV_BAD_ALIGN", keys_plan, false, [](Plan& p) { p.declare_alignment(ValueType::u32, 13); }, "not a power of two"},
    {"KV_WRONG_TYPE_ALIGN", keys_plan, false, [](Plan& p) { p.declare_alignment(ValueType::i32, 32); }, "expected u32"},
    {"KV_SUCCESS", keys_plan, true, [](Plan&) {}},

    {"TENSORS_BAD_NAME_SIZE", tensors_plan, false,
     [](Plan& p) { p.tensors[3].name = "a_name_which_is_longer_than_what_is_allowed_for_ggml_tensors_by_1"; },
     "the name of tensor number 4"},
    {"TENSORS_BAD_N_DIMS", tensors_plan, false, [](Plan& p) { p.tensors[3].axes = 5; }, "has 5 axes"},
    {"TENSORS_BAD_SHAPE", tensors_plan, false,
     [](Plan& p) {
         p.tensors[3].ne = {-1, -1};
     },
     "negative"},
    {"TENSORS_ZERO_DIM", tensors_plan, true,
     [](Plan& p) { each_tensor(p, [](PlannedTensor& tensor) {
                       tensor.ne = {tensor.ne[0], 0};
                   }); }},
    {"TENSORS_NE_TOO_BIG", tensors_plan, false,
     [](Plan& p) {
         constexpr int64_t n = 4 * int64_t{std::numeric_limits<int32_t>::max()};
         each_tensor(p, [](PlannedTensor& tensor) { tensor.ne = {n, n}; });
     },
     ""},
    {"TENSORS_NBYTES_TOO_BIG", tensors_plan, false,
     [](Plan& p) {
         each_tensor(p, [](PlannedTensor& tensor) {
             tensor.type = static_cast<int32_t>(DType::I64);
             tensor.ne = {1518500251, 1518500251};  // the elements fit 64 bits, the bytes do not
         });
     },
     "too large to address"},
    {"TENSORS_BAD_TYPE", tensors_plan, false, [](Plan& p) { p.tensors[3].type = 43; }, "type 43"},
    {"TENSORS_BAD_OFFSET", tensors_plan, false, [](Plan& p) { p.tensors[3].offset = -1; }, "has offset"},
    {"TENSORS_DUPLICATE_NAME", tensors_plan, false, [](Plan& p) { p.tensors[3].name = "my_tensor_1"; },
     "the name of tensor number 4, 'my_tensor_1', occurs before, as number 2"},
    {"TENSORS_BAD_ALIGN", tensors_plan, false, [](Plan& p) { p.declare_alignment(ValueType::u32, 13); },
     "power of two"},
    {"TENSORS_INCONSISTENT_ALIGN", tensors_plan, false, [](Plan& p) { p.alignment = 1; }, "has offset 5"},
    {"TENSORS_SUCCESS", tensors_plan, true, [](Plan&) {}},
    {"TENSORS_CUSTOM_ALIGN", tensors_plan, true,
     [](Plan& p) {
         p.declare_alignment(ValueType::u32, 1);
         p.alignment = 1;
     }},

    {"DATA_NOT_ENOUGH_DATA", data_plan, false, [](Plan& p) { p.data_bytes = -1; }, "'my_tensor_49'"},
    {"DATA_BAD_ALIGN", data_plan, false, [](Plan& p) { p.declare_alignment(ValueType::u32, 13); },
     "not a power of two"},
    {"DATA_INCONSISTENT_ALIGN", data_plan, false, [](Plan& p) { p.alignment = 1; }, "it is not aligned"},
    {"DATA_MEM_SIZE_OVERFLOW", data_plan, false,
     [](Plan& p) {
         p.tensors.resize(2);
         each_tensor(p, [](PlannedTensor& tensor) {
             tensor.type = static_cast<int32_t>(DType::I8);
             tensor.ne = {k_huge};
         });
         p.with_data = false;
     },
     "ends beyond 2^63 bytes"},
    {"DATA_SUCCESS", data_plan, true, [](Plan&) {}},
    {"DATA_CUSTOM_ALIGN", data_plan, true,
     [](Plan& p) {
         p.declare_alignment(ValueType::u32, 1);
         p.alignment = 1;
     }},
};

/// The refusal, or "" where the file loads.
std::string refusal(const std::filesystem::path& path, Gguf (*open)(const std::filesystem::path&)) {
    try {
        open(path);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::Kind::bad_input);
        EXPECT_TRUE(std::string(error.what()).starts_with(path.native() + ": ")) << error.what();
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
        return error.what();
    }
    return "";
}

class Handcrafted : public testing::TestWithParam<Case> {};

TEST_P(Handcrafted, HasLlamaCppsOutcome) {
    const Case& c = GetParam();
    const TempFolder folder;
    for (unsigned seed = 0; seed < 10; ++seed) {
        std::mt19937 random(seed);
        Plan plan = c.valid(random);
        c.change(plan);
        const bool data_is_judged = std::string_view(c.name).starts_with("DATA_");
        const auto path = folder.file("model.gguf", build(plan));
        const std::string said = refusal(path, data_is_judged ? Gguf::open : Gguf::open_header);
        ASSERT_EQ(said.empty(), c.loads) << said;
        EXPECT_NE(said.find(c.sentence), std::string::npos) << said;
        EXPECT_EQ(ggml_loads(path, data_is_judged), c.loads) << "ggml's own reader disagrees";
        EXPECT_TRUE(c.loads || !refusal(path, Gguf::open).empty());
    }
}

INSTANTIATE_TEST_SUITE_P(Gguf, Handcrafted, testing::ValuesIn(k_cases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(GgufHandcrafted, ContentsAreWhatWasWritten) {
    std::mt19937 random(1);
    const Plan plan = data_plan(random);
    const TempFolder folder;
    const Gguf gguf = Gguf::open(folder.file("model.gguf", build(plan)));
    EXPECT_EQ(gguf.version(), 3U);
    EXPECT_EQ(gguf.alignment(), 32U);
    ASSERT_EQ(gguf.metadata().entries().size(), plan.keys.size());
    for (size_t i = 0; i < plan.keys.size(); ++i) {
        EXPECT_EQ(gguf.metadata().entries()[i].first, plan.keys[i].name);
        EXPECT_EQ(static_cast<uint32_t>(type_of(gguf.metadata().entries()[i].second)), plan.keys[i].type);
    }
    ASSERT_EQ(gguf.tensors().size(), plan.tensors.size());
    for (const PlannedTensor& planned : plan.tensors) {
        const GgufTensor* tensor = gguf.find(planned.name);
        ASSERT_NE(tensor, nullptr);
        EXPECT_EQ(tensor->rank, static_cast<int>(planned.ne.size()));
        EXPECT_EQ(static_cast<int32_t>(tensor->type), planned.type);
        EXPECT_EQ(tensor->bytes.size(), bytes_of(planned));
        EXPECT_EQ(tensor->offset % 32, 0U);
    }
    EXPECT_EQ(gguf.find("my_tensor"), nullptr);
    EXPECT_EQ(gguf.find("zzz"), nullptr);
}

TEST(GgufHandcrafted, OpenDemandsTheDataThatOpenHeaderDoesWithout) {
    std::mt19937 random(1);
    const TempFolder folder;
    const auto path = folder.file("model.gguf", build(tensors_plan(random)));
    EXPECT_NE(refusal(path, Gguf::open).find("ends beyond the file"), std::string::npos);
    const Gguf header = Gguf::open_header(path);
    for (const GgufTensor& tensor : header.tensors()) EXPECT_TRUE(tensor.bytes.empty());
}

}  // namespace
}  // namespace toy
