#pragma once
#include <cstdint>

struct ggml_tensor;

/// Causal attention over rows of tokens and its gradient, as custom CPU nodes: scores exist for a tile of queries at a
/// time, never for all of them.
namespace toy::kernels {

struct RowAttentionKind {
    int64_t sequences;
    float scale, softcap;
    int window;
};

/// out [S·T, H, dv]; q [S·T, H, d], k [S·T, K, d], v [S·T, K, dv] f32, packed; first i32 [S·T] or null.
void row_attention(ggml_tensor* out, const ggml_tensor* q, const ggml_tensor* k, const ggml_tensor* v,
                   const ggml_tensor* first, const RowAttentionKind& kind, int ith, int nth);

/// out: the gradients of q, k and v one after the other, all packed; dy [S·T, H, dv].
void row_attention_back(ggml_tensor* out, const ggml_tensor* q, const ggml_tensor* k, const ggml_tensor* v,
                        const ggml_tensor* first, const ggml_tensor* dy, const RowAttentionKind& kind, int ith,
                        int nth);

}  // namespace toy::kernels
