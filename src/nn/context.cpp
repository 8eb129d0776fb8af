#include "nn/context.h"

#include "tensor/graph.h"

namespace toy {

Tensor attend_to(Operand q, Tensor k, Tensor v, Tensor mask, const Attn& how, bool fused) {
    const Tensor x = q.tensor;
    if (!v) v = slice(k, -1, 0, how.values_in_keys);
    const int64_t rows = x.dim(-4) * x.dim(-2);  // S·T
    if (fused && x.graph()->is_fusing()) {
        const Tensor a = flash_attention(q, k, v, mask, how.scale, how.softcap);  // [S, T, H, dv]
        return reshape(a, {rows, x.dim(-3), v.dim(-1)});
    }
    // A quantised or half cache is widened here; the fused kernel reads it as it is.
    if (v.dtype() != DType::F32) v = cast(contiguous(v), DType::F32);
    Tensor scores = matmul(k, x);  // [S, H, T, N]
    if (how.softcap != 0.0f) scores = softcap(scores * how.scale, how.softcap);
    named(scores, "scores");
    const Tensor p = softmax(scores, mask, how.softcap != 0.0f ? 1.0f : how.scale);  // [S, H, T, N]
    named(p, "softmax");
    const Tensor a = matmul(transpose(v), p);  // [S, H, T, dv]
    return reshape(contiguous(permute(a, {0, 2, 1, 3})), {rows, x.dim(-3), v.dim(-1)});
}

}  // namespace toy
