#pragma once
#include <variant>

#include "nn/attention.h"
#include "nn/experts.h"
#include "nn/feed_forward.h"
#include "nn/latent_attention.h"
#include "nn/state_space.h"

namespace toy {

/// What mixes tokens.
using Mixer = std::variant<Attention, LatentAttention, StateSpace>;
/// What treats each token for itself; nothing in Mamba.
using Ffn = std::variant<std::monostate, FeedForward, Experts>;

/// One layer of a decoder or encoder. Absent norms are the identity, a scale of 1 is no node.
struct Block {
    int layer = 0;
    bool is_last = false;
    Norm attn_norm;  ///< before the mixer
    Mixer mixer;
    Norm post_attention_norm;      ///< after it, before the residual sum (Gemma 2)
    Norm attn_output_norm;         ///< of the sum (BERT)
    bool is_parallel = false;      ///< the feed-forward reads x, not x + a (GPT-NeoX)
    bool ffn_shares_norm = false;  ///< it reads the norm that the mixer reads (Falcon)
    Norm ffn_norm;                 ///< before the feed-forward
    Ffn ffn;
    Norm post_ffw_norm;
    Norm layer_output_norm;       ///< of the sum (BERT)
    float residual_scale = 1.0f;  ///< of what each half adds (Granite)
};

/// x [S·T, D] -> [S·T, D]; the last block [O, D]: rows that are not wanted are dropped before its feed-forward.
Tensor block(Tensor x, const Block& b, Context& ctx);

}  // namespace toy
