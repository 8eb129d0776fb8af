#include "engine/embedder.h"

#include <algorithm>
#include <bit>

#include "core/error.h"
#include "tensor/transfer.h"

namespace toy {
namespace {

// Tokens computed at once, padding included: enough to keep the cores busy, little enough for memory.
constexpr int64_t k_most_tokens = 4096;
constexpr size_t k_most_graphs = 8;
// Texts are padded to a multiple of this, so that few graphs serve all lengths.
constexpr int64_t k_token_multiple = 16;

std::vector<float> pooled(const std::vector<float>& states, size_t width, Pooling pooling) {
    const size_t tokens = states.size() / width;
    const auto row = [&](size_t t) { return states.begin() + static_cast<std::ptrdiff_t>(t * width); };
    if (pooling == Pooling::first) return {row(0), row(1)};
    if (pooling == Pooling::last) return {row(tokens - 1), states.end()};
    std::vector<double> sum(width, 0.0);
    for (size_t i = 0; i < states.size(); ++i) sum[i % width] += static_cast<double>(states[i]);
    std::vector<float> mean;
    for (double s : sum) mean.push_back(static_cast<float>(s / static_cast<double>(tokens)));
    return mean;
}

}  // namespace

/// The graph of S texts of up to T tokens.
struct Embedder::Batch {
    int64_t sequences, tokens;
    Graph graph;
    FullSequence context;
    Tensor ids, states;

    Batch(const Model& model, const Device& device, int64_t s, int64_t t, bool fused)
        : sequences(s), tokens(t), context(graph, s, t, {fused ? AttentionForm::fused : AttentionForm::plain}) {
        ids = graph.input("ids", DType::I32, {s * t});
        states = hidden(model.decoder, ids, context);
        graph.output(states);
        graph.allocate(device);
    }
};

Embedder::Embedder(std::shared_ptr<const Model> model, const Device& device, const Options& options)
    : model_(std::move(model)), options_(options), runner_(device, options.threads) {
    if (model_->spec().has_head) {
        bad_input("a model of architecture {} writes text; embeddings need an encoder", model_->spec().architecture);
    }
}

Embedder::~Embedder() = default;

Embedder::Batch& Embedder::batch_for(int64_t sequences, int64_t tokens) {
    const auto found = std::find_if(batches_.begin(), batches_.end(), [&](const auto& batch) {
        return batch->sequences == sequences && batch->tokens == tokens;
    });
    if (found != batches_.end()) {
        batches_.splice(batches_.begin(), batches_, found);
        return *batches_.front();
    }
    if (batches_.size() >= k_most_graphs) batches_.pop_back();
    batches_.push_front(
        std::make_unique<Batch>(*model_, runner_.device(), sequences, tokens, options_.flash_attention));
    return *batches_.front();
}

std::vector<std::vector<float>> Embedder::states(std::span<const std::vector<int32_t>> texts) {
    const Spec& spec = model_->spec();
    for (const std::vector<int32_t>& text : texts) {
        if (text.empty()) bad_input("a text without tokens has no embedding");
        if (static_cast<int64_t>(text.size()) > spec.context) {
            bad_input("a text of {} tokens is longer than the model's context of {}", text.size(), spec.context);
        }
        for (int32_t id : text) {
            if (id < 0 || id >= spec.vocabulary) {
                bad_input("a text holds token {}, but there are only 0..{}", id, spec.vocabulary - 1);
            }
        }
    }
    std::vector<std::vector<float>> all;
    for (size_t first = 0; first < texts.size();) {
        size_t longest = 0, count = 0;
        while (first + count < texts.size()) {
            const size_t next = std::max(longest, texts[first + count].size());
            if (count > 0 && static_cast<int64_t>(next * (count + 1)) > k_most_tokens) break;
            longest = next;
            ++count;
        }
        compute(texts.subspan(first, count), all);
        first += count;
    }
    return all;
}

void Embedder::compute(std::span<const std::vector<int32_t>> texts, std::vector<std::vector<float>>& all) {
    const Spec& spec = model_->spec();
    int64_t longest = 0;
    for (const std::vector<int32_t>& text : texts) longest = std::max(longest, static_cast<int64_t>(text.size()));
    longest = std::min((longest + k_token_multiple - 1) / k_token_multiple * k_token_multiple, spec.context);
    const auto sequences = static_cast<int64_t>(std::bit_ceil(texts.size()));
    Batch& batch = batch_for(sequences, longest);
    // Texts that only fill the batch up are one token long.
    std::vector<int32_t> ids(static_cast<size_t>(sequences * longest), 0);
    std::vector<int64_t> lengths(static_cast<size_t>(sequences), 1);
    for (size_t s = 0; s < texts.size(); ++s) {
        std::copy(texts[s].begin(), texts[s].end(), ids.begin() + static_cast<std::ptrdiff_t>(s) * longest);
        lengths[s] = static_cast<int64_t>(texts[s].size());
    }
    write(batch.ids, std::span<const int32_t>(ids));
    batch.context.write_inputs(lengths);
    runner_.run(batch.graph);
    for (size_t s = 0; s < texts.size(); ++s) {
        all.push_back(read_rows_f32(batch.states, static_cast<int64_t>(s) * longest, lengths[s]));
    }
}

std::vector<std::vector<float>> Embedder::embed(std::span<const std::vector<int32_t>> texts) {
    const Spec& spec = model_->spec();
    if (spec.pooling == Pooling::none) {
        bad_input("the model names no pooling (key {}.pooling_type), so it has states but no embedding",
                  spec.architecture);
    }
    std::vector<std::vector<float>> all;
    for (const std::vector<float>& text : states(texts)) {
        all.push_back(pooled(text, static_cast<size_t>(spec.width), spec.pooling));
    }
    return all;
}

}  // namespace toy
