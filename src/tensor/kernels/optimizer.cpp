#include "tensor/kernels/optimizer.h"

#include <ggml.h>

#include <algorithm>
#include <cmath>

#include "tensor/kernels/vectorise.h"

namespace toy::kernels {
namespace {

TOY_VECTORISE void adamw_piece(float* w, const float* g, float* m, float* v, int64_t n, const AdamW& how) {
    const float keep = 1.0f - how.rate * how.decay, rate = how.rate * how.correction1;
    for (int64_t i = 0; i < n; ++i) {
        const float gradient = g[i] * how.gradient_scale;
        m[i] = how.beta1 * m[i] + (1.0f - how.beta1) * gradient;
        v[i] = how.beta2 * v[i] + (1.0f - how.beta2) * gradient * gradient;
        w[i] = w[i] * keep - rate * m[i] / (std::sqrt(v[i] * how.correction2) + how.eps);
    }
}

// Lanes of a vector are summed apart, which also keeps rounding errors small.
TOY_VECTORISE float squares_piece(const float* x, int64_t n) {
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
    return sum;
}

}  // namespace

void adamw(ggml_tensor* w, const ggml_tensor* gradient, ggml_tensor* m, ggml_tensor* v, const AdamW& how, int ith,
           int nth) {
    const int64_t count = ggml_nelements(w), first = count * ith / nth, n = count * (ith + 1) / nth - first;
    const auto at = [&](const ggml_tensor* t) { return static_cast<float*>(t->data) + first; };
    adamw_piece(at(w), at(gradient), at(m), at(v), n, how);
}

void sum_squares(ggml_tensor* out, const ggml_tensor* x, int ith, int nth) {
    const int64_t count = ggml_nelements(x), blocks = out->ne[0];
    for (int64_t block = blocks * ith / nth; block < blocks * (ith + 1) / nth; ++block) {
        const int64_t first = block * k_squares_block;
        static_cast<float*>(out->data)[block] =
            squares_piece(static_cast<const float*>(x->data) + first, std::min(k_squares_block, count - first));
    }
}

}  // namespace toy::kernels
