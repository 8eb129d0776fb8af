#pragma once
#include <array>

#include "tensor/ops.h"

namespace toy {

/// How a layer attends; what is not a weight.
struct Attn {
    float scale = 0.0f;          ///< of q·k, usually 1/√d
    float softcap = 0.0f;        ///< c·tanh(·/c) of the scaled scores; 0 for none
    int window = 0;              ///< keys that a token sees, itself included; 0 for all before it
    bool is_causal = true;       ///< otherwise a token sees its whole text
    int64_t values_in_keys = 0;  ///< where above 0 there is no v: the values are that many first elements of the keys
};

/// Sizes of what a recurrent layer remembers of a sequence.
struct StateShape {
    int64_t channels = 0, taps = 0;          ///< of the convolution: I', W−1
    int64_t heads = 0, size = 0, state = 0;  ///< of the scan: J, P, N
};

/// What a recurrent layer remembers of S sequences.
struct RecurrentState {
    Tensor conv;  ///< [S, I', W−1], the inputs of the convolution that came last
    Tensor scan;  ///< [R, J, P, N] for all sequences that are held
    Tensor ids;   ///< i32 [S]: which of the R are those of this graph
};

/// What the mixers need besides their weights. One Context serves the building of one Graph; its tokens are S sequences
/// of T tokens each, [S·T] rows in all. FullSequence (scoring, training) and the engine's cached steps implement it.
class Context {
 public:
    virtual ~Context() = default;

    virtual int64_t sequences() const = 0;  ///< S

    /// Position of each row in its sequence: i32 [S·T].
    virtual Tensor positions() = 0;

    /// Whether these sequences are so long that LongRoPE's other factors hold for them.
    virtual bool is_long() const = 0;

    /// q [S·T, H, d], k [S·T, K, d], v [S·T, K, dv] of one layer -> [S·T, H, dv]. Stores k and v where they live, and
    /// lets each row attend to its own sequence, up to itself, within the window.
    virtual Tensor attend(int layer, Tensor q, Tensor k, Tensor v, const Attn& how) = 0;

    /// What a recurrent layer remembers; then, once the layer has read it, what it shall remember: conv [S, I', W−1],
    /// scan [S, J, P, N], both packed.
    virtual RecurrentState recall(int layer, const StateShape& shape) = 0;
    virtual void remember(int layer, Tensor conv, Tensor scan) = 0;

    /// Keeps of x [S·T, D] the rows whose outputs are wanted: [O, D].
    virtual Tensor select_outputs(Tensor x) = 0;
};

/// softmax(scale·q·kᵀ + mask)·v: q [S, H, T, d], k [S, K, N, d], v [S, K, N, dv] or absent (Attn::values_in_keys), mask
/// f16 [S, 1, T, N] or absent -> [S·T, H, dv]; fused, or composed of plain operators (which a tap can see, and which is
/// the fused one's reference).
Tensor attend_to(Operand q, Tensor k, Tensor v, Tensor mask, const Attn& how, bool fused);

}  // namespace toy
