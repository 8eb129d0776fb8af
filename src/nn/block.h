#pragma once
#include "nn/attention.h"
#include "nn/feed_forward.h"

namespace toy {

/// One layer of a decoder. Absent norms are the identity, a scale of 1 is no node.
struct Block {
    int layer = 0;
    bool is_last = false;
    Norm attn_norm;  ///< before attention
    Attention attn;
    Norm post_attention_norm;  ///< after it, before the residual sum (Gemma 2)
    Norm ffn_norm;             ///< before the feed-forward
    FeedForward ffn;
    Norm post_ffw_norm;
    float residual_scale = 1.0f;  ///< of what each half adds (Granite)
};

/// x [S·T, D] -> [S·T, D]; the last block [O, D]: rows that are not wanted are dropped before its feed-forward.
Tensor block(Tensor x, const Block& b, Context& ctx);

}  // namespace toy
