#include "nn/linear.h"

#include "tensor/graph.h"

namespace toy {

Tensor linear(const Linear& w, Operand x) {
    const Tensor y = matmul(w.weight, x);
    return named_after(w.bias ? Operand(y, x.where) + w.bias : y, w.weight);
}

Tensor linear_id(const Linear& w, Operand x, Tensor ids) {
    const Tensor y = matmul_id(w.weight, x, ids);
    return named_after(w.bias ? add_id(Operand(y, x.where), w.bias, ids) : y, w.weight);
}

}  // namespace toy
