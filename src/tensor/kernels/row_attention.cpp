#include "tensor/kernels/row_attention.h"

#include <ggml.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/kernels/exponential.h"
#include "tensor/kernels/gemm.h"
#include "tensor/kernels/vectorise.h"

namespace toy::kernels {
namespace {

constexpr int64_t k_tile = 96;  // queries at a time, a multiple of the product's tiles

/// Sizes: T tokens, H heads of queries, K of keys, d and dv elements.
struct Sizes {
    int64_t tokens, heads, kv_heads, size, value_size;
};

/// One head of one sequence: where its first token's row starts, and the distance between rows.
struct Head {
    const float *q, *k, *v, *dy;
    float *y, *dq, *dk, *dv;
    int64_t q_step, k_step, v_step, y_step;
};

/// Queries [begin, end) of a sequence, and the keys [low, high) that some of them see.
struct Tile {
    int64_t begin, end, low, high;
    int64_t rows() const { return end - begin; }
    int64_t keys() const { return high - low; }
};

int64_t first_key(const int32_t* first, int64_t query, int window) {
    const int64_t of_document = first == nullptr ? 0 : std::min<int64_t>(first[query], query);
    return window > 0 ? std::max(of_document, query + 1 - window) : of_document;
}

Tile tile_at(int64_t begin, const Sizes& s, const int32_t* first, int window) {
    Tile tile{begin, std::min(begin + k_tile, s.tokens), s.tokens, 0};
    tile.high = tile.end;
    for (int64_t i = tile.begin; i < tile.end; ++i) tile.low = std::min(tile.low, first_key(first, i, window));
    return tile;
}

void product(int64_t m, int64_t n, int64_t k, Matrix a, Matrix b, float* c, int64_t c_stride, bool adds) {
    Product p{};
    p.m = m;
    p.n = n;
    p.k = k;
    p.a = a;
    p.b = b;
    p.c = c;
    p.c_stride = c_stride;
    p.c_type = DType::F32;
    p.adds = adds;
    multiply(p);
}

Matrix matrix(const float* data, int64_t stride, bool is_turned = false) {
    return {data, stride, is_turned, DType::F32};
}

TOY_VECTORISE float largest(const float* x, int64_t n) {
    float most = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : most)
    for (int64_t i = 0; i < n; ++i) most = x[i] > most ? x[i] : most;
    return most;
}

TOY_VECTORISE float exponentials(float* x, int64_t n, float most) {
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) {
        x[i] = exponential(x[i] - most);
        sum += x[i];
    }
    return sum;
}

TOY_VECTORISE void scale_row(float* x, int64_t n, float by) {
    for (int64_t i = 0; i < n; ++i) x[i] *= by;
}

// tanh through one exponential; the argument is not close to 0 in ways that matter: the result is multiplied by the
// cap.
TOY_VECTORISE void cap_row(float* x, int64_t n, float cap) {
    for (int64_t i = 0; i < n; ++i) {
        const float e = exponential(x[i] * (2.0f / cap) > 80.0f ? 80.0f : x[i] * (2.0f / cap));
        x[i] = cap * (1.0f - 2.0f / (e + 1.0f));
    }
}

// ds = p·(dp − Σ p·dp), times the slope of what the scores went through.
TOY_VECTORISE void softmax_back(const float* p, const float* capped, float* dp, int64_t n, float scale, float cap) {
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += p[i] * dp[i];
    if (cap == 0.0f) {
        for (int64_t i = 0; i < n; ++i) dp[i] = p[i] * (dp[i] - sum) * scale;
    } else {
        for (int64_t i = 0; i < n; ++i)
            dp[i] = p[i] * (dp[i] - sum) * scale * (1.0f - (capped[i] / cap) * (capped[i] / cap));
    }
}

/// The probabilities of a tile, [rows, keys], 0 where a query does not see a key. `capped` receives the capped scores
/// where there is a cap and somebody asks.
void probabilities(const Head& h, const Tile& t, const Sizes& s, const int32_t* first, const RowAttentionKind& kind,
                   std::vector<float>& p, std::vector<float>* capped) {
    const int64_t keys = t.keys();
    p.resize(static_cast<size_t>(t.rows() * keys));
    product(t.rows(), keys, s.size, matrix(h.q + t.begin * h.q_step, h.q_step),
            matrix(h.k + t.low * h.k_step, h.k_step, true), p.data(), keys, false);
    const bool has_cap = kind.softcap != 0.0f;
    for (int64_t i = 0; i < t.rows(); ++i) {
        float* row = p.data() + i * keys;
        scale_row(row, keys, kind.scale);
        if (has_cap) cap_row(row, keys, kind.softcap);
    }
    if (has_cap && capped != nullptr) *capped = p;
    for (int64_t i = 0; i < t.rows(); ++i) {
        float* row = p.data() + i * keys;
        const int64_t low = first_key(first, t.begin + i, kind.window) - t.low, high = t.begin + i + 1 - t.low;
        std::fill(row, row + low, 0.0f);
        std::fill(row + high, row + keys, 0.0f);
        const float sum = exponentials(row + low, high - low, largest(row + low, high - low));
        scale_row(row + low, high - low, 1.0f / sum);
    }
}

/// Room of one thread.
struct Scratch {
    std::vector<float> p, dp, capped;
};

void head_back(const Head& h, const Sizes& s, const int32_t* first, const RowAttentionKind& kind, Scratch& scratch) {
    for (int64_t begin = 0; begin < s.tokens; begin += k_tile) {
        const Tile t = tile_at(begin, s, first, kind.window);
        const int64_t rows = t.rows(), keys = t.keys();
        probabilities(h, t, s, first, kind, scratch.p, &scratch.capped);
        scratch.dp.resize(scratch.p.size());
        const Matrix dy = matrix(h.dy + t.begin * h.y_step, h.y_step);
        product(rows, keys, s.value_size, dy, matrix(h.v + t.low * h.v_step, h.v_step, true), scratch.dp.data(), keys,
                false);
        for (int64_t i = 0; i < rows; ++i) {
            const int64_t at = i * keys;
            softmax_back(scratch.p.data() + at, scratch.capped.data() + at, scratch.dp.data() + at, keys, kind.scale,
                         kind.softcap);
        }
        const Matrix ds = matrix(scratch.dp.data(), keys), k = matrix(h.k + t.low * h.k_step, h.k_step);
        product(rows, s.size, keys, ds, k, h.dq + t.begin * h.q_step, h.q_step, false);
        product(keys, s.size, rows, matrix(scratch.dp.data(), keys, true), matrix(h.q + t.begin * h.q_step, h.q_step),
                h.dk + t.low * h.k_step, h.k_step, true);
        product(keys, s.value_size, rows, matrix(scratch.p.data(), keys, true), dy, h.dv + t.low * h.v_step, h.v_step,
                true);
    }
}

Sizes sizes_of(const ggml_tensor* q, const ggml_tensor* k, const ggml_tensor* v, int64_t sequences) {
    return {q->ne[2] / sequences, q->ne[1], k->ne[1], q->ne[0], v->ne[0]};
}

const float* data(const ggml_tensor* t) { return static_cast<const float*>(t->data); }

const int32_t* first_of(const ggml_tensor* first, int64_t sequence, const Sizes& s) {
    return first == nullptr ? nullptr : static_cast<const int32_t*>(first->data) + sequence * s.tokens;
}

Head head_of(const ggml_tensor* q, const ggml_tensor* k, const ggml_tensor* v, const Sizes& s, int64_t sequence,
             int64_t head) {
    const int64_t token = sequence * s.tokens, kv = head / (s.heads / s.kv_heads);
    Head h{};
    h.q_step = s.heads * s.size;
    h.k_step = s.kv_heads * s.size;
    h.v_step = s.kv_heads * s.value_size;
    h.y_step = s.heads * s.value_size;
    h.q = data(q) + token * h.q_step + head * s.size;
    h.k = data(k) + token * h.k_step + kv * s.size;
    h.v = data(v) + token * h.v_step + kv * s.value_size;
    return h;
}

}  // namespace

void row_attention(ggml_tensor* out, const ggml_tensor* q, const ggml_tensor* k, const ggml_tensor* v,
                   const ggml_tensor* first, const RowAttentionKind& kind, int ith, int nth) {
    const Sizes s = sizes_of(q, k, v, kind.sequences);
    const int64_t tiles = (s.tokens + k_tile - 1) / k_tile, heads = kind.sequences * s.heads;
    Scratch scratch;
    // Tiles of all heads in turn: a late tile has more keys than an early one.
    for (int64_t i = ith; i < heads * tiles; i += nth) {
        const int64_t head = i % heads, tile = i / heads;
        Head h = head_of(q, k, v, s, head / s.heads, head % s.heads);
        h.y = static_cast<float*>(out->data) + head / s.heads * s.tokens * h.y_step + head % s.heads * s.value_size;
        const int32_t* seen = first_of(first, head / s.heads, s);
        const Tile t = tile_at(tile * k_tile, s, seen, kind.window);
        probabilities(h, t, s, seen, kind, scratch.p, nullptr);
        product(t.rows(), s.value_size, t.keys(), matrix(scratch.p.data(), t.keys()),
                matrix(h.v + t.low * h.v_step, h.v_step), h.y + t.begin * h.y_step, h.y_step, false);
    }
}

// A thread owns the heads of queries that share keys, so that it alone adds to the gradients of these.
void row_attention_back(ggml_tensor* out, const ggml_tensor* q, const ggml_tensor* k, const ggml_tensor* v,
                        const ggml_tensor* first, const ggml_tensor* dy, const RowAttentionKind& kind, int ith,
                        int nth) {
    const Sizes s = sizes_of(q, k, v, kind.sequences);
    auto* dq = static_cast<float*>(out->data);
    float *dk = dq + ggml_nelements(q), *dv = dk + ggml_nelements(k);
    const int64_t group = s.heads / s.kv_heads;
    Scratch scratch;
    for (int64_t i = ith; i < kind.sequences * s.kv_heads; i += nth) {
        const int64_t sequence = i / s.kv_heads, kv = i % s.kv_heads, token = sequence * s.tokens;
        for (int64_t t = token; t < token + s.tokens; ++t) {
            std::fill_n(dk + (t * s.kv_heads + kv) * s.size, s.size, 0.0f);
            std::fill_n(dv + (t * s.kv_heads + kv) * s.value_size, s.value_size, 0.0f);
        }
        for (int64_t head = kv * group; head < (kv + 1) * group; ++head) {
            Head h = head_of(q, k, v, s, sequence, head);
            h.dy = data(dy) + token * h.y_step + head * s.value_size;
            h.dq = dq + token * h.q_step + head * s.size;
            h.dk = dk + token * h.k_step + kv * s.size;
            h.dv = dv + token * h.v_step + kv * s.value_size;
            head_back(h, s, first_of(first, sequence, s), kind, scratch);
        }
    }
}

}  // namespace toy::kernels
