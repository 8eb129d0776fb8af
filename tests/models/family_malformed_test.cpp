// Files of every family with one thing wrong: a tensor that is absent or of another shape, a key that is absent or out
// of range. Each is refused with a sentence that names the tensor or the key, or it is one that the model can do
// without.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "models/model.h"
#include "support/family_models.h"
#include "support/oracle.h"
#include "support/random_model.h"

namespace toy {
namespace {

// What is wrong with the model, or nothing where it loads.
std::string problem(const test::FamilyModel& model) {
    const std::filesystem::path path = test::models_folder() / (model.name + "-changed.gguf");
    test::write_family_model(model, DType::Q8_0, path);
    try {
        Model::load(path, Device::cpu());
        return "";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::Kind::bad_input) << error.what();
        return error.what();
    }
}

class FamilyMalformed : public testing::TestWithParam<std::string> {
 protected:
    const test::FamilyModel model = test::with_two_blocks(test::family_model(GetParam()));
};

TEST_P(FamilyMalformed, TwoBlocksLoad) { EXPECT_EQ(problem(model), ""); }

TEST_P(FamilyMalformed, AnAbsentTensorIsNamed) {
    for (size_t i = 0; i < model.weights.size(); ++i) {
        const std::string& name = model.weights[i].name;
        // What block 0 has, all have; a head may be tied; a file without such factors has no scaling.
        if (name.starts_with("blk.0.") || name == "output.weight" || name == "rope_freqs.weight" ||
            name == "token_types.weight") {
            continue;
        }
        test::FamilyModel changed = model;
        changed.weights.erase(changed.weights.begin() + static_cast<std::ptrdiff_t>(i));
        // Where neither layout of latent attention is there, the one of today is asked for.
        const std::string missing = name == "blk.1.attn_kv_b.weight" ? "blk.1.attn_k_b.weight" : name;
        EXPECT_NE(problem(changed).find(missing.substr(0, missing.rfind('.'))), std::string::npos)
            << name << ": " << problem(changed);
    }
}

TEST_P(FamilyMalformed, ATensorOfAnotherShapeIsNamed) {
    for (size_t i = 0; i < model.weights.size(); ++i) {
        const std::string& name = model.weights[i].name;
        // There may be any number of token types.
        if (name.starts_with("blk.0.") || name == "token_types.weight") continue;
        test::FamilyModel changed = model;
        changed.weights[i].shape.front() += 1;
        const std::string told = problem(changed);
        EXPECT_NE(told.find(name), std::string::npos) << name << ": " << told;
    }
}

TEST_P(FamilyMalformed, AKeyThatIsAbsentOrWrongIsNamedOrNotNeeded) {
    for (size_t i = 0; i < model.keys.size(); ++i) {
        const std::string& key = model.keys[i].first;
        test::FamilyModel changed = model;
        changed.keys.erase(changed.keys.begin() + static_cast<std::ptrdiff_t>(i));
        std::vector<std::string> told = {problem(changed)};
        if (!std::holds_alternative<uint32_t>(model.keys[i].second)) continue;
        for (uint32_t wrong : {0u, 1u, 7u, 0x7FFFFFFFu, 0xFFFFFFFFu}) {
            changed = model;
            changed.keys[i].second = wrong;
            told.push_back(problem(changed));
        }
        for (const std::string& sentence : told) {
            // Sizes also show as tensors of another shape.
            EXPECT_TRUE(sentence.empty() || sentence.find(key) != std::string::npos ||
                        sentence.find("tensor '") != std::string::npos ||
                        sentence.find(fmt::format("{}.", model.architecture)) != std::string::npos)
                << key << ": " << sentence;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, FamilyMalformed, testing::ValuesIn(test::family_model_names()),
                         [](const auto& test) { return test::test_name(test.param); });

}  // namespace
}  // namespace toy
