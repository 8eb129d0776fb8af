#pragma once

struct ggml_tensor;

/// Cross entropy with integer targets, for custom CPU nodes. logits f32 [N, V], packed; targets i32 [N], of which those
/// outside [0, V) are ignored.
namespace toy::kernels {

/// out [N] = log Σ exp(logits) − logits[target], 0 where the target is ignored.
void cross_entropy(ggml_tensor* out, const ggml_tensor* logits, const ggml_tensor* targets, int ith, int nth);

/// out [N, V] = (softmax(logits) − onehot(target))·dy, 0 where the target is ignored; dy [N].
void cross_entropy_back(ggml_tensor* out, const ggml_tensor* logits, const ggml_tensor* targets, const ggml_tensor* dy,
                        int ith, int nth);

}  // namespace toy::kernels
