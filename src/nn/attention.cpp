#include "nn/attention.h"

#include "tensor/graph.h"

namespace toy {

Tensor attention(Operand x, const Attention& a, int layer, Context& ctx) {
    const Scope scope(x.tensor, "attention");
    auto [q, k, v] = project(x, {a.attn_q, a.attn_k, a.attn_v});              // [T, H·d], [T, K·d], [T, K·dv]
    q = rope(heads(q, a.heads), ctx.positions(), a.rope, a.rope_factors);     // [T, H, d]
    k = rope(heads(k, a.kv_heads), ctx.positions(), a.rope, a.rope_factors);  // [T, K, d]
    const Tensor y = ctx.attend(layer, q, k, heads(v, a.kv_heads), a.how);    // [T, H, dv]
    return linear(a.attn_output, merge_heads(y));                             // [T, D]
}

}  // namespace toy
