#include "engine/inference.h"

#include <algorithm>

#include "core/error.h"

namespace toy {
namespace {

// Graphs kept, least recently used dropped: prompt chunks of a few lengths, and decoding over some cache lengths.
constexpr size_t k_most_graphs = 24;

// Types whose repacked copies pay for their memory; bench/repack has the table.
bool pays_repacked(DType type) {
    switch (type) {
        case DType::Q4_0:
        case DType::Q4_K:
        case DType::IQ4_NL:
        case DType::Q2_K: return true;
        default: return false;
    }
}

std::vector<Tensor> matrices_to_repack(const Decoder& m) {
    std::vector<Tensor> all;
    const auto consider = [&](const Linear& w) {
        if (w && pays_repacked(w.weight.dtype())) all.push_back(w.weight);
    };
    for (const Block& b : m.blk) {
        for (const Linear* w : {&b.attn.attn_q, &b.attn.attn_k, &b.attn.attn_v, &b.attn.attn_output, &b.ffn.ffn_gate,
                                &b.ffn.ffn_up, &b.ffn.ffn_down}) {
            consider(*w);
        }
    }
    consider(m.output);
    return all;
}

Inference::Options completed(Inference::Options options, const Spec& spec) {
    if (options.context == 0) options.context = spec.context;
    if (options.chunk < 1) bad_input("chunks of {} tokens: choose at least 1", options.chunk);
    return options;
}

}  // namespace

Inference::Inference(std::shared_ptr<const Model> model, const Device& device, const Options& options)
    : model_(std::move(model)),
      options_(completed(options, model_->spec())),
      runner_(device, options.threads),
      cache_(model_->spec(), device, {options_.slots, options_.context, options_.cache_type}),
      repacked_(device) {
    if (options.repack) repacked_.add(matrices_to_repack(model_->decoder), options.threads);
}

CachedStep& Inference::graph_for(const StepShape& shape) {
    const auto found =
        std::find_if(steps_.begin(), steps_.end(), [&](const auto& entry) { return entry.first == shape; });
    if (found != steps_.end()) {
        ++hits_;
        steps_.splice(steps_.begin(), steps_, found);
        return *steps_.front().second;
    }
    ++misses_;
    if (steps_.size() >= k_most_graphs) steps_.pop_back();
    steps_.emplace_front(shape, std::make_unique<CachedStep>(*model_, cache_, shape, runner_.device(),
                                                             options_.flash_attention, &repacked_));
    return *steps_.front().second;
}

std::vector<float> Inference::step(std::span<const Piece> pieces, const std::vector<Tap>& taps) {
    for (const Piece& piece : pieces) {
        const int64_t end = piece.position + static_cast<int64_t>(piece.ids.size());
        if (piece.ids.empty() || piece.position < 0 || end > options_.context) {
            bad_input("tokens at positions {} to {} do not fit a context of {}", piece.position, end, options_.context);
        }
    }
    return graph_for(shape_for(pieces, cache_)).run(pieces, runner_, taps);
}

Inference::Counts Inference::counts() const {
    Counts counts{hits_, misses_, steps_.size(), 0, repacked_.bytes()};
    for (const auto& entry : steps_) counts.graph_bytes += entry.second->bytes();
    return counts;
}

}  // namespace toy
