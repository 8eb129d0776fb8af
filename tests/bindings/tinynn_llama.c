#include "tinynn_llama.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    void *attn_norm, *wo, *ffn_norm, *gate, *up, *down;
    void **wq, **wk, **wv; /* by head, by key head */
    void **keys, **values; /* caches by key head: ne = [head_size, most_tokens] */
} layer;

struct tinynn_llama {
    llama_config c;
    void *gguf, *session;
    int most_tokens, cache_type, is_fused;
    void *embedding, *output_norm, *output, *rope_factors;
    layer* layers;
};

/* ---- weights ---- */

/* A tensor of the file where it lies, or NULL. */
static void* mapped(tinynn_llama* m, const char* name) {
    const int index = tnn_gguf_find_index(m->gguf, name);
    if (index < 0) return NULL;
    const int cols = tnn_gguf_tensor_ne(m->gguf, index, 0), rows = tnn_gguf_tensor_ne(m->gguf, index, 1);
    const int type = tnn_gguf_tensor_type(m->gguf, index);
    const size_t offset = tnn_gguf_tensor_file_offset(m->gguf, index);
    void* t = rows == 1 ? tnn_input_1d_persistent_mmap(m->session, cols, type, offset)
                        : tnn_input_2d_persistent_mmap(m->session, rows, cols, type, offset);
    tnn_tensor_set_name(t, name);
    return t;
}

static void* layer_tensor(tinynn_llama* m, int i, const char* suffix) {
    char name[64];
    snprintf(name, sizeof name, "blk.%d.%s.weight", i, suffix);
    return mapped(m, name);
}

/* The rows of each head as a tensor of its own, where they lie in the file. */
static void** head_slices(tinynn_llama* m, int i, const char* suffix, int heads) {
    char name[64];
    snprintf(name, sizeof name, "blk.%d.%s.weight", i, suffix);
    const int index = tnn_gguf_find_index(m->gguf, name), type = tnn_gguf_tensor_type(m->gguf, index);
    const size_t row = (size_t)tnn_row_size(type, m->c.width);
    const size_t start = tnn_gguf_tensor_file_offset(m->gguf, index);
    void** slices = calloc((size_t)heads, sizeof *slices);
    for (int h = 0; h < heads; ++h) {
        const size_t offset = start + (size_t)(h * m->c.head_size) * row;
        slices[h] = tnn_input_2d_persistent_mmap(m->session, m->c.head_size, m->c.width, type, offset);
    }
    return slices;
}

/* Space for each head's rows in the order that NEOX rope needs, which files of this architecture do not have. */
static void** head_copies(tinynn_llama* m, int i, const char* suffix, int heads) {
    char name[64];
    snprintf(name, sizeof name, "blk.%d.%s.weight", i, suffix);
    const int type = tnn_gguf_tensor_type(m->gguf, tnn_gguf_find_index(m->gguf, name));
    void** copies = calloc((size_t)heads, sizeof *copies);
    for (int h = 0; h < heads; ++h) {
        copies[h] = tnn_input_2d_persistent_typed(m->session, m->c.head_size, m->c.width, type);
    }
    return copies;
}

/* Row 2i+j of a head in the file turns with its neighbour; NEOX turns i with i + d/2. */
static void fill_copies(tinynn_llama* m, int i, const char* suffix, int heads, void** copies) {
    char name[64];
    snprintf(name, sizeof name, "blk.%d.%s.weight", i, suffix);
    const size_t width = (size_t)m->c.width, d = (size_t)m->c.head_size, head = d * width;
    double* all = malloc((size_t)heads * head * sizeof *all);
    double* one = malloc(head * sizeof *one);
    tnn_gguf_read_f32_to_doubles(m->gguf, tnn_gguf_find_index(m->gguf, name), all, (size_t)heads * head);
    for (size_t h = 0; h < (size_t)heads; ++h) {
        for (size_t r = 0; r < d; ++r) {
            const double* from = all + h * head + r * width;
            double* to = one + (r / 2 + r % 2 * (d / 2)) * width;
            for (size_t c = 0; c < width; ++c) to[c] = from[c];
        }
        tnn_upload_from_float_array(m->session, copies[h], one, head);
    }
    free(all);
    free(one);
}

static void** caches(tinynn_llama* m) {
    void** all = calloc((size_t)m->c.kv_heads, sizeof *all);
    for (int h = 0; h < m->c.kv_heads; ++h) {
        all[h] = tnn_input_2d_persistent_typed(m->session, m->most_tokens, m->c.head_size, m->cache_type);
    }
    return all;
}

static void fill_rope_factors(tinynn_llama* m) {
    if (m->rope_factors == NULL) return;
    const size_t n = (size_t)m->c.head_size / 2;
    double* factors = malloc(n * sizeof *factors);
    tnn_gguf_read_f32_to_doubles(m->gguf, tnn_gguf_find_index(m->gguf, "rope_freqs.weight"), factors, n);
    tnn_upload_from_float_array(m->session, m->rope_factors, factors, n);
    free(factors);
}

tinynn_llama* tinynn_llama_new(void* gguf, int most_tokens, int cache_type, int fused) {
    tinynn_llama* m = calloc(1, sizeof *m);
    m->c = read_config(gguf);
    m->gguf = gguf;
    m->session = tnn_session_new(0);
    m->most_tokens = most_tokens;
    m->cache_type = cache_type;
    m->is_fused = fused;
    tnn_session_attach_weight_mmap(m->session, tnn_gguf_mmap_base(gguf), tnn_gguf_mmap_size(gguf));
    m->embedding = mapped(m, "token_embd.weight");
    m->output_norm = mapped(m, "output_norm.weight");
    m->output = mapped(m, "output.weight");
    if (m->output == NULL) m->output = m->embedding;
    if (tnn_gguf_find_index(gguf, "rope_freqs.weight") >= 0) {
        m->rope_factors = tnn_rope_freq_factors_alloc(m->session, m->c.head_size);
    }
    m->layers = calloc((size_t)m->c.layers, sizeof *m->layers);
    for (int i = 0; i < m->c.layers; ++i) {
        m->layers[i] = (layer){.attn_norm = layer_tensor(m, i, "attn_norm"),
                               .wo = layer_tensor(m, i, "attn_output"),
                               .ffn_norm = layer_tensor(m, i, "ffn_norm"),
                               .gate = layer_tensor(m, i, "ffn_gate"),
                               .up = layer_tensor(m, i, "ffn_up"),
                               .down = layer_tensor(m, i, "ffn_down"),
                               .wq = head_copies(m, i, "attn_q", m->c.heads),
                               .wk = head_copies(m, i, "attn_k", m->c.kv_heads),
                               .wv = head_slices(m, i, "attn_v", m->c.kv_heads),
                               .keys = caches(m),
                               .values = caches(m)};
    }
    if (tnn_finalize_weights(m->session) != 0) return NULL;
    for (int i = 0; i < m->c.layers; ++i) {
        fill_copies(m, i, "attn_q", m->c.heads, m->layers[i].wq);
        fill_copies(m, i, "attn_k", m->c.kv_heads, m->layers[i].wk);
        for (int h = 0; h < m->c.kv_heads; ++h) {
            tnn_zero_tensor(m->session, m->layers[i].keys[h]);
            tnn_zero_tensor(m->session, m->layers[i].values[h]);
        }
    }
    fill_rope_factors(m);
    return m;
}

void* tinynn_llama_session(tinynn_llama* m) { return m->session; }

void tinynn_llama_free(tinynn_llama* m) {
    tnn_session_free(m->session);
    for (int i = 0; i < m->c.layers; ++i) {
        layer* l = &m->layers[i];
        free(l->wq);
        free(l->wk);
        free(l->wv);
        free(l->keys);
        free(l->values);
    }
    free(m->layers);
    free(m);
}

/* ---- one token ---- */

static void* rotated(tinynn_llama* m, void* x, void* position) {
    return tnn_rope_ext(m->session, x, position, m->c.head_size, m->c.rope_base, 1, 0, 1, 32, 1, m->rope_factors);
}

/* Stores one row of a cache. Nothing that is computed depends on the copy, so the graph must be told of it. */
static void store(tinynn_llama* m, void* row, void* cache, int at) {
    const long stride = tnn_row_size(m->cache_type, m->c.head_size);
    tnn_add_to_graph(m->session, tnn_cpy(m->session, row, tnn_view_1d(m->session, cache, m->c.head_size, at * stride)));
}

/* One query head against positions 0..at of its key head: [head_size, 1]. */
static void* attend(tinynn_llama* m, void* q, void* keys, void* values, int at) {
    void* s = m->session;
    const int d = m->c.head_size;
    const long stride = tnn_row_size(m->cache_type, d);
    void* k = tnn_view_2d(s, keys, d, at + 1, stride, 0);
    void* v = tnn_view_2d(s, values, d, at + 1, stride, 0);
    const double scale = 1 / sqrt(d);
    if (m->is_fused) return tnn_flash_attn_ext(s, q, k, v, NULL, scale, 0, 0);
    void* probs = tnn_softmax(s, tnn_scale(s, tnn_matmul(s, k, q), scale)); /* [at + 1, 1] */
    return tnn_matmul(s, tnn_transpose(s, v), probs);
}

static void* attention(tinynn_llama* m, const layer* l, void* x, void* position, int at) {
    void* s = m->session;
    for (int h = 0; h < m->c.kv_heads; ++h) {
        store(m, rotated(m, tnn_matmul(s, l->wk[h], x), position), l->keys[h], at);
        store(m, tnn_matmul(s, l->wv[h], x), l->values[h], at);
    }
    void* joined = NULL;
    for (int h = 0; h < m->c.heads; ++h) {
        const int kv = h / (m->c.heads / m->c.kv_heads);
        void* q = rotated(m, tnn_matmul(s, l->wq[h], x), position);
        void* head = attend(m, q, l->keys[kv], l->values[kv], at);
        joined = joined == NULL ? head : tnn_concat(s, joined, head, 0);
    }
    return tnn_matmul(s, l->wo, joined); /* [width, 1] */
}

static void* feed_forward(tinynn_llama* m, const layer* l, void* x) {
    void* s = m->session;
    return tnn_matmul(s, l->down, tnn_swiglu_split(s, tnn_matmul(s, l->gate, x), tnn_matmul(s, l->up, x)));
}

int tinynn_llama_step(tinynn_llama* m, int id, int at, double* logits) {
    void* s = m->session;
    int64_t token = id, where = at;
    if (tnn_reset_for_rebuild(s) != 0) return -1;
    void* ids = tnn_input_1d_i32(s, 1);
    void* position = tnn_input_1d_i32_ctx(s, 1);
    void* x = tnn_get_rows(s, m->embedding, ids); /* [width, 1] */
    for (int i = 0; i < m->c.layers; ++i) {
        const layer* l = &m->layers[i];
        x = tnn_add(s, x, attention(m, l, tnn_rms_norm(s, x, l->attn_norm, m->c.eps), position, at));
        x = tnn_add(s, x, feed_forward(m, l, tnn_rms_norm(s, x, l->ffn_norm, m->c.eps)));
    }
    void* out = tnn_matmul(s, m->output, tnn_rms_norm(s, x, m->output_norm, m->c.eps)); /* [vocabulary, 1] */
    if (tnn_realize(s, out) != 0) return -1;
    if (tnn_upload_from_int_array(s, ids, &token, 1) != 0) return -1;
    if (tnn_upload_from_int_array(s, position, &where, 1) != 0) return -1;
    if (tnn_compute(s) != 0) return -1;
    return tnn_download_to_f64_array(s, out, logits, (size_t)m->c.vocabulary);
}
