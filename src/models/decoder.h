#pragma once
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "models/spec.h"
#include "nn/block.h"

namespace toy {

/// The weights of a decoder, named as GGUF names them.
struct Decoder {
    Spec spec;
    Tensor token_embd;  ///< [V, D]
    Tensor rope_freqs;  ///< f32 [dims/2] dividing the rope angles of all layers, or absent (Llama 3)
    std::vector<Block> blk;
    Norm output_norm;
    Linear output;  ///< [V, D]; the same tensor as token_embd where the head is tied
};

// T tokens, D width, V vocabulary, O rows whose logits are wanted. Shapes are row-major.

/// ids i32 [T] -> [O, D].
Tensor hidden(const Decoder& m, Tensor ids, Context& ctx);
/// Any rows [N, D] -> [N, V].
Tensor logits(const Decoder& m, Tensor x);

/// One entry of the table by which weights are loaded, saved, counted: the name in the file, the shape, and where it
/// goes.
struct WeightEntry {
    std::string name;
    std::vector<int64_t> shape;  ///< row-major
    Tensor* slot;
};
/// All weights that the Spec calls for, in the order of the forward.
std::vector<WeightEntry> weight_table(Decoder& m);

/// A decoder of that architecture with blocks set up and all weights still absent.
Decoder make_decoder(const Spec& spec);
/// After the weights of the table are in place: points to them where one tensor serves in several places.
void share_weights(Decoder& m);

}  // namespace toy
