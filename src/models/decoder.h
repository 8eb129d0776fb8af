#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include "models/spec.h"
#include "nn/block.h"

namespace toy {

/// The weights of a decoder or encoder, named as GGUF names them.
struct Decoder {
    Spec spec;
    Tensor token_embd;     ///< [V, D]
    Tensor token_types;    ///< [types, D], the first of which is added to every token (BERT); or absent
    Tensor position_embd;  ///< [context, D], or absent
    Norm token_embd_norm;  ///< of the sum of these, or absent
    Tensor rope_freqs;     ///< f32 [dims/2] dividing the rope angles of all layers, or absent (Llama 3)
    Tensor rope_factors_short, rope_factors_long;  ///< the same for short and long sequences, or absent (LongRoPE)
    std::vector<Block> blk;
    Norm output_norm;
    Linear output;  ///< [V, D]; the same tensor as token_embd where the head is tied; absent in encoders
};

// T tokens, D width, V vocabulary, O rows whose logits are wanted. Shapes are row-major.

/// ids i32 [T] -> [O, D].
Tensor hidden(const Decoder& m, Tensor ids, Context& ctx);
/// Any rows [N, D] -> [N, V].
Tensor logits(const Decoder& m, Tensor x);

/// A decoder of that architecture with blocks set up and all weights still absent.
Decoder make_decoder(const Spec& spec);

}  // namespace toy
