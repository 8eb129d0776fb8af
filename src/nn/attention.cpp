#include "nn/attention.h"

#include "tensor/graph.h"

namespace toy {
namespace {

// {[T, H·d], [T, K·d], [T, K·dv]}
std::array<Tensor, 3> queries_keys_values(Operand x, const Attention& a) {
    if (!a.attn_qkv) return project(x, {a.attn_q, a.attn_k, a.attn_v});
    const std::vector<Tensor> parts =
        split(linear(a.attn_qkv, x), {a.heads * a.head_size, a.kv_heads * a.head_size, a.kv_heads * a.value_size});
    return {named(parts[0], "attn_q"), named(parts[1], "attn_k"), named(parts[2], "attn_v")};
}

// [T, n·d] -> [T, n, d], normalised over a whole row or over each head, as wide as the weight is.
Tensor normed_heads(Operand x, int64_t n, const Norm& weight) {
    const bool is_full =
        weight.weight && n > 1 && weight.weight.rank() == 1 && weight.weight.dim(-1) == x.tensor.dim(-1);
    return is_full ? heads(norm(x, weight), n) : norm(heads(x, n), weight);
}

}  // namespace

Tensor attention(Operand x, const Attention& a, int layer, Context& ctx) {
    const Scope scope(x.tensor, "attention");
    const Tensor factors = ctx.is_long() && a.rope_factors_long ? a.rope_factors_long : a.rope_factors;
    auto [q, k, v] = queries_keys_values(x, a);  // [T, H·d], [T, K·d], [T, K·dv]
    q = rope(normed_heads(q, a.heads, a.attn_q_norm), ctx.positions(), a.rope, factors);     // [T, H, d]
    k = rope(normed_heads(k, a.kv_heads, a.attn_k_norm), ctx.positions(), a.rope, factors);  // [T, K, d]
    const Tensor y =
        ctx.attend(layer, named(q, "q_rot"), named(k, "k_rot"), heads(v, a.kv_heads), a.how);  // [T, H, dv]
    return linear(a.attn_output, merge_heads(named(y, "heads")));                              // [T, D]
}

}  // namespace toy
