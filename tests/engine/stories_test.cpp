// The real model: what it writes must be, byte for byte, what llama2.c writes, whatever the settings.
#include "support/stories.h"

#include <fmt/format.h>

#include "engine/generator.h"
#include "support/random_model.h"

namespace toy {
namespace {

struct Setting {
    int threads;
    int64_t chunk;
    bool flash;
    int company;  ///< sequences that run beside it
};

Request greedy(std::vector<int32_t> prompt, int64_t n) {
    Request request;
    request.prompt = std::move(prompt);
    request.max_tokens = n;
    return request;
}

// The text of 200 tokens after BOS, F32 weights and cache.
std::string text_with(const Setting& setting) {
    const auto model = Model::load(test::stories_model(), Device::cpu());
    const auto tokenizer = Tokenizer::from_metadata(model->file.metadata());
    Inference inference(model, Device::cpu(),
                        {.threads = setting.threads,
                         .context = 256,
                         .slots = setting.company + 1,
                         .cache_type = DType::F32,
                         .flash_attention = setting.flash,
                         .chunk = setting.chunk});
    Generator generator(inference, tokenizer);
    const auto ignore_token = [](const GeneratedToken&) {};
    const auto ignore_end = [](const Finish&) {};
    // Half of the company starts before it, so that it does not always sit in the first slot.
    for (int i = 0; i < setting.company / 2; ++i) {
        generator.add(greedy(test::random_tokens(512, 30, static_cast<uint64_t>(i)), 150), ignore_token, ignore_end);
    }
    std::string text;
    generator.add(
        greedy(tokenizer->encode(""), 200), [&](const GeneratedToken& token) { text += token.text; },
        [&](const Finish& end) { text += end.text; });
    for (int i = setting.company / 2; i < setting.company; ++i) {
        generator.add(greedy(test::random_tokens(512, 50, static_cast<uint64_t>(i)), 100), ignore_token, ignore_end);
    }
    generator.run();
    return text;
}

class Stories : public testing::TestWithParam<Setting> {};

TEST_P(Stories, AreWrittenAsLlama2cWritesThem) {
    TOY_NEEDS_STORIES();
    EXPECT_EQ(text_with(GetParam()), test::stories_text());
}

INSTANTIATE_TEST_SUITE_P(Settings, Stories,
                         testing::Values(Setting{1, 512, true, 0}, Setting{2, 512, false, 0}, Setting{3, 512, true, 0},
                                         Setting{2, 1, true, 4}, Setting{1, 7, false, 3}),
                         [](const auto& test) {
                             return fmt::format("threads{}_chunk{}_flash{}_company{}", test.param.threads,
                                                test.param.chunk, test.param.flash, test.param.company);
                         });

// The older toy fed the last prompt token twice (toy-0.8, weakness 4): a prompt that is the text's own beginning must
// continue as the text does.
TEST(StoriesPrompt, ContinuesItsOwnBeginning) {
    TOY_NEEDS_STORIES();
    const auto model = Model::load(test::stories_model(), Device::cpu());
    const auto tokenizer = Tokenizer::from_metadata(model->file.metadata());
    const std::string beginning =
        "Once upon a time, there was a little girl named Lily. She loved to play outside in the";
    Inference inference(model, Device::cpu(), {.threads = 1, .context = 256, .cache_type = DType::F32});
    Generator generator(inference, tokenizer);
    std::string text = beginning;
    generator.add(
        greedy(tokenizer->encode(beginning), 60), [&](const GeneratedToken& token) { text += token.text; },
        [&](const Finish& end) { text += end.text; });
    generator.run();
    EXPECT_EQ(text, test::stories_text().substr(0, text.size()));
}

}  // namespace
}  // namespace toy
