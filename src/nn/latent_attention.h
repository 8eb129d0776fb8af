#pragma once
#include "nn/context.h"
#include "nn/linear.h"
#include "nn/norm.h"

namespace toy {

/// Multi-head latent attention (arXiv 2405.04434) in its absorbed form: what is kept of a token is one latent row c and
/// one rotated key r, shared by all heads. A head's key is k_b·c and its value v_b·c; instead of building them, the
/// query is brought into the latent space and the result out of it.
struct LatentAttention {
    Linear attn_q;                                                  ///< [H·(n + r), D]; or, through latent queries:
    Linear attn_q_a;                                                ///< [cq, D]
    Norm attn_q_a_norm;                                             ///< [cq]
    Linear attn_q_b;                                                ///< [H·(n + r), cq]
    Linear attn_kv_a_mqa;                                           ///< [c + r, D]
    Norm attn_kv_a_norm;                                            ///< [c]
    Tensor attn_k_b;                                                ///< [H, c, n]
    Tensor attn_v_b;                                                ///< [H, dv, c]
    Linear attn_output;                                             ///< [D, H·dv]
    int64_t heads = 0, plain_size = 0, rotated_size = 0, rank = 0;  ///< H, n, r, c
    Rope rope;
    Attn how;
};

/// x [S·T, D] -> [S·T, D].
Tensor attention(Operand x, const LatentAttention& a, int layer, Context& ctx);

}  // namespace toy
