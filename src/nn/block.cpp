#include "nn/block.h"

#include <fmt/format.h>

#include "tensor/graph.h"

namespace toy {

Tensor block(Tensor x, const Block& b, Context& ctx) {
    const Scope scope(x, fmt::format("blk.{}", b.layer));
    const Tensor h = norm(x, b.attn_norm);  // [T, D]
    Tensor a = norm(attention(h, b.attn, b.layer, ctx), b.post_attention_norm) * b.residual_scale;
    if (b.is_last) {  // [T, D] -> [O, D]
        x = ctx.select_outputs(x);
        a = ctx.select_outputs(a);
    }
    x = x + a;
    const Tensor f = feed_forward(norm(x, b.ffn_norm), b.ffn);
    return x + norm(f, b.post_ffw_norm) * b.residual_scale;  // [T, D] or [O, D]
}

}  // namespace toy
