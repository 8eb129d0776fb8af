#include "nn/norm.h"

#include "tensor/graph.h"

namespace toy {

Tensor norm(Operand x, const Norm& n) {
    if (!n.weight) return x.tensor;
    const Tensor y = n.kind == Norm::Kind::rms ? rms_norm(x, n.weight, n.eps) : layer_norm(x, n.weight, n.bias, n.eps);
    return named_after(y, n.weight);
}

}  // namespace toy
