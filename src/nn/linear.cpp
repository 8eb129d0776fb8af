#include "nn/linear.h"

#include "tensor/graph.h"

namespace toy {

Tensor linear(const Linear& w, Operand x) {
    Tensor y = matmul(w.weight, x);
    for (const Adapter& adapter : w.adapters) y = y + matmul(adapter.b, matmul(adapter.a, x)) * adapter.scale;
    return named_after(w.bias ? Operand(y, x.where) + w.bias : y, w.weight);
}

Tensor linear_id(const Linear& w, Operand x, Tensor ids) {
    Tensor y = matmul_id(w.weight, x, ids);
    for (const Adapter& adapter : w.adapters) {
        y = y + matmul_id(adapter.b, matmul_id(adapter.a, x, ids), ids) * adapter.scale;
    }
    return named_after(w.bias ? add_id(Operand(y, x.where), w.bias, ids) : y, w.weight);
}

}  // namespace toy
