#include "tensor/kernels/norm.h"

#include <ggml.h>

#include <algorithm>
#include <cmath>

#include "tensor/kernels/vectorise.h"

namespace toy::kernels {
namespace {

struct Moments {
    float mean, scale;  ///< x̂ = (x − mean)·scale
};

TOY_VECTORISE Moments moments_of(const float* x, int64_t n, NormKind kind) {
    float sum = 0.0f, squares = 0.0f;
    if (kind.is_layer) {
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < n; ++i) sum += x[i];
    }
    const float mean = sum / static_cast<float>(n);
#pragma omp simd reduction(+ : squares)
    for (int64_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
    return {mean, 1.0f / std::sqrt(squares / static_cast<float>(n) + kind.eps)};
}

TOY_VECTORISE void normalise(const float* x, int64_t n, Moments m, const float* weight, const float* bias, float* y) {
    if (weight == nullptr) {
        for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m.mean) * m.scale;
    } else if (bias == nullptr) {
        for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m.mean) * m.scale * weight[i];
    } else {
        for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m.mean) * m.scale * weight[i] + bias[i];
    }
}

// With g = dy·weight and x̂ = (x − mean)·scale: dx = scale·(g − mean(g) − x̂·mean(g·x̂)), the first mean for layer norm
// alone.
TOY_VECTORISE void row_back(const float* x, const float* dy, int64_t n, Moments m, const float* weight, bool is_layer,
                            float* dx) {
    float plain = 0.0f, along = 0.0f;
#pragma omp simd reduction(+ : plain, along)
    for (int64_t i = 0; i < n; ++i) {
        const float g = weight == nullptr ? dy[i] : dy[i] * weight[i];
        plain += g;
        along += g * (x[i] - m.mean) * m.scale;
    }
    const float mean = is_layer ? plain / static_cast<float>(n) : 0.0f;
    const float slope = along / static_cast<float>(n);
    for (int64_t i = 0; i < n; ++i) {
        const float g = weight == nullptr ? dy[i] : dy[i] * weight[i];
        dx[i] = (g - mean - (x[i] - m.mean) * m.scale * slope) * m.scale;
    }
}

TOY_VECTORISE void add_weight_terms(const float* x, const float* dy, int64_t n, Moments m, float* weight_sum,
                                    float* bias_sum) {
    for (int64_t i = 0; i < n; ++i) weight_sum[i] += dy[i] * (x[i] - m.mean) * m.scale;
    if (bias_sum == nullptr) return;
    for (int64_t i = 0; i < n; ++i) bias_sum[i] += dy[i];
}

const float* row_of(const ggml_tensor* x, int64_t row) {
    const int64_t i1 = row % x->ne[1], i2 = row / x->ne[1] % x->ne[2], i3 = row / x->ne[1] / x->ne[2];
    return reinterpret_cast<const float*>(static_cast<const char*>(x->data) + static_cast<size_t>(i1) * x->nb[1] +
                                          static_cast<size_t>(i2) * x->nb[2] + static_cast<size_t>(i3) * x->nb[3]);
}

const float* weight_row(const ggml_tensor* weight, int64_t row) {
    if (weight == nullptr) return nullptr;
    return static_cast<const float*>(weight->data) + row % weight->ne[1] * weight->ne[0];
}

}  // namespace

void norm(ggml_tensor* out, const ggml_tensor* x, const ggml_tensor* weight, const ggml_tensor* bias, NormKind kind,
          int ith, int nth) {
    const int64_t rows = ggml_nrows(x), n = x->ne[0];
    const int64_t end = rows * (ith + 1) / nth;
    for (int64_t r = rows * ith / nth; r < end; ++r) {
        const float* row = row_of(x, r);
        normalise(row, n, moments_of(row, n, kind), weight_row(weight, r), weight_row(bias, r),
                  static_cast<float*>(out->data) + r * n);
    }
}

void norm_back(ggml_tensor* out, const ggml_tensor* x, const ggml_tensor* weight, const ggml_tensor* dy, bool has_bias,
               NormKind kind, int ith, int nth) {
    const int64_t n = x->ne[0], wide = out->ne[0], group = wide / n, groups = ggml_nrows(x) / group;
    const int64_t blocks = (groups + k_norm_block - 1) / k_norm_block;
    auto* data = static_cast<float*>(out->data);
    for (int64_t block = blocks * ith / nth; block < blocks * (ith + 1) / nth; ++block) {
        float* weight_sums = weight == nullptr ? nullptr : data + (groups + block) * wide;
        float* bias_sums = weight == nullptr || !has_bias ? nullptr : data + (groups + blocks + block) * wide;
        if (weight_sums != nullptr) std::fill_n(weight_sums, wide, 0.0f);
        if (bias_sums != nullptr) std::fill_n(bias_sums, wide, 0.0f);
        const int64_t first = block * k_norm_block * group;
        const int64_t end = std::min(groups, (block + 1) * k_norm_block) * group;
        for (int64_t r = first; r < end; ++r) {
            const float *in = static_cast<const float*>(x->data) + r * n,
                        *gradient = static_cast<const float*>(dy->data) + r * n;
            const Moments m = moments_of(in, n, kind);
            row_back(in, gradient, n, m, weight_row(weight, r), kind.is_layer, data + r * n);
            if (weight_sums == nullptr) continue;
            const int64_t at = r % group * n;
            add_weight_terms(in, gradient, n, m, weight_sums + at, bias_sums == nullptr ? nullptr : bias_sums + at);
        }
    }
}

}  // namespace toy::kernels
