#pragma once
#include "tensor/ops.h"

namespace toy {

/// A normalisation over the last axis with its weight [D], and bias [D] where there is one. A weight [n, D] scales x
/// [T, n, D] row by row.
struct Norm {
    enum class Kind { rms, layer };
    Kind kind = Kind::rms;
    float eps = 0.0f;
    Tensor weight;
    Tensor bias;
};

/// RMS norm or layer norm; where the weight is absent, the identity.
Tensor norm(Operand x, const Norm& n);

}  // namespace toy
