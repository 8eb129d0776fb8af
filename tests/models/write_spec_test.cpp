// Spec -> keys -> Spec, for every family: the same Spec, in keys that llama.cpp knows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "core/error.h"
#include "core/random.h"
#include "models/family.h"
#include "models/spec_fields.h"
#include "models/weights.h"
#include "models/write_spec.h"
#include "support/family_models.h"
#include "support/oracle.h"

namespace toy {
namespace {

// What a file with these keys and the Spec's weights is read as.
Spec read_back(const Metadata& keys, const Spec& spec) {
    Decoder decoder = make_decoder(spec);
    std::map<std::string, int64_t, std::less<>> rows;
    for (const WeightEntry& weight : weight_table(decoder)) {
        rows[weight.name] = weight.shape.size() < 2 ? 1 : *(weight.shape.rbegin() + 1);
    }
    const SpecKeys spec_keys(keys, [&](std::string_view name) {
        const auto found = rows.find(name);
        return found == rows.end() ? std::nullopt : std::optional(found->second);
    });
    for (const Family* family : families()) {
        if (family->architecture == spec_keys.architecture()) return family->read(spec_keys);
    }
    throw std::runtime_error("no such family");
}

std::string refusal(const Spec& spec) {
    try {
        write_spec(spec);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::Kind::bad_input);
        return error.what();
    }
    return "written";
}

Spec spec_of(const std::string& model) { return read_spec(Gguf::open(test::family_file(model + ":q8_0"))); }

class WriteSpec : public testing::TestWithParam<std::string> {};

TEST_P(WriteSpec, ReadsBackEqual) {
    const Spec spec = spec_of(GetParam());
    const Metadata keys = write_spec(spec);
    EXPECT_EQ(keys.string("general.architecture"), spec.architecture);
    const Spec again = read_back(keys, spec);
    EXPECT_EQ(differing_fields(again, spec), std::vector<std::string>());
    EXPECT_TRUE(again == spec);
    // Nothing depends on where the Spec came from.
    EXPECT_EQ(write_spec(again).entries(), keys.entries());
}

// The fixtures' keys are known to be enough for llama.cpp, and right: what they say, the written keys must say as well.
TEST_P(WriteSpec, SaysWhatLlamaCppNeeds) {
    const test::FamilyModel model = test::family_model(GetParam());
    const Metadata keys = write_spec(spec_of(GetParam()));
    for (const auto& [key, value] : model.keys) {
        const bool is_unread = key == "rope.freq_base" || (key == "rope.scaling.original_context_length");
        const bool is_joint = model.name == "deepseek2-joint" && key.starts_with("attention.");
        const Value* written = keys.find(fmt::format("{}.{}", model.architecture, key));
        if ((is_unread && written == nullptr) || is_joint) continue;
        if (model.architecture.starts_with("mamba") && key == "attention.head_count_kv") continue;
        ASSERT_NE(written, nullptr) << key;
        if (const float* number = std::get_if<float>(&value)) {
            EXPECT_NEAR(*number, std::get<float>(*written), 1e-6 * *number) << key;
        } else {
            EXPECT_EQ(value, *written) << key;
        }
    }
}

// "layer[3].window" -> "layer.window"
std::string without_index(const std::string& name) {
    const size_t end = name.find(']');
    return end == name.npos ? name : "layer" + name.substr(end + 1);
}

struct Change {
    Random& random;
    template <class T>
    void operator()(T& field) const {
        if constexpr (std::is_same_v<T, std::string>) {
            field += "x";
        } else if constexpr (std::is_same_v<T, bool>) {
            field = !field;
        } else if constexpr (std::is_same_v<T, float>) {
            field = field * static_cast<float>(0.5 + random.uniform()) + 0.125f;
        } else if constexpr (std::is_enum_v<T>) {
            field = static_cast<T>((static_cast<int>(field) + 1) % 3);
        } else {
            field += static_cast<T>(1 + random.bits() % 3);
        }
    }
};

// One field changed at random, in one layer or in all: either the keys say it, or the sentence names the field.
TEST_P(WriteSpec, AChangedFieldIsWrittenOrNamed) {
    const Spec original = spec_of(GetParam());
    Random random(std::hash<std::string>{}(GetParam()));
    std::set<std::string> names;
    for_each_field(original, [&](const std::string& name, const auto&) { names.insert(without_index(name)); });
    for (const char* name : {"layers", "architecture", "state_space.version"}) names.erase(name);
    int written = 0;
    for (int round = 0; round < 80; ++round) {
        Spec spec = original;
        const auto chosen = std::next(names.begin(), static_cast<std::ptrdiff_t>(random.bits() % names.size()));
        const bool everywhere = random.bits() % 4 != 0;
        const Change change{random};
        for_each_field(spec, [&](const std::string& name, auto& field) {
            if (without_index(name) == *chosen && (everywhere || !name.starts_with("layer[") || name[6] == '0')) {
                Random same(static_cast<uint64_t>(round));  // all layers alike
                everywhere ? Change{same}(field) : change(field);
            }
        });
        const std::string told = refusal(spec);
        if (told != "written") {
            EXPECT_NE(told.find(spec.architecture), std::string::npos) << *chosen << ": " << told;
            EXPECT_EQ(told.find('\n'), std::string::npos);
            continue;
        }
        ++written;
        Spec again = read_back(write_spec(spec), spec);
        again.architecture = spec.architecture;  // another family may have taken it
        EXPECT_EQ(differing_fields(again, spec), std::vector<std::string>()) << *chosen;
    }
    EXPECT_GT(written, 5);
}

std::vector<std::string> models(bool are_slow) {
    std::vector<std::string> names = test::family_model_names();
    std::erase_if(names, [&](const std::string& name) { return test::is_slow_family(name) != are_slow; });
    return names;
}

INSTANTIATE_TEST_SUITE_P(All, WriteSpec, testing::ValuesIn(models(false)),
                         [](const auto& entry) { return test::test_name(entry.param); });
INSTANTIATE_TEST_SUITE_P(Slow, WriteSpec, testing::ValuesIn(models(true)),
                         [](const auto& entry) { return test::test_name(entry.param); });

TEST(WriteSpecOfNoFamily, TakesTheFirstFamilyThatSaysIt) {
    Spec spec = spec_of("qwen3");
    spec.architecture = "toy";
    EXPECT_EQ(write_spec(spec).string("general.architecture"), "qwen3");
    spec = spec_of("llama");
    spec.architecture = "";
    EXPECT_EQ(write_spec(spec).string("general.architecture"), "llama");
    spec.qk_norm = QkNorm::per_head;  // with rope order "normal" no family has that
    EXPECT_NE(refusal(spec).find("llama differs in qk_norm"), std::string::npos) << refusal(spec);
}

TEST(WriteSpecOfNoFamily, NamesWhatDiffers) {
    Spec spec = spec_of("gemma2");
    spec.final_softcap = -1.0f;
    spec.embed_scale = 3.0f;
    EXPECT_EQ(refusal(spec), "no GGUF architecture describes this model: gemma2 differs in embed_scale");
    spec.layer.pop_back();
    EXPECT_NE(refusal(spec).find("describes"), std::string::npos);
}

// A float whose inverse is stored: every one that a file can say comes back with the same bits.
TEST(WriteSpecOfNoFamily, InversesAreExact) {
    Spec spec = spec_of("granite");
    Random random(7);
    for (int i = 0; i < 200; ++i) {
        spec.logit_scale = 1.0f / static_cast<float>(0.1 + 30.0 * random.uniform());
        EXPECT_TRUE(read_back(write_spec(spec), spec) == spec) << spec.logit_scale;
    }
}

}  // namespace
}  // namespace toy
