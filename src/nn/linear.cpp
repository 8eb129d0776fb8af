#include "nn/linear.h"

namespace toy {

Tensor linear(const Linear& w, Operand x) {
    const Tensor y = matmul(w.weight, x);
    return w.bias ? Operand(y, x.where) + w.bias : y;
}

Tensor linear_id(const Linear& w, Operand x, Tensor ids) {
    const Tensor y = matmul_id(w.weight, x, ids);
    return w.bias ? add_id(Operand(y, x.where), w.bias, ids) : y;
}

}  // namespace toy
