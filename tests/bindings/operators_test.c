/* Every operator of tinynn.h against a few lines of plain C. */
#include <stdint.h>

#include "check.h"

enum { MOST = 256 };

static void* s; /* the session */
static double g_out[MOST];

/* Values in -1..1 that do not repeat early. */
static double value(int i) { return sin(1.7 * i + 0.3); }

static void* filled(int ne0, int ne1, int first, double* values) {
    void* t = tnn_input_2d_f32(s, ne1, ne0);
    for (int i = 0; i < ne0 * ne1; ++i) values[i] = value(first + i);
    CHECK(tnn_upload_from_float_array(s, t, values, (size_t)(ne0 * ne1)) == 0); /* before the graph is realised */
    return t;
}

static void* integers(int n, const int64_t* values) {
    void* t = tnn_input_1d_i32(s, n);
    int64_t copy[MOST];
    memcpy(copy, values, (size_t)n * sizeof(int64_t));
    CHECK(tnn_upload_from_int_array(s, t, copy, (size_t)n) == 0);
    return t;
}

/* Computes into g_out and forgets the graph. */
static void run(void* result, int n) {
    CHECK(result != NULL && tnn_tensor_nelements(result) == n);
    CHECK(tnn_tensor_op(result) > 0);
    CHECK(tnn_realize(s, result) == 0);
    CHECK(tnn_compute(s) == 0);
    CHECK(tnn_download_to_f64_array(s, result, g_out, (size_t)n) == 0);
    CHECK(tnn_reset_for_rebuild(s) == 0);
}

static void test_matmul(void) {
    double a[12], b[20];
    void* x = filled(4, 3, 0, a);
    void* y = filled(4, 5, 50, b);
    void* z = tnn_matmul(s, x, y);
    CHECK(tnn_tensor_ne0(z) == 3 && tnn_tensor_ne1(z) == 5);
    run(z, 15);
    for (int n = 0; n < 5; ++n) {
        for (int m = 0; m < 3; ++m) {
            double sum = 0;
            for (int k = 0; k < 4; ++k) sum += a[m * 4 + k] * b[n * 4 + k];
            CHECK_NEAR(g_out[n * 3 + m], sum, 1e-6);
        }
    }
}

static void test_elementwise(void) {
    double a[12], b[4], c[12];
    void* x = filled(4, 3, 0, a);
    void* row = filled(4, 1, 20, b);
    run(tnn_add(s, x, row), 12);
    for (int i = 0; i < 12; ++i) CHECK_NEAR(g_out[i], a[i] + b[i % 4], 1e-6);
    x = filled(4, 3, 0, a);
    run(tnn_mul(s, x, filled(4, 3, 40, c)), 12);
    for (int i = 0; i < 12; ++i) CHECK_NEAR(g_out[i], a[i] * c[i], 1e-6);
    run(tnn_scale(s, filled(4, 3, 0, a), -2.5), 12);
    for (int i = 0; i < 12; ++i) CHECK_NEAR(g_out[i], -2.5 * a[i], 1e-6);
    run(tnn_silu(s, filled(4, 3, 0, a)), 12);
    for (int i = 0; i < 12; ++i) CHECK_NEAR(g_out[i], a[i] / (1 + exp(-a[i])), 1e-6);
    run(tnn_tanh(s, filled(4, 3, 0, a)), 12);
    for (int i = 0; i < 12; ++i) CHECK_NEAR(g_out[i], tanh(a[i]), 1e-6);
    run(tnn_gelu(s, filled(4, 3, 0, a)), 12);
    for (int i = 0; i < 12; ++i) { /* exact, not a table of half precision */
        const double inner = sqrt(2 / acos(-1.0)) * (a[i] + 0.044715 * a[i] * a[i] * a[i]);
        CHECK_NEAR(g_out[i], 0.5 * a[i] * (1 + tanh(inner)), 2e-7);
    }
    x = filled(4, 3, 0, a);
    run(tnn_swiglu_split(s, x, filled(4, 3, 40, c)), 12);
    for (int i = 0; i < 12; ++i) CHECK_NEAR(g_out[i], a[i] / (1 + exp(-a[i])) * c[i], 1e-6);
}

static void test_norms(void) {
    double x[12], g[4], b[4];
    void* in = filled(4, 3, 0, x);
    void* gamma = filled(4, 1, 30, g);
    run(tnn_rms_norm(s, in, gamma, 1e-5), 12);
    for (int i = 0; i < 12; ++i) {
        double sum = 0;
        for (int k = 0; k < 4; ++k) sum += x[i / 4 * 4 + k] * x[i / 4 * 4 + k];
        CHECK_NEAR(g_out[i], x[i] / sqrt(sum / 4 + 1e-5) * g[i % 4], 1e-5);
    }
    in = filled(4, 3, 0, x);
    gamma = filled(4, 1, 30, g);
    run(tnn_layer_norm(s, in, gamma, filled(4, 1, 60, b), 1e-5), 12);
    for (int i = 0; i < 12; ++i) {
        double mean = 0, variance = 0;
        for (int k = 0; k < 4; ++k) mean += x[i / 4 * 4 + k] / 4;
        for (int k = 0; k < 4; ++k) variance += (x[i / 4 * 4 + k] - mean) * (x[i / 4 * 4 + k] - mean) / 4;
        CHECK_NEAR(g_out[i], (x[i] - mean) / sqrt(variance + 1e-5) * g[i % 4] + b[i % 4], 1e-5);
    }
}

/* probs = softmax over rows of n of scale*x + mask */
static void softmax_rows(const double* x, const double* mask, double scale, int n, int rows, double* probs) {
    for (int r = 0; r < rows; ++r) {
        double sum = 0;
        for (int i = r * n; i < (r + 1) * n; ++i) {
            probs[i] = exp(scale * x[i] + (mask == NULL ? 0 : mask[i]));
            sum += probs[i];
        }
        for (int i = r * n; i < (r + 1) * n; ++i) probs[i] /= sum;
    }
}

static void test_softmax(void) {
    double x[12], mask[12], wanted[12];
    run(tnn_softmax(s, filled(4, 3, 0, x)), 12);
    softmax_rows(x, NULL, 1, 4, 3, wanted);
    for (int i = 0; i < 12; ++i) CHECK_NEAR(g_out[i], wanted[i], 1e-6);
    void* in = filled(4, 3, 0, x);
    run(tnn_soft_max_ext(s, in, filled(4, 3, 70, mask), 0.5, 0.0), 12);
    softmax_rows(x, mask, 0.5, 4, 3, wanted);
    for (int i = 0; i < 12; ++i) CHECK_NEAR(g_out[i], wanted[i], 1e-6);
    run(tnn_soft_max_ext(s, filled(4, 3, 0, x), NULL, 0.5, 0.0), 12);
    softmax_rows(x, NULL, 0.5, 4, 3, wanted);
    for (int i = 0; i < 12; ++i) CHECK_NEAR(g_out[i], wanted[i], 1e-6);
    run(tnn_diag_mask_inf(s, filled(4, 3, 0, x), 1), 12);
    for (int i = 0; i < 12; ++i) CHECK_NEAR(g_out[i], i % 4 > 1 + i / 4 ? -INFINITY : x[i], 1e-6);
}

/* One head of 8 whose first 6 elements turn, at 2 positions. */
static void test_rope(void) {
    const int64_t at[2] = {3, 40};
    const double base = 10000, squeeze = 0.5;
    double x[16], factors[3] = {1.0, 2.0, 5.0};
    void* by = tnn_rope_freq_factors_alloc(s, 6);
    CHECK(tnn_finalize_weights(s) == 0);
    CHECK(tnn_upload_from_float_array(s, by, factors, 3) == 0);
    for (int with_factors = 0; with_factors < 2; ++with_factors) {
        void* in = tnn_reshape_3d(s, filled(8, 2, 0, x), 8, 1, 2);
        void* positions = integers(2, at);
        run(tnn_rope_ext(s, in, positions, 6, base, squeeze, 0, 1.5, 32, 1, with_factors ? by : NULL), 16);
        for (int t = 0; t < 2; ++t) {
            for (int i = 0; i < 3; ++i) {
                const double angle =
                    (double)at[t] * squeeze * pow(base, -2.0 * i / 6) / (with_factors ? factors[i] : 1);
                const double lo = x[8 * t + i], hi = x[8 * t + i + 3]; /* NEOX: halves */
                CHECK_NEAR(g_out[8 * t + i], 1.5 * (lo * cos(angle) - hi * sin(angle)), 1e-5);
                CHECK_NEAR(g_out[8 * t + i + 3], 1.5 * (lo * sin(angle) + hi * cos(angle)), 1e-5);
            }
            CHECK_NEAR(g_out[8 * t + 6], x[8 * t + 6], 1e-6);
            CHECK_NEAR(g_out[8 * t + 7], x[8 * t + 7], 1e-6);
        }
    }
}

/* 2 query heads on one key head, 1 query against 3 keys, d = 4. */
static void test_flash_attention(void) {
    for (int capped = 0; capped < 2; ++capped) {
        const double softcap = capped ? 2.0 : 0.0;
        double q[8], k[12], v[12], scores[6], probs[6];
        void* query = tnn_reshape_3d(s, filled(4, 2, 0, q), 4, 1, 2);
        void* keys = filled(4, 3, 20, k);
        void* values = filled(4, 3, 40, v);
        void* out = tnn_flash_attn_ext(s, query, keys, values, NULL, 0.5, 0.0, softcap);
        CHECK(tnn_tensor_ne0(out) == 4 && tnn_tensor_ne1(out) == 2 && tnn_tensor_ne2(out) == 1);
        run(out, 8);
        for (int h = 0; h < 2; ++h) {
            for (int i = 0; i < 3; ++i) {
                double dot = 0;
                for (int d = 0; d < 4; ++d) dot += q[4 * h + d] * k[4 * i + d];
                scores[3 * h + i] = capped ? softcap * tanh(0.5 * dot / softcap) : 0.5 * dot;
            }
        }
        softmax_rows(scores, NULL, 1, 3, 2, probs);
        for (int h = 0; h < 2; ++h) {
            for (int d = 0; d < 4; ++d) {
                double sum = 0;
                for (int i = 0; i < 3; ++i) sum += probs[3 * h + i] * v[4 * i + d];
                CHECK_NEAR(g_out[4 * h + d], sum, 1e-3); /* keys and values pass through half precision */
            }
        }
    }
}

static void test_shapes(void) {
    double a[12], b[12];
    void* x = filled(4, 3, 0, a);
    run(tnn_concat(s, x, filled(4, 3, 40, b), 0), 24);
    for (int i = 0; i < 24; ++i)
        CHECK_NEAR(g_out[i], i % 8 < 4 ? a[i / 8 * 4 + i % 8] : b[i / 8 * 4 + i % 8 - 4], 1e-6);
    x = filled(4, 3, 0, a);
    run(tnn_concat(s, x, filled(4, 3, 40, b), 1), 24);
    for (int i = 0; i < 24; ++i) CHECK_NEAR(g_out[i], i < 12 ? a[i] : b[i - 12], 1e-6);
    run(tnn_view_1d(s, filled(4, 3, 0, a), 5, 3 * (long)sizeof(float)), 5);
    for (int i = 0; i < 5; ++i) CHECK_NEAR(g_out[i], a[3 + i], 1e-6);
    run(tnn_view_2d(s, filled(4, 3, 0, a), 2, 3, 4 * (long)sizeof(float), (long)sizeof(float)), 6);
    for (int i = 0; i < 6; ++i) CHECK_NEAR(g_out[i], a[i / 2 * 4 + 1 + i % 2], 1e-6);
    void* flat = tnn_reshape_2d(s, filled(4, 3, 0, a), 6, 2);
    CHECK(tnn_tensor_ne0(flat) == 6 && tnn_tensor_ne1(flat) == 2);
    run(flat, 12);
    for (int i = 0; i < 12; ++i) CHECK_NEAR(g_out[i], a[i], 1e-6);
    void* turned = tnn_transpose(s, filled(4, 3, 0, a));
    CHECK(tnn_tensor_ne0(turned) == 3 && tnn_tensor_ne1(turned) == 4);
    run(turned, 12);
    for (int i = 0; i < 12; ++i) CHECK_NEAR(g_out[i], a[i % 3 * 4 + i / 3], 1e-6);
    /* axis 0 of [2,2,3] goes to axis 2, axis 1 to 0, axis 2 to 1 */
    void* moved = tnn_permute(s, tnn_reshape_3d(s, filled(4, 3, 0, a), 2, 2, 3), 2, 0, 1, 3);
    CHECK(tnn_tensor_ne0(moved) == 2 && tnn_tensor_ne1(moved) == 3 && tnn_tensor_ne2(moved) == 2);
    run(tnn_cont_2d(s, moved, 6, 2), 12);
    for (int i = 0; i < 12; ++i) CHECK_NEAR(g_out[i], a[i / 6 + 2 * (i % 2) + 4 * (i % 6 / 2)], 1e-6);
}

static void test_copies_and_rows(void) {
    double a[64], table[64], zeros[64];
    memset(zeros, 0, sizeof zeros);
    for (int i = 0; i < 64; ++i) table[i] = value(100 + i);
    void* kept = tnn_input_2d_f32_persistent(s, 2, 32);
    void* halves = tnn_input_2d_persistent_typed(s, 2, 32, 1);
    void* blocks = tnn_input_2d_persistent_typed(s, 2, 32, 8);
    CHECK(tnn_finalize_weights(s) == 0);
    void* targets[3] = {kept, halves, blocks};
    const double tolerance[3] = {1e-6, 1e-3, 1e-2};
    for (int i = 0; i < 3; ++i) { /* the second row, by cpy into a view, from f32 to the target's type */
        void* in = filled(32, 1, 0, a);
        const long row = (long)(tnn_tensor_nbytes(targets[i]) / 2);
        run(tnn_cpy(s, in, tnn_view_1d(s, targets[i], 32, row)), 32);
        CHECK(tnn_download_to_f64_array(s, targets[i], g_out, 64) == 0);
        for (int j = 0; j < 64; ++j) CHECK_NEAR(g_out[j], j < 32 ? 0 : a[j - 32], tolerance[i]);
    }
    run(tnn_cast(s, filled(32, 1, 0, a), 8), 32);
    for (int j = 0; j < 32; ++j) CHECK_NEAR(g_out[j], a[j], 1e-2);

    CHECK(tnn_upload_from_float_array(s, kept, table, 64) == 0);
    const int64_t rows[3] = {1, 0, 1};
    run(tnn_get_rows(s, kept, integers(3, rows)), 96);
    for (int j = 0; j < 96; ++j) CHECK_NEAR(g_out[j], table[32 * rows[j / 32] + j % 32], 1e-6);

    void* in = filled(32, 1, 0, a);
    run(tnn_set_rows(s, kept, in, integers(1, rows)), 64);
    CHECK(tnn_download_to_f64_array(s, kept, g_out, 64) == 0);
    for (int j = 0; j < 64; ++j) CHECK_NEAR(g_out[j], j < 32 ? table[j] : a[j - 32], 1e-6);
}

int main(void) {
    s = tnn_session_new(0);
    CHECK(s != NULL);
    test_matmul();
    test_elementwise();
    test_norms();
    test_softmax();
    test_rope();
    test_flash_attention();
    test_shapes();
    test_copies_and_rows();
    tnn_session_free(s);
    return check_result();
}
