#include "tensor/kernels/gemm_node.h"

#include <ggml.h>

#include <algorithm>

#include "tensor/kernels/gemm.h"

namespace toy::kernels {
namespace {

/// One matrix of a batch, from `first` of its rows or columns on, counted along the result.
/// Neighbours in the batch of `out` share one of t where t has fewer.
Matrix matrix_of(const ggml_tensor* t, const ggml_tensor* out, bool is_turned, int64_t i2, int64_t i3, int64_t first,
                 bool along_rows) {
    const int64_t stride = static_cast<int64_t>(t->nb[1] / ggml_type_size(t->type));
    const auto batch = static_cast<size_t>(i2 / (out->ne[2] / t->ne[2])) * t->nb[2] +
                       static_cast<size_t>(i3 / (out->ne[3] / t->ne[3])) * t->nb[3];
    const auto offset = static_cast<size_t>(along_rows ? first * stride : first) * ggml_type_size(t->type);
    return {static_cast<const char*>(t->data) + batch + offset, stride, is_turned, static_cast<DType>(t->type)};
}

// The result is cut along its longer side, in whole tiles, so that the shorter operand is packed by every thread.
void compute(ggml_tensor* out, int ith, int nth, void* self) {
    const auto& node = *static_cast<const GemmNode*>(self);
    const ggml_tensor *a = out->src[node.adds ? 1 : 0], *b = out->src[node.adds ? 2 : 1];
    const int64_t m = out->ne[1], n = out->ne[0], batches = out->ne[2] * out->ne[3];
    const bool by_rows = m >= n;
    const int64_t tile = by_rows ? tile_size().rows : tile_size().columns, side = by_rows ? m : n;
    const int64_t tiles = (side + tile - 1) / tile;
    const int64_t end = batches * tiles * (ith + 1) / nth;
    for (int64_t i = batches * tiles * ith / nth; i < end;) {
        const int64_t batch = i / tiles, first = i % tiles * tile;
        const int64_t count = std::min(tiles - i % tiles, end - i);
        const int64_t length = std::min(side - first, count * tile);
        const int64_t i2 = batch % out->ne[2], i3 = batch / out->ne[2];
        Product p{};
        p.m = by_rows ? length : m;
        p.n = by_rows ? n : length;
        p.k = a->ne[node.a_turned ? 1 : 0];
        p.a = matrix_of(a, out, node.a_turned, i2, i3, by_rows ? first : 0, !node.a_turned);
        p.b = matrix_of(b, out, node.b_turned, i2, i3, by_rows ? 0 : first, node.b_turned);
        p.c_stride = n;
        p.c_type = static_cast<DType>(out->type);
        p.c = static_cast<char*>(out->data) +
              static_cast<size_t>(batch * m * n + (by_rows ? first * n : first)) * ggml_type_size(out->type);
        p.adds = node.adds;
        p.is_half = a->type == GGML_TYPE_BF16 || b->type == GGML_TYPE_BF16;
        multiply(p);
        i += count;
    }
}

}  // namespace

ggml_tensor* GemmNode::make(ggml_context* context, std::span<ggml_tensor* const> in) const {
    void* self = const_cast<GemmNode*>(this);
    if (adds) {
        ggml_tensor* operands[] = {in[1], in[2]};
        return ggml_custom_inplace(context, in[0], operands, 2, compute, GGML_N_TASKS_MAX, self);
    }
    ggml_tensor* operands[] = {in[0], in[1]};
    const ggml_tensor *a = in[0], *b = in[1];
    return ggml_custom_4d(context, GGML_TYPE_F32, b->ne[b_turned ? 1 : 0], a->ne[a_turned ? 0 : 1], a->ne[2], a->ne[3],
                          operands, 2, compute, GGML_N_TASKS_MAX, self);
}

}  // namespace toy::kernels
