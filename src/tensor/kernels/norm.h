#pragma once
#include <cstdint>

struct ggml_tensor;

/// RMS and layer norm with their weights, and their gradients, for custom CPU nodes. f32; rows packed; a weight [n, D]
/// or [D] (n = 1) scales row r of x by its row r mod n.
namespace toy::kernels {

struct NormKind {
    bool is_layer;  ///< the mean is subtracted
    float eps;
};

/// Groups of n rows whose contributions to the gradients of weight and bias are summed apart, so that these do not
/// depend on the number of threads.
constexpr int64_t k_norm_block = 64;

/// out = norm(x)·weight + bias; weight and bias may be null.
void norm(ggml_tensor* out, const ggml_tensor* x, const ggml_tensor* weight, const ggml_tensor* bias, NormKind kind,
          int ith, int nth);

/// Into out [R + P, n·D], where x has R groups of n rows: the gradient of x in the first R rows; where there is a
/// weight, then the sums of each block for it, a row each, and where `has_bias` those for the bias. All packed.
void norm_back(ggml_tensor* out, const ggml_tensor* x, const ggml_tensor* weight, const ggml_tensor* dy, bool has_bias,
               NormKind kind, int ith, int nth);

}  // namespace toy::kernels
