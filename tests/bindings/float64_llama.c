#include "float64_llama.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    double *attn_norm, *wq, *wk, *wv, *wo, *ffn_norm, *gate, *up, *down;
    double *keys, *values; /* [tokens][kv_heads*head_size] */
} layer;

struct float64_llama {
    llama_config c;
    double *embedding, *output_norm, *output, *rope_factors;
    layer* layers;
};

/* All values of a tensor, or NULL where the file has none of that name. */
static double* weight(void* gguf, const char* name) {
    const int index = tnn_gguf_find_index(gguf, name);
    if (index < 0) return NULL;
    size_t n = 1;
    for (int axis = 0; axis < 4; ++axis) n *= (size_t)tnn_gguf_tensor_ne(gguf, index, axis);
    double* values = malloc(n * sizeof *values);
    if (tnn_gguf_read_f32_to_doubles(gguf, index, values, n) != 0) fprintf(stderr, "%s\n", tnn_last_error());
    return values;
}

static double* layer_weight(void* gguf, int i, const char* suffix) {
    char name[64];
    snprintf(name, sizeof name, "blk.%d.%s.weight", i, suffix);
    return weight(gguf, name);
}

float64_llama* float64_llama_new(void* gguf, int most_tokens) {
    float64_llama* m = calloc(1, sizeof *m);
    m->c = read_config(gguf);
    m->embedding = weight(gguf, "token_embd.weight");
    m->output_norm = weight(gguf, "output_norm.weight");
    m->output = weight(gguf, "output.weight");
    m->rope_factors = weight(gguf, "rope_freqs.weight");
    m->layers = calloc((size_t)m->c.layers, sizeof *m->layers);
    const size_t cached = (size_t)most_tokens * (size_t)(m->c.kv_heads * m->c.head_size);
    for (int i = 0; i < m->c.layers; ++i) {
        layer* l = &m->layers[i];
        l->attn_norm = layer_weight(gguf, i, "attn_norm");
        l->wq = layer_weight(gguf, i, "attn_q");
        l->wk = layer_weight(gguf, i, "attn_k");
        l->wv = layer_weight(gguf, i, "attn_v");
        l->wo = layer_weight(gguf, i, "attn_output");
        l->ffn_norm = layer_weight(gguf, i, "ffn_norm");
        l->gate = layer_weight(gguf, i, "ffn_gate");
        l->up = layer_weight(gguf, i, "ffn_up");
        l->down = layer_weight(gguf, i, "ffn_down");
        l->keys = calloc(cached, sizeof(double));
        l->values = calloc(cached, sizeof(double));
    }
    return m;
}

void float64_llama_free(float64_llama* m) {
    for (int i = 0; i < m->c.layers; ++i) {
        layer* l = &m->layers[i];
        double* all[] = {l->attn_norm, l->wq, l->wk,   l->wv,   l->wo,    l->ffn_norm,
                         l->gate,      l->up, l->down, l->keys, l->values};
        for (size_t j = 0; j < sizeof all / sizeof *all; ++j) free(all[j]);
    }
    free(m->layers);
    free(m->embedding);
    free(m->output_norm);
    free(m->output);
    free(m->rope_factors);
    free(m);
}

/* y[rows] = w[rows][cols] x */
static void product(const double* w, const double* x, int rows, int cols, double* y) {
    for (int r = 0; r < rows; ++r) {
        double sum = 0;
        for (int c = 0; c < cols; ++c) sum += w[(size_t)r * (size_t)cols + (size_t)c] * x[c];
        y[r] = sum;
    }
}

static void rms_norm(const double* x, const double* gamma, int n, double eps, double* y) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += x[i] * x[i];
    for (int i = 0; i < n; ++i) y[i] = x[i] / sqrt(sum / n + eps) * gamma[i];
}

static void rotate(const float64_llama* m, double* heads, int count, int at) {
    const int d = m->c.head_size;
    for (int h = 0; h < count; ++h) {
        for (int i = 0; i < d / 2; ++i) {
            double angle = at * pow(m->c.rope_base, -2.0 * i / d);
            if (m->rope_factors != NULL) angle /= m->rope_factors[i];
            double* pair = heads + h * d + 2 * i;
            const double a = pair[0], b = pair[1];
            pair[0] = a * cos(angle) - b * sin(angle);
            pair[1] = a * sin(angle) + b * cos(angle);
        }
    }
}

/* y[heads*d] from the query heads q and positions 0..at of the layer's cache. */
static void attend(const float64_llama* m, const layer* l, const double* q, int at, double* y) {
    const int d = m->c.head_size, row = m->c.kv_heads * d, group = m->c.heads / m->c.kv_heads;
    double* scores = malloc((size_t)(at + 1) * sizeof *scores);
    for (int h = 0; h < m->c.heads; ++h) {
        const double* keys = l->keys + h / group * d;
        const double* values = l->values + h / group * d;
        double most = -INFINITY, sum = 0;
        for (int t = 0; t <= at; ++t) {
            scores[t] = 0;
            for (int i = 0; i < d; ++i) scores[t] += q[h * d + i] * keys[t * row + i] / sqrt(d);
            most = fmax(most, scores[t]);
        }
        for (int t = 0; t <= at; ++t) sum += scores[t] = exp(scores[t] - most);
        for (int i = 0; i < d; ++i) {
            y[h * d + i] = 0;
            for (int t = 0; t <= at; ++t) y[h * d + i] += scores[t] / sum * values[t * row + i];
        }
    }
    free(scores);
}

void float64_llama_step(float64_llama* m, int id, int at, double* logits) {
    const llama_config* c = &m->c;
    const int q_size = c->heads * c->head_size, kv_size = c->kv_heads * c->head_size;
    const int most =
        c->ffn > q_size ? (c->ffn > c->width ? c->ffn : c->width) : (q_size > c->width ? q_size : c->width);
    double* buffer = calloc((size_t)(5 * most), sizeof *buffer);
    double *x = buffer, *h = x + most, *q = h + most, *mixed = q + most, *out = mixed + most;
    memcpy(x, m->embedding + (size_t)id * (size_t)c->width, (size_t)c->width * sizeof *x);
    for (int i = 0; i < c->layers; ++i) {
        const layer* l = &m->layers[i];
        double* k = l->keys + at * kv_size;
        rms_norm(x, l->attn_norm, c->width, c->eps, h);
        product(l->wq, h, q_size, c->width, q);
        product(l->wk, h, kv_size, c->width, k);
        product(l->wv, h, kv_size, c->width, l->values + at * kv_size);
        rotate(m, q, c->heads, at);
        rotate(m, k, c->kv_heads, at);
        attend(m, l, q, at, mixed);
        product(l->wo, mixed, c->width, q_size, out);
        for (int j = 0; j < c->width; ++j) x[j] += out[j];
        rms_norm(x, l->ffn_norm, c->width, c->eps, h);
        product(l->gate, h, c->ffn, c->width, q);
        product(l->up, h, c->ffn, c->width, mixed);
        for (int j = 0; j < c->ffn; ++j) q[j] = q[j] / (1 + exp(-q[j])) * mixed[j];
        product(l->down, q, c->width, c->ffn, out);
        for (int j = 0; j < c->width; ++j) x[j] += out[j];
    }
    rms_norm(x, m->output_norm, c->width, c->eps, h);
    product(m->output != NULL ? m->output : m->embedding, h, c->vocabulary, c->width, logits);
    free(buffer);
}
