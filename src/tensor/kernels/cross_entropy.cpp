#include "tensor/kernels/cross_entropy.h"

#include <ggml.h>

#include <algorithm>
#include <cmath>

#include "tensor/kernels/exponential.h"
#include "tensor/kernels/vectorise.h"

namespace toy::kernels {
namespace {

TOY_VECTORISE float largest(const float* x, int64_t n) {
    float most = x[0];
#pragma omp simd reduction(max : most)
    for (int64_t i = 0; i < n; ++i) most = x[i] > most ? x[i] : most;
    return most;
}

TOY_VECTORISE float sum_of_exponentials(const float* x, int64_t n, float most) {
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += exponential(x[i] - most);
    return sum;
}

TOY_VECTORISE void scaled_exponentials(const float* x, int64_t n, float most, float scale, float* y) {
    for (int64_t i = 0; i < n; ++i) y[i] = exponential(x[i] - most) * scale;
}

}  // namespace

void cross_entropy(ggml_tensor* out, const ggml_tensor* logits, const ggml_tensor* targets, int ith, int nth) {
    const int64_t n = logits->ne[0], rows = logits->ne[1];
    for (int64_t r = rows * ith / nth; r < rows * (ith + 1) / nth; ++r) {
        const float* x = static_cast<const float*>(logits->data) + r * n;
        const int32_t target = static_cast<const int32_t*>(targets->data)[r];
        float loss = 0.0f;
        if (target >= 0 && target < n) {
            const float most = largest(x, n);
            loss = std::log(sum_of_exponentials(x, n, most)) + (most - x[target]);
        }
        static_cast<float*>(out->data)[r] = loss;
    }
}

void cross_entropy_back(ggml_tensor* out, const ggml_tensor* logits, const ggml_tensor* targets, const ggml_tensor* dy,
                        int ith, int nth) {
    const int64_t n = logits->ne[0], rows = logits->ne[1];
    for (int64_t r = rows * ith / nth; r < rows * (ith + 1) / nth; ++r) {
        const float* x = static_cast<const float*>(logits->data) + r * n;
        float* dx = static_cast<float*>(out->data) + r * n;
        const int32_t target = static_cast<const int32_t*>(targets->data)[r];
        if (target < 0 || target >= n) {
            std::fill_n(dx, n, 0.0f);
            continue;
        }
        const float gradient = static_cast<const float*>(dy->data)[r], most = largest(x, n);
        scaled_exponentials(x, n, most, gradient / sum_of_exponentials(x, n, most), dx);
        dx[target] -= gradient;
    }
}

}  // namespace toy::kernels
