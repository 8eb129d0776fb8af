#include "tensor/kernels/gelu.h"

#include <ggml.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "tensor/kernels/vectorise.h"

namespace toy::kernels {
namespace {

// Everything below is branch-free, so that loops over it become vector code.

inline double at_most(double x, double limit) { return x > limit ? limit : x; }
inline double at_least(double x, double limit) { return x < limit ? limit : x; }
inline float at_least(float x, float limit) { return x < limit ? limit : x; }

// 2^t to float32 rounding, 0 and infinity beyond its range. The argument comes in float64: the relative error of the
// result is the absolute error of t, which float32 would round to 2^-18 for the t of GELU's tail.
inline float exp2_of(double t) {
    t = at_least(at_most(t, 128.0), -127.0);
    constexpr double shift = 0x1.8p52;  // adding it leaves the nearest integer in the low bits
    const double shifted = t + shift;
    const auto whole = static_cast<int32_t>(std::bit_cast<int64_t>(shifted));
    const auto f = static_cast<float>(t - (shifted - shift));  // in [-1/2, 1/2]
    // A fit of 2^f, its largest relative error 2^-29.
    float p = 0.000153458074f;
    p = p * f + 0.00133999312f;
    p = p * f + 0.00961848897f;
    p = p * f + 0.0555032878f;
    p = p * f + 0.240226469f;
    p = p * f + 0.693147206f;
    p = p * f + 1.0f;
    return p * std::bit_cast<float>(static_cast<uint32_t>(whole + 127) << 23);
}

// 0.5·x·(1 + tanh(u)) = x / (1 + exp(−2u)) with u = √(2/π)·(x + 0.044715·x³): one exponential, and no cancellation for
// x << 0. Below −11 the result is less than any float32.
inline float gelu(float value) {
    const float x = at_least(value, -11.0f);
    constexpr double scale = -2.0 * 0.79788456080286535588 * 1.44269504088896340736;  // −2·√(2/π)·log₂e
    const double z = x;
    return x / (1.0f + exp2_of(scale * z * (1.0 + 0.044715 * z * z)));
}

// exp(z²)·erfc(z) for z = (1/t − 1)/0.4 in [0, 10.65]: a fit, its largest relative error 2^-28.
inline float scaled_erfc(float t) {
    float p = -0.03767355f;
    p = p * t + 0.24445213f;
    p = p * t - 0.615703007f;
    p = p * t + 0.716792962f;
    p = p * t - 0.440483424f;
    p = p * t + 0.367568331f;
    p = p * t + 0.0904800213f;
    p = p * t + 0.225564744f;
    p = p * t + 0.223123118f;
    p = p * t + 0.225886308f;
    p = p * t - 7.63035148e-06f;
    return p;
}

// x·(1 − erfc(|x|/√2)/2) above 0 and x·erfc(|x|/√2)/2 below, where 1 + erf would lose the precision of the tail.
// Below −15 the result is less than any float32.
inline float gelu_erf(float value) {
    const float x = at_least(value, -15.0f);
    const float size = std::abs(x) > 15.0f ? 15.0f : std::abs(x);
    const double z = size;
    constexpr double scale = -0.5 * 1.44269504088896340736;  // exp(−z²/2) as a power of 2
    const float t = 1.0f / (1.0f + 0.4f * 0.70710678118654752440f * size);
    const float tail = 0.5f * exp2_of(scale * z * z) * scaled_erfc(t);
    return x * (x < 0.0f ? tail : 1.0f - tail);
}

// With s = 1/(1 + exp(−2u)): s + x·s·(1 − s)·2u′, u as above.
inline float gelu_slope(float value) {
    const float x = at_least(value, -11.0f) < 11.0f ? at_least(value, -11.0f) : 11.0f;
    constexpr double scale = -2.0 * 0.79788456080286535588 * 1.44269504088896340736;
    const double z = x;
    const float s = 1.0f / (1.0f + exp2_of(scale * z * (1.0 + 0.044715 * z * z)));
    constexpr float k = 2.0f * 0.79788456080286535588f;
    return s + x * s * (1.0f - s) * (k + 3.0f * 0.044715f * k * x * x);
}

// Φ(x) + x·φ(x).
inline float gelu_erf_slope(float value) {
    const float x = at_least(value, -15.0f);
    const float size = std::abs(x) > 15.0f ? 15.0f : std::abs(x);
    const double z = size;
    const float e = exp2_of(-0.5 * 1.44269504088896340736 * z * z);
    const float t = 1.0f / (1.0f + 0.4f * 0.70710678118654752440f * size);
    const float tail = 0.5f * e * scaled_erfc(t);
    const float density = 0.39894228040143267794f * e;
    return (x < 0.0f ? tail : 1.0f - tail) + (x < 0.0f ? -size : size) * density;
}

TOY_VECTORISE void gelu_back_piece(const float* x, const float* dy, float* dx, int64_t n) {
    for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * gelu_slope(x[i]);
}

TOY_VECTORISE void gelu_erf_back_piece(const float* x, const float* dy, float* dx, int64_t n) {
    for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * gelu_erf_slope(x[i]);
}

TOY_VECTORISE void gelu_piece(const float* x, float* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = gelu(x[i]);
}

TOY_VECTORISE void gelu_erf_piece(const float* x, float* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = gelu_erf(x[i]);
}

TOY_VECTORISE void geglu_piece(const float* gate, const float* up, float* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = gelu(gate[i]) * up[i];
}

// The address of an element of an operand whose rows lie at one distance.
const float* element(const ggml_tensor* tensor, int64_t row, int64_t column) {
    const char* start = static_cast<const char*>(tensor->data) + static_cast<size_t>(row) * tensor->nb[1];
    return reinterpret_cast<const float*>(start) + column;
}

// Calls piece(row, first column, number of elements, their place in the result) for what thread ith of nth computes: a
// part of all elements, so that a single row is shared as well.
template <class Piece>
void for_share(const ggml_tensor* out, int ith, int nth, Piece piece) {
    const int64_t count = ggml_nelements(out), columns = out->ne[0];
    const int64_t end = count * (ith + 1) / nth;
    for (int64_t i = count * ith / nth; i < end;) {
        const int64_t column = i % columns;
        const int64_t n = std::min(columns - column, end - i);
        piece(i / columns, column, n, static_cast<float*>(out->data) + i);
        i += n;
    }
}

}  // namespace

void gelu_node(ggml_tensor* out, int ith, int nth, void*) {
    for_share(out, ith, nth, [&](int64_t row, int64_t column, int64_t n, float* y) {
        gelu_piece(element(out->src[0], row, column), y, n);
    });
}

void gelu_erf_node(ggml_tensor* out, int ith, int nth, void*) {
    for_share(out, ith, nth, [&](int64_t row, int64_t column, int64_t n, float* y) {
        gelu_erf_piece(element(out->src[0], row, column), y, n);
    });
}

void geglu_node(ggml_tensor* out, int ith, int nth, void*) {
    for_share(out, ith, nth, [&](int64_t row, int64_t column, int64_t n, float* y) {
        geglu_piece(element(out->src[0], row, column), element(out->src[1], row, column), y, n);
    });
}

void gelu_back_node(ggml_tensor* out, int ith, int nth, void*) {
    for_share(out, ith, nth, [&](int64_t row, int64_t column, int64_t n, float* dx) {
        gelu_back_piece(element(out->src[0], row, column), element(out->src[1], row, column), dx, n);
    });
}

void gelu_erf_back_node(ggml_tensor* out, int ith, int nth, void*) {
    for_share(out, ith, nth, [&](int64_t row, int64_t column, int64_t n, float* dx) {
        gelu_erf_back_piece(element(out->src[0], row, column), element(out->src[1], row, column), dx, n);
    });
}

}  // namespace toy::kernels
