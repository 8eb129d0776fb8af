// StableLM 2, StableLM-3B.
//
// What is unusual about it: layer norms around a SwiGLU feed-forward; a quarter of each head is rotated. In the 12B
// model attention and feed-forward read the same norm of x (there is no ffn_norm), and each head of Q and K has a layer
// norm with a weight of its own.

#include "models/family.h"

namespace toy {
namespace {

Spec read(const SpecKeys& keys) {
    Spec s = read_common(keys, Rope::Order::neox);
    read_norm(keys, Norm::Kind::layer, s);
    if (keys.has_tensor("blk.0.attn_q_norm.weight")) s.qk_norm = QkNorm::per_head_own;
    if (!keys.has_tensor("blk.0.ffn_norm.weight")) {
        s.has_ffn_norm = false;
        s.residual = Residual::parallel_shared;
    }
    return s;
}

}  // namespace

extern const Family k_stablelm;
const Family k_stablelm{"stablelm", "StableLM 2, StableLM-3B", read};

}  // namespace toy
