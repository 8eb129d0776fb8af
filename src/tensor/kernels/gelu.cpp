#include "tensor/kernels/gelu.h"

#include <ggml.h>

#include <cmath>
#include <utility>

namespace toy::kernels {
namespace {

// 0.5·x·(1 + tanh(u)) = x·sigmoid(2u) with u = √(2/π)·(x + 0.044715·x³): one exp, and no cancellation for x << 0.
float gelu(float x) {
    constexpr float k_sqrt_2_over_pi = 0.79788456080286535588f;
    const float u = k_sqrt_2_over_pi * x * (1.0f + 0.044715f * x * x);
    return x / (1.0f + std::exp(-2.0f * u));
}

// 0.5·x·erfc(−x/√2): erfc keeps its relative precision for x << 0, where 1 + erf loses it.
float gelu_erf(float x) {
    constexpr float k_sqrt_half = 0.70710678118654752440f;
    return 0.5f * x * std::erfc(-x * k_sqrt_half);
}

// The elements of thread ith: one contiguous piece of all.
std::pair<int64_t, int64_t> share(const ggml_tensor* out, int ith, int nth) {
    const int64_t count = ggml_nelements(out);
    return {count * ith / nth, count * (ith + 1) / nth};
}

template <float (*function)(float)>
void elementwise(ggml_tensor* out, int ith, int nth) {
    const auto [begin, end] = share(out, ith, nth);
    const auto* x = static_cast<const float*>(out->src[0]->data);
    auto* y = static_cast<float*>(out->data);
    for (int64_t i = begin; i < end; ++i) y[i] = function(x[i]);
}

}  // namespace

void gelu_node(ggml_tensor* out, int ith, int nth, void*) { elementwise<gelu>(out, ith, nth); }
void gelu_erf_node(ggml_tensor* out, int ith, int nth, void*) { elementwise<gelu_erf>(out, ith, nth); }

void geglu_node(ggml_tensor* out, int ith, int nth, void*) {
    const auto [begin, end] = share(out, ith, nth);
    const auto* gate = static_cast<const float*>(out->src[0]->data);
    const auto* up = static_cast<const float*>(out->src[1]->data);
    auto* y = static_cast<float*>(out->data);
    for (int64_t i = begin; i < end; ++i) y[i] = gelu(gate[i]) * up[i];
}

}  // namespace toy::kernels
