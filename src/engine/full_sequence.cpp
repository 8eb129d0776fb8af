#include "engine/full_sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/error.h"

#include "engine/mask.h"
#include "tensor/transfer.h"

namespace toy {

FullSequence::FullSequence(Graph& graph, int64_t sequences, int64_t tokens, const Options& options)
    : graph_(graph), sequences_(sequences), tokens_(tokens), options_(options) {}

Tensor FullSequence::positions() {
    if (!positions_) positions_ = graph_.input("positions", DType::I32, {sequences_ * tokens_});
    return positions_;
}

Tensor FullSequence::mask_for(const Attn& how) {
    if (!how.is_causal) {
        if (!text_mask_) text_mask_ = graph_.input("mask.text", DType::F16, {sequences_, 1, tokens_, tokens_});
        return text_mask_;
    }
    const auto [entry, is_new] = masks_.try_emplace(how.window);
    if (is_new) {
        const std::string name = how.window == 0 ? "mask" : fmt::format("mask.{}", how.window);
        entry->second = graph_.input(name, DType::F16, {options_.has_documents ? sequences_ : 1, 1, tokens_, tokens_});
    }
    return entry->second;
}

Tensor FullSequence::attend(int, Tensor q, Tensor k, Tensor v, const Attn& how) {
    if (options_.form == AttentionForm::rows && how.is_causal) return attend_rows(q, k, v, how);
    const auto batched = [&](Tensor x) {  // [S·T, n, d] -> [S, n, T, d]
        return permute(reshape(contiguous(x), {sequences_, tokens_, x.dim(-2), x.dim(-1)}), {0, 2, 1, 3});
    };
    return attend_to(batched(q), batched(k), v ? batched(v) : v, mask_for(how), how,
                     options_.form == AttentionForm::fused);
}

Tensor FullSequence::attend_rows(Tensor q, Tensor k, Tensor v, const Attn& how) {
    if (!v) v = slice(k, -1, 0, how.values_in_keys);
    if (options_.has_documents && !first_keys_) {
        first_keys_ = graph_.input("first keys", DType::I32, {sequences_ * tokens_});
    }
    return row_attention(contiguous(q), contiguous(k), contiguous(v), first_keys_,
                         {sequences_, how.scale, how.softcap, how.window});
}

RecurrentState FullSequence::recall(int, const StateShape& n) {
    if (!state_ids_) {
        first_conv_ = graph_.input("states.conv", DType::F32, {sequences_, n.channels, n.taps});
        first_scan_ = graph_.input("states.scan", DType::F32, {sequences_, n.heads, n.size, n.state});
        state_ids_ = graph_.input("states", DType::I32, {sequences_});
    }
    return {first_conv_, first_scan_, state_ids_};
}

void FullSequence::write_inputs(std::span<const int64_t> lengths) {
    std::vector<int32_t> positions(static_cast<size_t>(sequences_ * tokens_));
    for (size_t i = 0; i < positions.size(); ++i)
        positions[i] = static_cast<int32_t>(static_cast<int64_t>(i) % tokens_);
    if (text_mask_) write_text_mask(lengths);
    write_documents(positions);
}

void FullSequence::write_documents(std::span<const int32_t> positions) {
    std::vector<int32_t> first_keys;
    for (size_t i = 0; i < positions.size(); ++i) {
        const auto column = static_cast<int32_t>(static_cast<int64_t>(i) % tokens_);
        const bool begins = column == 0 || positions[i] == 0;
        const int32_t expected = begins ? 0 : positions[i - 1] + 1;
        if (positions[i] != expected) bad_input("position {} after {} begins no document", positions[i], expected - 1);
        if (begins && column > 0 && (state_ids_ || !options_.has_documents))
            bad_input("a second document in one row, where {}",
                      state_ids_ ? "layers carry a state" : "none was expected");
        first_keys.push_back(column - positions[i]);
    }
    if (positions_) write(positions_, positions);
    if (first_keys_) write(first_keys_, first_keys);
    if (!masks_.empty()) write_causal_masks(positions);
    write_first_states();
}

void FullSequence::write_causal_masks(std::span<const int32_t> positions) {
    const auto columns = static_cast<size_t>(tokens_);
    for (const auto& [window, tensor] : masks_) {
        std::vector<uint16_t> mask(static_cast<size_t>(tensor.layout().elements()));
        for (size_t r = 0; r < mask.size() / columns; ++r) {
            const auto column = static_cast<int64_t>(r % columns);
            const int64_t seen = options_.has_documents ? positions[r] + 1 : column + 1;  // of its document
            const int64_t width = window > 0 ? std::min<int64_t>(window, seen) : seen;
            fill_causal_row(std::span(mask).subspan(r * columns, columns), column, static_cast<int>(width));
        }
        write(tensor, std::as_bytes(std::span(mask)));
    }
}

void FullSequence::write_first_states() {
    if (!state_ids_) return;
    clear(first_conv_);
    clear(first_scan_);
    std::vector<int32_t> ids(static_cast<size_t>(sequences_));
    std::iota(ids.begin(), ids.end(), 0);
    write(state_ids_, ids);
}

void FullSequence::write_text_mask(std::span<const int64_t> lengths) {
    const auto columns = static_cast<size_t>(tokens_);
    std::vector<uint16_t> mask(static_cast<size_t>(sequences_) * columns * columns);
    for (size_t r = 0; r < static_cast<size_t>(sequences_) * columns; ++r) {
        const int64_t length = lengths.empty() ? tokens_ : lengths[r / columns];
        fill_causal_row(std::span(mask).subspan(r * columns, columns), length - 1, 0);
    }
    write(text_mask_, std::as_bytes(std::span(mask)));
}

std::vector<float> full_logits(const Model& model, Runner& runner, std::span<const int32_t> ids, AttentionForm form) {
    Graph graph;
    const auto tokens = static_cast<int64_t>(ids.size());
    const Tensor input = graph.input("ids", DType::I32, {tokens});
    FullSequence context(graph, 1, tokens, {form, model.spec().is_long(tokens)});
    const Tensor y = logits(model.decoder, hidden(model.decoder, input, context));
    graph.output(y);
    graph.allocate(runner.device());
    write(input, ids);
    context.write_inputs();
    runner.run(graph);
    return read_f32(y);
}

}  // namespace toy
