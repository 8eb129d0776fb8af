#include "engine/cached_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "engine/mask.h"
#include "tensor/transfer.h"

namespace toy {
namespace {

constexpr int64_t k_key_multiple = 256;

// 1, 2, 4, 8, 16, 32, then multiples of 64.
int64_t round_up(int64_t n) {
    if (n > 32) return (n + 63) / 64 * 64;
    int64_t rounded = 1;
    while (rounded < n) rounded *= 2;
    return rounded;
}

}  // namespace

StepShape shape_for(std::span<const Piece> pieces, const KvCache& cache) {
    StepShape shape;
    int64_t longest = 0;
    int last_slot = 0;
    int64_t outputs = 0;
    for (const Piece& piece : pieces) {
        if (piece.is_long != pieces.front().is_long) failure("the pieces of a step are rotated differently");
        longest = std::max(longest, piece.position + static_cast<int64_t>(piece.ids.size()));
        last_slot = std::max(last_slot, piece.slot);
        outputs += static_cast<int64_t>(piece.outputs.size());
    }
    if (pieces.size() == 1) {
        shape.first_slot = pieces.front().slot;
    } else {
        // Slots are claimed from the lowest on, so few lie idle between 0 and the last.
        shape.sequences = static_cast<int>(std::min<int64_t>(round_up(last_slot + 1), cache.options().slots));
    }
    // A recurrent state takes in every token of a step, so there is no padding.
    const auto tokens = static_cast<int64_t>(pieces.front().ids.size());
    shape.tokens = cache.is_recurrent() ? tokens : round_up(tokens);
    shape.is_long = pieces.front().is_long;
    shape.keys = cache.is_recurrent()
                     ? 0
                     : std::min((longest + k_key_multiple - 1) / k_key_multiple * k_key_multiple, cache.slot_rows());
    shape.outputs = outputs == 0 ? 0 : std::min(round_up(outputs), shape.sequences * shape.tokens);
    return shape;
}

// The Context of one step's graph: keys, values and states go to the cache, and are read from it.
class CachedStep::StepContext : public Context {
 public:
    StepContext(CachedStep& step, bool fused) : step_(step), fused_(fused) {}

    int64_t sequences() const override { return step_.shape_.sequences; }
    bool is_long() const override { return step_.shape_.is_long; }

    Tensor positions() override {
        return input(step_.positions_, "positions", DType::I32, step_.shape_.sequences * step_.shape_.tokens);
    }

    Tensor attend(int layer, Tensor q, Tensor k, Tensor v, const Attn& how) override {
        const StepShape& s = step_.shape_;
        const Tensor rows = input(step_.rows_, "rows", DType::I64, s.sequences * s.tokens);
        const Tensor keys = set_rows(step_.cache_.keys(layer), merge_heads(contiguous(k)), rows);
        Tensor values;  // absent where they lie in the keys
        if (v) values = slots_of(set_rows(step_.cache_.values(layer), merge_heads(contiguous(v)), rows), k.dim(-2));
        const Tensor queries = permute(reshape(contiguous(q), {s.sequences, s.tokens, q.dim(-2), q.dim(-1)}),
                                       {0, 2, 1, 3});  // [S, H, T, d]
        return attend_to(queries, slots_of(keys, k.dim(-2)), values, mask_for(how.window), how, fused_);
    }

    RecurrentState recall(int layer, const StateShape& n) override {
        const Tensor ids = input(step_.states_, "states", DType::I32, step_.shape_.sequences);
        const Tensor conv = get_rows(step_.cache_.conv(layer), ids);
        const Tensor scan = step_.graph_.leaf(step_.cache_.scan(layer));
        return {reshape(conv, {step_.shape_.sequences, n.channels, n.taps}),
                reshape(scan, {scan.dim(0), n.heads, n.size, n.state}), ids};
    }

    void remember(int layer, Tensor conv, Tensor scan) override {
        const int64_t n = step_.shape_.sequences;
        set_rows(step_.cache_.conv(layer), reshape(conv, {n, -1}), step_.states_);
        set_rows(step_.cache_.scan(layer), reshape(scan, {n, -1}), step_.states_);
    }

    Tensor select_outputs(Tensor x) override {
        const StepShape& s = step_.shape_;
        // Without wanted rows one still goes on, so that the graph has an end; it costs one row of one layer.
        if (s.outputs == s.sequences * s.tokens) return x;
        return get_rows(x, input(step_.output_rows_, "outputs", DType::I32, std::max<int64_t>(s.outputs, 1)));
    }

 private:
    // An input of the graph that is made where a model asks for it.
    Tensor input(Tensor& slot, const char* name, DType type, int64_t n) {
        if (!slot) slot = step_.graph_.input(name, type, {n});
        return slot;
    }

    // The rows of this step's slots: [rows, K·d] -> [S, K, keys, d], without a copy.
    Tensor slots_of(Tensor cache, int64_t kv_heads) {
        const StepShape& s = step_.shape_;
        const int64_t slot_rows = step_.cache_.slot_rows();
        const Tensor slots = slice(cache, 0, s.first_slot * slot_rows, s.sequences * slot_rows);
        const Tensor by_slot = reshape(slots, {s.sequences, slot_rows, kv_heads, cache.dim(-1) / kv_heads});
        return permute(slice(by_slot, 1, 0, s.keys), {0, 2, 1, 3});
    }

    Tensor mask_for(int window) {
        const StepShape& s = step_.shape_;
        const auto [entry, is_new] = step_.masks_.try_emplace(window);
        if (is_new) {
            const std::string name = window == 0 ? "mask" : fmt::format("mask.{}", window);
            entry->second = step_.graph_.input(name, DType::F16, {s.sequences, 1, s.tokens, s.keys});
        }
        return entry->second;
    }

    CachedStep& step_;
    bool fused_;
};

CachedStep::CachedStep(const Model& model, const KvCache& cache, const StepShape& shape, const Device& device,
                       bool fused, const RepackedWeights* repacked)
    : cache_(cache), shape_(shape) {
    const int64_t rows = shape.sequences * shape.tokens;
    graph_.set_fusing(shape.is_fusing);
    ids_ = graph_.input("ids", DType::I32, {rows});
    StepContext context(*this, fused);
    const Tensor h = graph_.name(hidden(model.decoder, ids_, context), "hidden");
    if (shape.outputs > 0) {
        logits_ = graph_.name(logits(model.decoder, h), "logits");
        graph_.output(logits_);
    }
    graph_.allocate(device, repacked);
}

size_t CachedStep::first_row(const Piece& piece) const {
    return static_cast<size_t>((piece.slot - shape_.first_slot) * shape_.tokens);
}

std::vector<float> CachedStep::run(std::span<const Piece> pieces, Runner& runner, std::span<const NamedTap> named) {
    std::vector<Tap> taps;
    for (const NamedTap& tap : named) {
        const Tensor tensor = graph_.find(tap.name);
        if (!tensor) bad_input("this model has no step named '{}' (docs/taps.md)", tap.name);
        taps.push_back({tensor, tap.see});
    }
    write_tokens(pieces);
    write_masks(pieces);
    write_states(pieces);
    write_outputs(pieces);
    runner.run(graph_, taps);
    if (shape_.outputs == 0) return {};
    int64_t wanted = 0;
    for (const Piece& piece : pieces) wanted += static_cast<int64_t>(piece.outputs.size());
    if (output_rows_) return read_rows_f32(logits_, 0, wanted);
    // Every row was computed; take the wanted ones.
    std::vector<float> all;
    for (const Piece& piece : pieces) {
        for (int32_t index : piece.outputs) {
            const std::vector<float> row = read_rows_f32(logits_, static_cast<int64_t>(first_row(piece)) + index, 1);
            all.insert(all.end(), row.begin(), row.end());
        }
    }
    return all;
}

void CachedStep::write_tokens(std::span<const Piece> pieces) {
    // Padding computes token 0 at position 0 and writes to spare rows; nothing reads them.
    const auto rows = static_cast<size_t>(shape_.sequences * shape_.tokens);
    id_values_.assign(rows, 0);
    position_values_.assign(rows, 0);
    row_values_.assign(rows, -1);
    for (const Piece& piece : pieces) {
        const size_t first = first_row(piece);
        for (size_t t = 0; t < piece.ids.size(); ++t) {
            const int64_t position = piece.position + static_cast<int64_t>(t);
            id_values_[first + t] = piece.ids[t];
            position_values_[first + t] = static_cast<int32_t>(position);
            row_values_[first + t] = cache_.row(piece.slot, position);
        }
    }
    int64_t padding = 0;
    for (int64_t& row : row_values_) {
        if (row < 0) row = cache_.spare_row(padding++);
    }
    if (padding > cache_.spare_rows())
        failure("{} rows of padding, but only {} spare ones", padding, cache_.spare_rows());
    write(ids_, std::span<const int32_t>(id_values_));
    if (positions_) write(positions_, std::span<const int32_t>(position_values_));
    if (rows_) write(rows_, std::span<const int64_t>(row_values_));
}

void CachedStep::write_states(std::span<const Piece> pieces) {
    if (!states_) return;
    // A sequence that is not in this step works on a spare state.
    state_values_.resize(static_cast<size_t>(shape_.sequences));
    for (int i = 0; i < shape_.sequences; ++i) state_values_[static_cast<size_t>(i)] = cache_.spare_state(i);
    for (const Piece& piece : pieces) state_values_[static_cast<size_t>(piece.slot - shape_.first_slot)] = piece.slot;
    write(states_, std::span<const int32_t>(state_values_));
}

void CachedStep::write_masks(std::span<const Piece> pieces) {
    const auto keys = static_cast<size_t>(shape_.keys);
    const auto rows = static_cast<size_t>(shape_.sequences * shape_.tokens);
    mask_values_.resize(rows * keys);
    for (const auto& [window, mask] : masks_) {
        // A padding row sees key 0, so that its softmax is finite.
        for (size_t r = 0; r < rows; ++r) fill_causal_row(std::span(mask_values_).subspan(r * keys, keys), 0, 0);
        for (const Piece& piece : pieces) {
            for (size_t t = 0; t < piece.ids.size(); ++t) {
                const auto row = std::span(mask_values_).subspan((first_row(piece) + t) * keys, keys);
                fill_causal_row(row, piece.position + static_cast<int64_t>(t), window);
            }
        }
        write(mask, std::as_bytes(std::span(mask_values_)));
    }
}

void CachedStep::write_outputs(std::span<const Piece> pieces) {
    if (!output_rows_) return;
    output_values_.assign(static_cast<size_t>(std::max<int64_t>(shape_.outputs, 1)), 0);
    size_t next = 0;
    for (const Piece& piece : pieces) {
        for (int32_t index : piece.outputs) output_values_[next++] = static_cast<int32_t>(first_row(piece)) + index;
    }
    write(output_rows_, std::span<const int32_t>(output_values_));
}

}  // namespace toy
