#include "engine/full_sequence.h"

#include <fmt/format.h>

#include <numeric>

#include "engine/mask.h"
#include "tensor/transfer.h"

namespace toy {

FullSequence::FullSequence(Graph& graph, int64_t sequences, int64_t tokens, bool fused, bool is_long)
    : graph_(graph), sequences_(sequences), tokens_(tokens), fused_(fused), is_long_(is_long) {}

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
        entry->second = graph_.input(name, DType::F16, {1, 1, tokens_, tokens_});
    }
    return entry->second;
}

Tensor FullSequence::attend(int, Tensor q, Tensor k, Tensor v, const Attn& how) {
    const auto batched = [&](Tensor x) {  // [S·T, n, d] -> [S, n, T, d]
        return permute(reshape(contiguous(x), {sequences_, tokens_, x.dim(-2), x.dim(-1)}), {0, 2, 1, 3});
    };
    return attend_to(batched(q), batched(k), v ? batched(v) : v, mask_for(how), how, fused_);
}

RecurrentState FullSequence::recall(int, const StateShape& n) {
    if (!state_ids_) {
        first_conv_ = graph_.input("states.conv", DType::F32, {sequences_, n.channels, n.taps});
        first_scan_ = graph_.input("states.scan", DType::F32, {sequences_, n.heads, n.size, n.state});
        state_ids_ = graph_.input("states", DType::I32, {sequences_});
    }
    return {first_conv_, first_scan_, state_ids_};
}

namespace {

void write_zeros(Tensor tensor) {
    write(tensor, std::vector<float>(static_cast<size_t>(tensor.layout().elements()), 0.0f));
}

}  // namespace

void FullSequence::write_inputs(std::span<const int64_t> lengths) {
    std::vector<int32_t> positions(static_cast<size_t>(sequences_ * tokens_));
    for (size_t i = 0; i < positions.size(); ++i)
        positions[i] = static_cast<int32_t>(static_cast<int64_t>(i) % tokens_);
    if (positions_) write(positions_, positions);
    if (text_mask_) write_text_mask(lengths);
    if (state_ids_) {
        write_zeros(first_conv_);
        write_zeros(first_scan_);
        std::vector<int32_t> ids(static_cast<size_t>(sequences_));
        std::iota(ids.begin(), ids.end(), 0);
        write(state_ids_, ids);
    }
    const auto columns = static_cast<size_t>(tokens_);
    std::vector<uint16_t> mask(columns * columns);
    for (const auto& [window, tensor] : masks_) {
        for (size_t t = 0; t < columns; ++t) {
            fill_causal_row(std::span(mask).subspan(t * columns, columns), static_cast<int64_t>(t), window);
        }
        write(tensor, std::as_bytes(std::span(mask)));
    }
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

std::vector<float> full_logits(const Model& model, Runner& runner, std::span<const int32_t> ids, bool fused) {
    Graph graph;
    const auto tokens = static_cast<int64_t>(ids.size());
    const Tensor input = graph.input("ids", DType::I32, {tokens});
    FullSequence context(graph, 1, tokens, fused, model.spec().is_long(tokens));
    const Tensor y = logits(model.decoder, hidden(model.decoder, input, context));
    graph.output(y);
    graph.allocate(runner.device());
    write(input, ids);
    context.write_inputs();
    runner.run(graph);
    return read_f32(y);
}

}  // namespace toy
