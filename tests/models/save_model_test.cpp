// A model that is written and loaded again is the same model.
#include "models/save_model.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "core/error.h"
#include "engine/embedder.h"
#include "engine/full_sequence.h"
#include "models/model.h"
#include "support/family_models.h"
#include "support/oracle.h"
#include "support/random_model.h"

namespace toy {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

fs::path fresh_folder(const std::string& name) {
    const fs::path folder = test::models_folder() / name;
    fs::remove_all(folder);
    fs::create_directory(folder);
    return folder;
}

size_t entries(const fs::path& folder) {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

std::string refusal(const fs::path& path, const Model& model, SaveOptions options = {}) {
    if (options.tokenizer == nullptr) options.tokenizer = &model.file.metadata();
    try {
        save_model(path, model.decoder, options);
    } catch (const Error& error) {
        return error.what();
    }
    return "written";
}

std::vector<float> results(const std::shared_ptr<const Model>& model) {
    const std::vector<int32_t> ids = test::random_tokens(model->spec().vocabulary, 20);
    if (!model->spec().has_head) return Embedder(model, Device::cpu(), {.threads = 1}).states({&ids, 1}).front();
    Runner runner(Device::cpu(), 1);
    return full_logits(*model, runner, ids);
}

class SaveModel : public testing::TestWithParam<std::string> {};

TEST_P(SaveModel, LoadsAgainWithTheSameResults) {
    const auto model = Model::load(test::family_file(GetParam()), Device::cpu());
    const fs::path folder = fresh_folder("save");
    const SaveOptions options{{}, &model->file.metadata()};
    save_model(folder / "a.gguf", model->decoder, options);
    const auto again = Model::load(folder / "a.gguf", Device::cpu());
    EXPECT_TRUE(again->spec() == model->spec());
    EXPECT_EQ(again->parameter_count(), model->parameter_count());
    EXPECT_EQ(results(again), results(model));
    for (const auto& [key, value] : model->file.metadata().entries()) {
        if (key.starts_with("tokenizer.")) {
            EXPECT_TRUE(again->file.metadata().has(key)) << key;
            EXPECT_EQ(*again->file.metadata().find(key), value) << key;
        }
    }
    // The same bytes each time, and from the file itself.
    save_model(folder / "b.gguf", model->decoder, options);
    save_model(folder / "c.gguf", again->decoder, {{}, &again->file.metadata()});
    EXPECT_EQ(bytes_of(folder / "a.gguf"), bytes_of(folder / "b.gguf"));
    EXPECT_EQ(bytes_of(folder / "a.gguf"), bytes_of(folder / "c.gguf"));
    fs::remove_all(folder);
}

std::vector<std::string> small_families() {
    std::vector<std::string> names;
    for (const std::string& name : test::family_model_names()) {
        if (!test::is_slow_family(name)) names.push_back(name + ":q8_0");
    }
    names.insert(names.end(), {"llama:f16", "mixtral:q4_k", "gemma2:bf16"});
    return names;
}

INSTANTIATE_TEST_SUITE_P(All, SaveModel, testing::ValuesIn(small_families()),
                         [](const auto& entry) { return test::test_name(entry.param); });
INSTANTIATE_TEST_SUITE_P(Slow, SaveModel, testing::Values("deepseek2:q8_0", "deepseek2-joint:q8_0", "gemma2-27b:q8_0"),
                         [](const auto& entry) { return test::test_name(entry.param); });

TEST(SavedModel, TypesAndKeysAreThoseAskedFor) {
    const auto model = Model::load(test::family_file("llama:f32"), Device::cpu());
    const fs::path folder = fresh_folder("save-types");
    SaveOptions options{
        [](const WeightEntry& weight) { return weight.name == "token_embd.weight" ? DType::F16 : DType::Q4_K; },
        &model->file.metadata()};
    options.extra.set("general.license", std::string("mit"));
    options.extra.set("general.name", std::string("Tiny"));
    save_model(folder / "out.gguf", model->decoder, options);
    const auto written = Model::load(folder / "out.gguf", Device::cpu());
    EXPECT_EQ(written->spec().name, "Tiny");
    const Gguf& file = written->file;
    EXPECT_EQ(file.metadata().string("general.license"), "mit");
    EXPECT_EQ(file.metadata().integer("general.quantization_version"), 2);
    EXPECT_EQ(file.metadata().integer("general.file_type"), 14);
    EXPECT_EQ(file.find("token_embd.weight")->type, DType::F16);
    EXPECT_EQ(file.find("blk.1.ffn_down.weight")->type, DType::Q4_K);
    EXPECT_EQ(file.find("output_norm.weight")->type, DType::F32);
    // Rounded as the quantiser of the tests' models rounds.
    const Gguf other = Gguf::open(test::family_file("llama:q4_k"));
    const auto same = [&](const char* name) {
        return std::equal(file.find(name)->bytes.begin(), file.find(name)->bytes.end(),
                          other.find(name)->bytes.begin());
    };
    EXPECT_TRUE(same("blk.1.ffn_down.weight"));
    EXPECT_TRUE(same("blk.0.attn_norm.weight"));
}

TEST(SavedModel, WhatCannotBeWrittenIsNamed) {
    const auto model = Model::load(test::family_file("llama:f32"), Device::cpu());
    const fs::path folder = fresh_folder("save-refused");
    const SaveOptions importance{[](const WeightEntry&) { return DType::IQ2_XS; }, nullptr};
    EXPECT_NE(refusal(folder / "out.gguf", *model, importance).find("importance matrix"), std::string::npos);
    Metadata tokenizer("words");
    tokenizer.set("tokenizer.ggml.tokens", Array(std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(refusal(folder / "out.gguf", *model, {{}, &tokenizer}),
              "words: the tokenizer has 2 tokens, but the model 512");
    EXPECT_NE(refusal(model->file.path(), *model).find("is the file that the model comes from"), std::string::npos);
    EXPECT_NE(refusal(folder / "none" / "out.gguf", *model).find("does not exist"), std::string::npos);
    EXPECT_EQ(entries(folder), 0U);
    // The file that it comes from is as it was.
    EXPECT_EQ(results(Model::load(test::family_file("llama:f32"), Device::cpu())), results(model));
}

// traps.md: a disk that fills up. A limit of the file's size stands in for it: both refuse a write half way.
TEST(SavedModel, ADiskThatFillsUpLeavesNothing) {
    const auto model = Model::load(test::family_file("llama:f32"), Device::cpu());
    const fs::path folder = fresh_folder("save-full");
    const pid_t child = ::fork();
    if (child == 0) {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{1 << 19, 1 << 19};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        const std::string told = refusal(folder / "out.gguf", *model);
        ::_exit(told.find("nothing was changed") != std::string::npos && entries(folder) == 0 ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(entries(folder), 0U);
}

TEST(SavedModel, AFolderThatCannotBeWrittenIsNamed) {
    const auto model = Model::load(test::family_file("llama:f32"), Device::cpu());
    EXPECT_NE(refusal("/proc/toy.gguf", *model).find("/proc/toy.gguf: cannot be written"), std::string::npos);
}

}  // namespace
}  // namespace toy
