#include "nn/linear.h"

namespace toy {

Tensor linear(const Linear& w, Operand x) {
    const Tensor y = matmul(w.weight, x);
    return w.bias ? Operand(y, x.where) + w.bias : y;
}

}  // namespace toy
