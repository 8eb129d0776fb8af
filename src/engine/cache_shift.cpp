#include "engine/cache_shift.h"

#include <cmath>
#include <numeric>

#include "core/error.h"
#include "tensor/graph.h"
#include "tensor/transfer.h"

namespace toy {
namespace {

// The rotation alone: keys got YaRN's and LongRoPE's magnitude when they were computed.
Rope without_magnitude(Rope rope) {
    rope.attn_factor = 1.0f;
    if (rope.ext_factor != 0.0f) rope.attn_factor = 1.0f / (1.0f + 0.1f * std::log(1.0f / rope.frequency_scale));
    return rope;
}

struct Rotation {
    Rope rope;
    Tensor factors;
    int64_t heads, plain;  // of a row; elements of a head before those that are rotated
};

Rotation rotation_of(const Block& b, bool is_long) {
    if (const auto* a = std::get_if<Attention>(&b.mixer)) {
        const Tensor factors = is_long && a->rope_factors_long ? a->rope_factors_long : a->rope_factors;
        return {without_magnitude(a->rope), factors, a->kv_heads, 0};
    }
    const auto& a = std::get<LatentAttention>(b.mixer);
    return {without_magnitude(a.rope), {}, 1, a.rank};
}

// Rows [n, heads·d] rotated by `positions`.
Tensor rotated(Tensor rows, Tensor positions, const Rotation& r) {
    const Tensor by_head = heads(rows, r.heads);
    if (r.plain == 0) return merge_heads(rope(by_head, positions, r.rope, r.factors));
    const std::vector<Tensor> parts = split(by_head, {r.plain, by_head.dim(-1) - r.plain});
    return merge_heads(concat(contiguous(parts[0]), rope(parts[1], positions, r.rope, r.factors), -1));
}

}  // namespace

void shift(KvCache& cache, const Model& model, Runner& runner, int slot, int64_t keep, int64_t discard, bool is_long) {
    const int64_t length = cache.length(slot), count = length - keep - discard;
    if (model.spec().is_recurrent()) bad_input("a recurrent state cannot drop tokens");
    if (model.spec().has_position_embd) bad_input("positions that the model has learned cannot be moved");
    if (keep < 0 || discard < 0 || count < 0) {
        bad_input("slot {} remembers {} tokens: {} cannot be kept and {} dropped", slot, length, keep, discard);
    }
    if (discard > 0 && count > 0) {
        cache.move_rows(slot, keep + discard, keep, count);
        Graph graph;
        const Tensor ids = graph.input("rows", DType::I32, {count});
        const Tensor positions = graph.input("positions", DType::I32, {count});
        for (const Block& b : model.decoder.blk) {
            const Rotation r = rotation_of(b, is_long);
            if (r.rope.order == Rope::Order::none) continue;
            set_rows(cache.keys(b.layer), rotated(get_rows(cache.keys(b.layer), ids), positions, r), ids);
        }
        graph.allocate(runner.device());
        std::vector<int32_t> rows(static_cast<size_t>(count));
        std::iota(rows.begin(), rows.end(), static_cast<int32_t>(cache.row(slot, keep)));
        write(ids, rows);
        write(positions, std::vector<int32_t>(rows.size(), static_cast<int32_t>(-discard)));
        runner.run(graph);
    }
    cache.truncate(slot, length - discard);
}

}  // namespace toy
