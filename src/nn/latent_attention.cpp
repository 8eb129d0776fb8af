#include "nn/latent_attention.h"

#include "tensor/graph.h"

namespace toy {
namespace {

// [T, H·(n + r)]
Tensor queries(Operand x, const LatentAttention& a) {
    return a.attn_q ? linear(a.attn_q, x) : linear(a.attn_q_b, norm(linear(a.attn_q_a, x), a.attn_q_a_norm));
}

// Each head through its own matrix: w [H, N, K], x [H, T, K] -> [T, H, N].
Tensor by_head(Tensor w, Operand x) { return contiguous(permute(matmul(w, x), {1, 0, 2})); }

}  // namespace

Tensor attention(Operand x, const LatentAttention& a, int layer, Context& ctx) {
    const Scope scope(x.tensor, "attention");
    const std::vector<Tensor> q =
        split(heads(queries(x, a), a.heads), {a.plain_size, a.rotated_size});                    // [T, H, n], [T, H, r]
    const std::vector<Tensor> kv = split(linear(a.attn_kv_a_mqa, x), {a.rank, a.rotated_size});  // [T, c], [T, r]
    const Tensor latent = heads(norm(kv[0], a.attn_kv_a_norm), 1);                               // [T, 1, c]
    const Tensor q_rotated = rope(q[1], ctx.positions(), a.rope);                                // [T, H, r]
    const Tensor k_rotated = rope(heads(kv[1], 1), ctx.positions(), a.rope);                     // [T, 1, r]
    const Tensor q_latent = by_head(a.attn_k_b, permute(q[0], {1, 0, 2}));                       // [T, H, c]
    const Tensor q_all = named(concat(q_latent, q_rotated, -1), "q_rot");                        // [T, H, c + r]
    const Tensor k_all = named(concat(latent, k_rotated, -1), "k_rot");                          // [T, 1, c + r]
    const Tensor y = ctx.attend(layer, q_all, k_all, {}, a.how);                                 // [T, H, c]
    const Tensor by_token = contiguous(permute(y, {1, 0, 2}));  // [H, T, c], packed for ggml's fast product
    return linear(a.attn_output, merge_heads(named(by_head(a.attn_v_b, by_token), "heads")));  // [T, D]
}

}  // namespace toy
