// The real model: what it writes must be, byte for byte, what llama2.c writes.
#include "support/stories.h"

#include <algorithm>

#include "engine/full_sequence.h"
#include "engine/inference.h"

namespace toy {
namespace {

int32_t greedy(std::span<const float> row) {
    return static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

std::vector<int32_t> decode(Inference& inference, int n) {
    std::vector<int32_t> ids{1};
    for (int i = 0; i < n; ++i) {
        const Piece piece{0, i, std::span(ids).subspan(static_cast<size_t>(i), 1), {0}};
        ids.push_back(greedy(inference.step({&piece, 1})));
    }
    return ids;
}

std::string spelled(const Model& model, std::span<const int32_t> ids) {
    std::string text;
    const std::vector<std::string>& tokens = model.file.metadata().strings("tokenizer.ggml.tokens");
    for (int32_t id : ids) {
        std::string piece = tokens[static_cast<size_t>(id)];
        if (piece.size() == 6 && piece.starts_with("<0x"))
            piece = std::string(1, static_cast<char>(std::stoi(piece.substr(3, 2), nullptr, 16)));
        for (size_t at = piece.find("▁"); at != piece.npos; at = piece.find("▁")) piece.replace(at, 3, " ");
        text += piece;
    }
    return text.substr(text.find_first_not_of(' '));
}

TEST(Stories, CachedDecodingWritesTheExpectedText) {
    TOY_NEEDS_STORIES();
    const auto model = Model::load(test::stories_model(), Device::cpu());
    for (bool flash : {true, false}) {
        Inference inference(model, Device::cpu(),
                            {.threads = 2, .context = 256, .cache_type = DType::F32, .flash_attention = flash});
        const std::vector<int32_t> ids = decode(inference, 200);
        EXPECT_EQ(spelled(*model, std::span(ids).subspan(1)), test::stories_text());
    }
}

TEST(Stories, UncachedScoringAgreesWithCachedDecoding) {
    TOY_NEEDS_STORIES();
    const auto model = Model::load(test::stories_model(), Device::cpu());
    Inference inference(model, Device::cpu(), {.threads = 1, .context = 256, .cache_type = DType::F32});
    const std::vector<int32_t> ids = decode(inference, 200);
    Runner runner(Device::cpu(), 1);
    const std::vector<float> all = full_logits(*model, runner, std::span(ids).first(200), false);
    const auto vocabulary = static_cast<size_t>(model->spec().vocabulary);
    for (size_t i = 0; i < 200; ++i)
        EXPECT_EQ(greedy(std::span(all).subspan(i * vocabulary, vocabulary)), ids[i + 1]) << i;
}

}  // namespace
}  // namespace toy
