#include "engine/full_sequence.h"

#include <fmt/format.h>

#include "engine/mask.h"
#include "tensor/transfer.h"

namespace toy {

FullSequence::FullSequence(Graph& graph, int64_t sequences, int64_t tokens, bool fused)
    : graph_(graph), sequences_(sequences), tokens_(tokens), fused_(fused) {
    positions_ = graph.input("positions", DType::I32, {sequences * tokens});
}

Tensor FullSequence::mask_for(int window) {
    const auto [entry, is_new] = masks_.try_emplace(window);
    if (is_new) {
        const std::string name = window == 0 ? "mask" : fmt::format("mask.{}", window);
        entry->second = graph_.input(name, DType::F16, {1, 1, tokens_, tokens_});
    }
    return entry->second;
}

Tensor FullSequence::attend(int, Tensor q, Tensor k, Tensor v, const Attn& how) {
    const auto batched = [&](Tensor x) {  // [S·T, n, d] -> [S, n, T, d]
        return permute(reshape(contiguous(x), {sequences_, tokens_, x.dim(-2), x.dim(-1)}), {0, 2, 1, 3});
    };
    return attend_to(batched(q), batched(k), batched(v), mask_for(how.window), how, fused_);
}

void FullSequence::write_inputs() {
    std::vector<int32_t> positions(static_cast<size_t>(sequences_ * tokens_));
    for (size_t i = 0; i < positions.size(); ++i)
        positions[i] = static_cast<int32_t>(static_cast<int64_t>(i) % tokens_);
    write(positions_, positions);
    const auto columns = static_cast<size_t>(tokens_);
    std::vector<uint16_t> mask(columns * columns);
    for (const auto& [window, tensor] : masks_) {
        for (size_t t = 0; t < columns; ++t) {
            fill_causal_row(std::span(mask).subspan(t * columns, columns), static_cast<int64_t>(t), window);
        }
        write(tensor, std::as_bytes(std::span(mask)));
    }
}

std::vector<float> full_logits(const Model& model, Runner& runner, std::span<const int32_t> ids, bool fused) {
    Graph graph;
    const auto tokens = static_cast<int64_t>(ids.size());
    const Tensor input = graph.input("ids", DType::I32, {tokens});
    FullSequence context(graph, 1, tokens, fused);
    const Tensor y = logits(model.decoder, hidden(model.decoder, input, context));
    graph.output(y);
    graph.allocate(runner.device());
    write(input, ids);
    context.write_inputs();
    runner.run(graph);
    return read_f32(y);
}

}  // namespace toy
