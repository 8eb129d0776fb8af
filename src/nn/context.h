#pragma once
#include <array>

#include "tensor/ops.h"

namespace toy {

/// How a layer attends; what is not a weight.
struct Attn {
    float scale = 0.0f;    ///< of q·k, usually 1/√d
    float softcap = 0.0f;  ///< c·tanh(·/c) of the scaled scores; 0 for none
    int window = 0;        ///< keys that a token sees, itself included; 0 for all before it
};

/// What the mixers need besides their weights. One Context serves the building of one Graph; its tokens are S sequences
/// of T tokens each, [S·T] rows in all. FullSequence (scoring, training) and the engine's cached steps implement it.
class Context {
 public:
    virtual ~Context() = default;

    /// Position of each row in its sequence: i32 [S·T].
    virtual Tensor positions() = 0;

    /// q [S·T, H, d], k [S·T, K, d], v [S·T, K, dv] of one layer -> [S·T, H, dv]. Stores k and v where they live, and
    /// lets each row attend to its own sequence, up to itself, within the window.
    virtual Tensor attend(int layer, Tensor q, Tensor k, Tensor v, const Attn& how) = 0;

    /// Keeps of x [S·T, D] the rows whose outputs are wanted: [O, D].
    virtual Tensor select_outputs(Tensor x) = 0;
};

/// softmax(scale·q·kᵀ + mask)·v: q [S, H, T, d], k [S, K, N, d], v [S, K, N, dv], mask f16 [S, 1, T, N] -> [S·T, H,
/// dv]; fused, or composed of plain operators (which a tap can see, and which is the fused one's reference).
Tensor attend_to(Operand q, Tensor k, Tensor v, Tensor mask, const Attn& how, bool fused);

}  // namespace toy
