#pragma once
#include "nn/context.h"
#include "nn/linear.h"
#include "nn/norm.h"

namespace toy {

/// Sizes of a state-space mixer.
struct StateSpaceSpec {
    int version = 0;      ///< 1: Mamba (arXiv 2312.00752), 2: Mamba-2 (arXiv 2405.21060); 0: there is none
    int64_t inner = 0;    ///< I
    int64_t state = 0;    ///< N
    int64_t kernel = 0;   ///< W, tokens that the convolution sees
    int64_t heads = 0;    ///< J; Mamba: I, one for each channel
    int64_t groups = 1;   ///< G, of heads that share B and C
    int64_t dt_rank = 0;  ///< R (Mamba)
    bool has_weightless_norms = false;  ///< dt, B and C are RMS-normalised without weights (FalconMamba)

    int64_t head_size() const { return inner / heads; }                                     ///< P
    int64_t channels() const { return version == 2 ? inner + 2 * groups * state : inner; }  ///< I', of the convolution
    bool operator==(const StateSpaceSpec&) const = default;
};

/// A selective state space in place of attention: a short causal convolution, then a recurrence whose coefficients
/// depend on the token.
struct StateSpace {
    StateSpaceSpec spec;
    float eps = 0.0f;
    Linear ssm_in;      ///< [2I, D]; Mamba-2: [2I + 2G·N + J, D]
    Linear ssm_conv1d;  ///< [I', W], bias [I']
    Linear ssm_x;       ///< [R + 2N, I] (Mamba)
    Linear ssm_dt;      ///< [I, R], bias [I]; Mamba-2: the bias [J] alone
    Tensor ssm_a;       ///< [I, N]; Mamba-2: [J, 1]. Negative: −exp of what was trained
    Tensor ssm_d;       ///< [I]; Mamba-2: [J, 1]
    Norm ssm_norm;      ///< [G, I/G] (Mamba-2)
    Linear ssm_out;     ///< [D, I]
};

/// x [S·T, D] -> [S·T, D].
Tensor state_space(Operand x, const StateSpace& m, int layer, Context& ctx);

}  // namespace toy
