#pragma once
#include "nn/context.h"
#include "nn/linear.h"
#include "nn/norm.h"

namespace toy {

/// Multi-head attention with grouped keys and values (arXiv 2305.13245).
struct Attention {
    Linear attn_q;       ///< [H·d, D]
    Linear attn_k;       ///< [K·d, D]
    Linear attn_v;       ///< [K·dv, D]
    Linear attn_qkv;     ///< the three in one, [H·d + K·d + K·dv, D]; then they are absent
    Norm attn_q_norm;    ///< of the queries, [d], [H, d] or [H·d]; or absent
    Norm attn_k_norm;    ///< of the keys, likewise
    Linear attn_output;  ///< [D, H·dv]
    int64_t heads = 0, kv_heads = 0, head_size = 0, value_size = 0;
    Rope rope;
    Tensor rope_factors;       ///< f32 [dims/2] dividing the rope angles, or absent
    Tensor rope_factors_long;  ///< the same for long sequences, where they have their own (LongRoPE)
    Attn how;
};

/// x [S·T, D] -> [S·T, D].
Tensor attention(Operand x, const Attention& a, int layer, Context& ctx);

}  // namespace toy
