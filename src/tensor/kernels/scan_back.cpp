#include "tensor/kernels/scan_back.h"

#include <ggml.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tensor/kernels/vectorise.h"

namespace toy::kernels {
namespace {

constexpr int64_t k_most_chunks = 8;

struct Sizes {
    int64_t n, p, j, tokens, sequences, groups, a_width;
};

/// One channel of one head of one sequence: its operands, and where its gradients go.
struct Channel {
    const float *x, *dt, *a, *b, *c, *first_state, *dy, *last_gradient;
    float *dx, *ddt, *da, *db, *dc, *first_gradient;
    int64_t x_step, dt_step, bc_step;  ///< elements from one token to the next
};

float softplus(float x) { return x > 20.0f ? x : std::log1p(std::exp(x)); }

// h ← h·decay + input·b
TOY_VECTORISE void advance(const float* h, const float* decay, float input, const float* b, float* next, int64_t n) {
    for (int64_t i = 0; i < n; ++i) next[i] = h[i] * decay[i] + input * b[i];
}

// What one token adds to the gradients, given g, that of the states after it, without its own output's part.
TOY_VECTORISE void retreat(const Channel& ch, int64_t t, const float* before, const float* after, const float* decay,
                           float step, float* g, const Sizes& s) {
    const float dy = ch.dy[t * ch.x_step], x = ch.x[t * ch.x_step];
    const float *b = ch.b + t * ch.bc_step, *c = ch.c + t * ch.bc_step;
    float *db = ch.db + t * ch.bc_step, *dc = ch.dc + t * ch.bc_step;
    float dx = 0.0f, dstep = 0.0f;
    for (int64_t i = 0; i < s.n; ++i) {
        const float gradient = g[i] + dy * c[i];
        const float a = ch.a[s.a_width == 1 ? 0 : i];
        const float slope = gradient * before[i] * decay[i];
        dc[i] += dy * after[i];
        db[i] += gradient * step * x;
        dx += gradient * step * b[i];
        dstep += slope * a + gradient * x * b[i];
        ch.da[s.a_width == 1 ? 0 : i] += slope * step;
        g[i] = gradient * decay[i];
    }
    ch.dx[t * ch.x_step] = dx;
    ch.ddt[t * ch.dt_step] += dstep / (1.0f + std::exp(-ch.dt[t * ch.dt_step]));
}

void channel_back(const Channel& ch, const Sizes& s, std::vector<float>& history, std::vector<float>& decays) {
    history.resize(static_cast<size_t>((s.tokens + 1) * s.n));
    decays.resize(static_cast<size_t>(s.tokens * s.n));
    std::copy_n(ch.first_state, s.n, history.data());
    for (int64_t t = 0; t < s.tokens; ++t) {
        const float step = softplus(ch.dt[t * ch.dt_step]);
        float *decay = decays.data() + t * s.n, *h = history.data() + t * s.n;
        for (int64_t i = 0; i < s.n; ++i) decay[i] = std::exp(step * ch.a[s.a_width == 1 ? 0 : i]);
        advance(h, decay, step * ch.x[t * ch.x_step], ch.b + t * ch.bc_step, h + s.n, s.n);
    }
    std::copy_n(ch.last_gradient, s.n, ch.first_gradient);
    for (int64_t t = s.tokens - 1; t >= 0; --t) {
        const float* h = history.data() + t * s.n;
        retreat(ch, t, h, h + s.n, decays.data() + t * s.n, softplus(ch.dt[t * ch.dt_step]), ch.first_gradient, s);
    }
}

const float* data(const ggml_tensor* t) { return static_cast<const float*>(t->data); }

}  // namespace

ScanParts scan_parts(int64_t p, int64_t j, int64_t rows, int64_t sequences, int64_t a_elements, int64_t b_elements,
                     int64_t n) {
    ScanParts parts{};
    parts.chunks = std::min(j, k_most_chunks);
    parts.dt = rows * j * p;
    parts.a = parts.dt + rows * j;
    parts.b = parts.a + a_elements;
    parts.c = parts.b + parts.chunks * b_elements;
    parts.states = parts.c + parts.chunks * b_elements;
    parts.total = parts.states + sequences * j * p * n;
    return parts;
}

void scan_back(ggml_tensor* out, int ith, int nth) {
    const ggml_tensor *states = out->src[0], *x = out->src[1], *a = out->src[3], *b = out->src[4], *dy = out->src[7];
    const Sizes s{states->ne[0], x->ne[0], x->ne[1], x->ne[2], x->ne[3], b->ne[1], a->ne[0]};
    const int64_t rows = s.tokens * s.sequences, b_elements = ggml_nelements(b);
    const ScanParts parts = scan_parts(s.p, s.j, rows, s.sequences, ggml_nelements(a), b_elements, s.n);
    const auto* ids = static_cast<const int32_t*>(out->src[6]->data);
    auto* result = static_cast<float*>(out->data);
    std::vector<float> history, decays;
    for (int64_t chunk = parts.chunks * ith / nth; chunk < parts.chunks * (ith + 1) / nth; ++chunk) {
        float *db = result + parts.b + chunk * b_elements, *dc = result + parts.c + chunk * b_elements;
        std::fill_n(db, b_elements, 0.0f);
        std::fill_n(dc, b_elements, 0.0f);
        for (int64_t j = s.j * chunk / parts.chunks; j < s.j * (chunk + 1) / parts.chunks; ++j) {
            std::fill_n(result + parts.a + j * s.a_width, s.a_width, 0.0f);
            for (int64_t q = 0; q < s.sequences; ++q) {
                for (int64_t t = 0; t < s.tokens; ++t) result[parts.dt + (q * s.tokens + t) * s.j + j] = 0.0f;
                for (int64_t p = 0; p < s.p; ++p) {
                    const int64_t channel = q * s.tokens * s.j * s.p + j * s.p + p, head = q * s.tokens * s.j + j;
                    const int64_t group = (q * s.tokens * s.groups + j / (s.j / s.groups)) * s.n;
                    const int64_t state = ((q * s.j + j) * s.p + p) * s.n;
                    const int64_t first = ((ids[q] * s.j + j) * s.p + p) * s.n;
                    const Channel ch{data(x) + channel,
                                     data(out->src[2]) + head,
                                     data(a) + j * s.a_width,
                                     data(b) + group,
                                     data(out->src[5]) + group,
                                     data(states) + first,
                                     data(dy) + channel,
                                     data(dy) + rows * s.j * s.p + state,
                                     result + channel,
                                     result + parts.dt + head,
                                     result + parts.a + j * s.a_width,
                                     db + group,
                                     dc + group,
                                     result + parts.states + state,
                                     s.j * s.p,
                                     s.j,
                                     s.groups * s.n};
                    channel_back(ch, s, history, decays);
                }
            }
        }
    }
}

}  // namespace toy::kernels
