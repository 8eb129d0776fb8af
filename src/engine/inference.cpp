#include "engine/inference.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "core/error.h"
#include "core/log.h"

namespace toy {
namespace {

// Graphs kept, least recently used dropped: prompt chunks of a few lengths, and decoding over some cache lengths.
constexpr size_t k_most_graphs = 24;

// Types whose repacked copies pay for their memory: bench/repack_bench.cpp, docs/performance.md.
bool pays_repacked(DType type) {
    switch (type) {
        case DType::Q4_0:
        case DType::Q4_K:
        case DType::IQ4_NL:
        case DType::Q2_K: return true;
        default: return false;
    }
}

std::vector<Tensor> matrices_to_repack(const Model& model) {
    std::vector<Tensor> all;
    const auto consider = [&](Tensor weight) {
        if (weight && pays_repacked(weight.dtype())) all.push_back(weight);
    };
    for (Tensor weight : model.matrices) consider(weight);
    if (model.spec().is_tied) consider(model.decoder.output.weight);
    return all;
}

bool is_hidden_by_fusion(const NamedTap& tap) {
    constexpr std::array<std::string_view, 3> k_hidden = {".scores", ".softmax", ".ffn_act"};
    return std::any_of(k_hidden.begin(), k_hidden.end(), [&](std::string_view s) { return tap.name.ends_with(s); });
}

// `count` tokens of each piece from token `first` on.
std::vector<Piece> parts_of(std::span<const Piece> pieces, size_t first, size_t count) {
    std::vector<Piece> parts;
    for (const Piece& piece : pieces) {
        Piece part{piece.slot,
                   piece.position + static_cast<int64_t>(first),
                   piece.ids.subspan(first, count),
                   {},
                   piece.is_long};
        for (int32_t index : piece.outputs) {
            const int64_t at = index - static_cast<int64_t>(first);
            if (at >= 0 && at < static_cast<int64_t>(count)) part.outputs.push_back(static_cast<int32_t>(at));
        }
        parts.push_back(std::move(part));
    }
    return parts;
}

// Appends the rows of a step to those that its pieces have.
void take_rows(const std::vector<float>& rows, std::span<const Piece> parts,
               std::vector<std::vector<float>>& by_piece) {
    size_t outputs = 0;
    for (const Piece& part : parts) outputs += part.outputs.size();
    if (outputs == 0) return;
    const auto width = static_cast<std::ptrdiff_t>(rows.size() / outputs);
    auto at = rows.begin();
    for (size_t i = 0; i < parts.size(); ++i) {
        const auto end = at + static_cast<std::ptrdiff_t>(parts[i].outputs.size()) * width;
        by_piece[i].insert(by_piece[i].end(), at, end);
        at = end;
    }
}

Inference::Options completed(Inference::Options options, const Spec& spec) {
    if (!spec.has_head)
        bad_input("a model of architecture {} gives embeddings only, it writes no text", spec.architecture);
    if (options.context == 0) options.context = spec.context;
    if (spec.has_position_embd && options.context > spec.context) {
        bad_input("a context of {} tokens: the model has learned {} positions", options.context, spec.context);
    }
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
    if (options.repack) repacked_.add(matrices_to_repack(*model_), options.threads);
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

std::vector<float> Inference::step(std::span<const Piece> pieces, std::span<const NamedTap> taps) {
    for (const Piece& piece : pieces) {
        const int64_t end = piece.position + static_cast<int64_t>(piece.ids.size());
        if (piece.ids.empty() || piece.position < 0 || end > options_.context) {
            bad_input("tokens at positions {} to {} do not fit a context of {}", piece.position, end, options_.context);
        }
        if (piece.ids.size() != pieces.front().ids.size()) failure("the pieces of a step have different lengths");
    }
    if (!cache_.is_recurrent()) return step_once(pieces, taps);
    // Without padding, lengths that are powers of two keep the graphs few.
    std::vector<float> rows;
    std::vector<std::vector<float>> by_piece(pieces.size());
    const size_t tokens = pieces.front().ids.size();
    for (size_t done = 0; done < tokens;) {
        const size_t count = std::bit_floor(tokens - done);
        const std::vector<Piece> parts = parts_of(pieces, done, count);
        take_rows(step_once(parts, taps), parts, by_piece);
        done += count;
    }
    for (const std::vector<float>& piece : by_piece) rows.insert(rows.end(), piece.begin(), piece.end());
    return rows;
}

std::vector<float> Inference::step_once(std::span<const Piece> pieces, std::span<const NamedTap> taps) {
    StepShape shape = shape_for(pieces, cache_);
    shape.is_fusing = std::none_of(taps.begin(), taps.end(), is_hidden_by_fusion);
    if (!shape.is_fusing && !std::exchange(has_said_plain_, true)) {
        logging::warn("taps on scores, softmax and ffn_act need the plain operators, which are used for this run");
    }
    for (const Piece& piece : pieces) cache_.check_next(piece.slot, piece.position);
    std::vector<float> rows = graph_for(shape).run(pieces, runner_, taps);
    for (const Piece& piece : pieces) {
        cache_.set_length(piece.slot, piece.position + static_cast<int64_t>(piece.ids.size()));
    }
    return rows;
}

Inference::Counts Inference::counts() const {
    Counts counts{hits_, misses_, steps_.size(), 0, repacked_.bytes()};
    for (const auto& entry : steps_) counts.graph_bytes += entry.second->bytes();
    return counts;
}

}  // namespace toy
