#include "nn/block.h"

#include <fmt/format.h>

#include "tensor/graph.h"

namespace toy {
namespace {

Tensor mix(Tensor x, const Block& b, Context& ctx) {
    if (const auto* a = std::get_if<Attention>(&b.mixer)) return attention(x, *a, b.layer, ctx);
    if (const auto* a = std::get_if<LatentAttention>(&b.mixer)) return attention(x, *a, b.layer, ctx);
    return state_space(x, std::get<StateSpace>(b.mixer), b.layer, ctx);
}

Tensor feed_forward(Tensor x, const Block& b) {
    if (const auto* e = std::get_if<Experts>(&b.ffn)) return experts(x, *e);
    return feed_forward(x, std::get<FeedForward>(b.ffn));
}

}  // namespace

Tensor block(Tensor x, const Block& b, Context& ctx) {
    const Scope scope(x, fmt::format("blk.{}", b.layer));
    Tensor h = norm(x, b.attn_norm);                                            // [T, D]
    Tensor a = norm(mix(h, b, ctx), b.post_attention_norm) * b.residual_scale;  // [T, D]
    if (b.is_last) {                                                            // [T, D] -> [O, D]
        x = ctx.select_outputs(x);
        a = ctx.select_outputs(a);
        if (b.ffn_shares_norm) h = ctx.select_outputs(h);
    }
    const Tensor y = norm(named(x + a, "post_attn"), b.attn_output_norm);
    if (std::holds_alternative<std::monostate>(b.ffn)) return y;
    const Tensor f = feed_forward(b.ffn_shares_norm ? h : norm(b.is_parallel ? x : y, b.ffn_norm), b);
    const Tensor sum = named(y + norm(f, b.post_ffw_norm) * b.residual_scale, "post_ffn");
    return norm(sum, b.layer_output_norm);  // [T, D] or [O, D]
}

}  // namespace toy
