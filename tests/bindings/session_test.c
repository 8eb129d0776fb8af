/* Sessions: what graphs A and B hold, when values are there, and what the scratch and the bulk transfers carry. */
#include <stdint.h>

#include "check.h"

static double read1(void* s, void* t) {
    double out = NAN;
    CHECK(tnn_download_to_f64_array(s, t, &out, 1) == 0);
    return out;
}

static void write1(void* s, void* t, double value) { CHECK(tnn_upload_from_float_array(s, t, &value, 1) == 0); }

/* x -> 2x is A, x -> x + w is B; both made before either is realised, both alive at once. */
static void test_two_graphs(void) {
    void* s = tnn_session_new(0);
    void* w = tnn_input_1d_f32_persistent(s, 1);
    CHECK(tnn_finalize_weights(s) == 0);
    write1(s, w, 100);
    void* x = tnn_input_1d_f32(s, 1);
    void* doubled = tnn_scale(s, x, 2);
    void* sum = tnn_add(s, x, w);
    write1(s, x, 3); /* before any graph has it */
    CHECK(tnn_realize(s, doubled) == 0);
    CHECK(tnn_realize_b(s, sum) == 0);
    CHECK(tnn_graph_n_nodes(s) == 1 && tnn_graph_node(s, 0) == sum);
    CHECK(tnn_switch_a(s) == 0);
    CHECK(tnn_graph_n_nodes(s) == 1 && tnn_graph_node(s, 0) == doubled);
    CHECK(tnn_compute(s) == 0);
    CHECK(tnn_compute_b(s) == 0);
    CHECK_NEAR(read1(s, doubled), 6, 0);
    CHECK_NEAR(read1(s, sum), 103, 0);
    write1(s, x, 5); /* reaches both */
    for (int i = 0; i < 3; ++i) CHECK(tnn_compute(s) == 0 && tnn_compute_b(s) == 0);
    CHECK_NEAR(read1(s, doubled), 10, 0);
    CHECK_NEAR(read1(s, sum), 105, 0);
    CHECK(tnn_switch_b(s) == 0);
    CHECK_NEAR(read1(s, x), 5, 0);
    /* a second result replaces graph A; the input keeps its value */
    void* tripled = tnn_scale(s, x, 3);
    CHECK(tnn_realize(s, tripled) == 0 && tnn_compute(s) == 0);
    CHECK_NEAR(read1(s, tripled), 15, 0);
    CHECK(tnn_graph_n_nodes(s) == 1);
    tnn_session_free(s);
}

/* A cache write runs where it was made: after one read, before the other; and only in a graph that wants it. */
static void test_side_effects(void) {
    void* s = tnn_session_new(0);
    void* cache = tnn_input_1d_f32_persistent(s, 1);
    CHECK(tnn_finalize_weights(s) == 0);
    for (int order = 0; order < 3; ++order) {
        CHECK(tnn_zero_tensor(s, cache) == 0);
        void* x = tnn_input_1d_f32(s, 1);
        void* before = tnn_scale(s, cache, 1);
        void* write = tnn_cpy(s, x, tnn_view_1d(s, cache, 1, 0));
        void* after = tnn_scale(s, cache, 1);
        void* both = tnn_concat(s, before, after, 0);
        if (order == 0) CHECK(tnn_add_to_graph(s, write) == 0);
        if (order == 1) CHECK(tnn_build_forward_only(s, write) == 0);
        CHECK(tnn_realize(s, both) == 0);
        write1(s, x, 7);
        if (order == 2) CHECK(tnn_add_to_graph(s, write) == 0); /* after the upload: the value stays */
        CHECK(tnn_compute(s) == 0);
        double seen[2];
        CHECK(tnn_download_to_f64_array(s, both, seen, 2) == 0);
        CHECK_NEAR(seen[0], 0, 0);
        CHECK_NEAR(seen[1], 7, 0);
        CHECK_NEAR(read1(s, cache), 7, 0);
        CHECK(tnn_reset_for_rebuild(s) == 0);
    }
    void* x = tnn_input_1d_f32(s, 1);
    CHECK(tnn_cpy(s, x, cache) != NULL); /* nothing wants it */
    void* result = tnn_scale(s, cache, 2);
    CHECK(tnn_realize(s, result) == 0 && tnn_compute(s) == 0);
    CHECK_NEAR(read1(s, result), 14, 0);
    tnn_session_free(s);
}

static void test_values_of_nodes(void) {
    void* s = tnn_session_new(0);
    void* x = tnn_input_1d_f32(s, 64);
    void* hidden = tnn_scale(s, x, 2);
    void* tapped = tnn_scale(s, hidden, 2);
    void* result = tnn_scale(s, tnn_scale(s, tapped, 2), 2);
    double out[64], in[64];
    for (int i = 0; i < 64; ++i) in[i] = i;
    tnn_set_output(tapped);
    CHECK(tnn_tensor_flags(x) == 1 && tnn_tensor_flags(tapped) == 2 && tnn_tensor_flags(hidden) == 0);
    CHECK(tnn_realize(s, result) == 0);
    CHECK(tnn_upload_from_float_array(s, x, in, 64) == 0);
    CHECK(tnn_download_to_f64_array(s, result, out, 64) == -1);
    CHECK_ERROR("has no values yet");
    CHECK(tnn_compute(s) == 0);
    CHECK(tnn_download_to_f64_array(s, hidden, out, 64) == -1);
    CHECK_ERROR("tnn_set_output");
    CHECK(tnn_download_to_f64_array(s, tapped, out, 64) == 0);
    CHECK_NEAR(out[63], 4 * 63, 0);
    CHECK(tnn_download_to_f64_array(s, result, out, 3) == 0); /* the first three */
    CHECK_NEAR(out[2], 32, 0);
    tnn_session_free(s);
}

static void test_introspection(void) {
    void* s = tnn_session_new(0);
    void* w = tnn_input_2d_persistent_typed(s, 3, 64, 8);
    CHECK(tnn_finalize_weights(s) == 0);
    void* x = tnn_input_2d_f32(s, 5, 64);
    void* y = tnn_matmul(s, w, x);
    void* z = tnn_rms_norm(s, y, tnn_input_1d_f32(s, 3), 1e-5);
    CHECK(tnn_tensor_ne0(w) == 64 && tnn_tensor_ne1(w) == 3 && tnn_tensor_ne2(w) == 1 && tnn_tensor_ne3(w) == 1);
    CHECK(tnn_tensor_dtype(w) == 8 && tnn_tensor_nelements(w) == 192 && tnn_tensor_nbytes(w) == 3 * 68);
    CHECK(tnn_row_size(8, 64) == 68 && tnn_row_size(0, 64) == 256);
    CHECK(tnn_tensor_op(w) == TNN_OP_NONE && strcmp(tnn_tensor_op_name(w), "NONE") == 0);
    CHECK(tnn_tensor_op(y) == TNN_OP_MUL_MAT && strcmp(tnn_tensor_op_name(y), "MUL_MAT") == 0);
    CHECK(tnn_tensor_src(y, 0) == w && tnn_tensor_src(y, 1) == x && tnn_tensor_src(y, 2) == NULL);
    CHECK(strcmp(tnn_tensor_name(y), "") == 0);
    tnn_tensor_set_name(w, "blk.0.attn_q.weight");
    CHECK(strcmp(tnn_tensor_name(w), "blk.0.attn_q.weight") == 0);
    CHECK(tnn_realize(s, z) == 0);
    CHECK(tnn_graph_n_nodes(s) == 3); /* the norm is two nodes: the division, then gamma */
    CHECK(tnn_graph_node(s, 0) == y && tnn_graph_node(s, 2) == z);
    CHECK(tnn_tensor_op(tnn_graph_node(s, 1)) == TNN_OP_RMS_NORM && tnn_tensor_op(z) == TNN_OP_MUL);
    CHECK(tnn_reset_for_rebuild(s) == 0);
    CHECK(strcmp(tnn_tensor_name(w), "blk.0.attn_q.weight") == 0);
    tnn_session_free(s);
}

static void test_scratch(void) {
    void* s = tnn_session_new(0);
    void* w = tnn_input_2d_persistent_typed(s, 1, 4, 1);
    CHECK(tnn_finalize_weights(s) == 0);
    const double cells[4] = {1.5, -3, 0.25, 2};
    for (int i = 0; i < 4; ++i) tnn_scratch_set(s, i, cells[i]);
    CHECK_NEAR(tnn_scratch_get(s, 1), -3, 0);
    CHECK_NEAR(tnn_scratch_min_f32(s, 4), -3, 0);
    CHECK_NEAR(tnn_scratch_max_f32(s, 4), 2, 0);
    CHECK_NEAR(tnn_scratch_sum_f32(s, 4), 0.75, 0);
    CHECK_NEAR(tnn_scratch_sum_abs_f32(s, 4), 6.75, 0);
    CHECK_NEAR(tnn_scratch_sum_sq_f32(s, 4), 15.3125, 0);
    CHECK(tnn_scratch_nan_count_f32(s, 4) == 0);
    CHECK(tnn_upload(s, w) == 0);
    for (int i = 0; i < 4; ++i) tnn_scratch_set(s, i, NAN);
    CHECK(tnn_scratch_nan_count_f32(s, 4) == 4);
    CHECK(tnn_download(s, w) == 0);
    for (int i = 0; i < 4; ++i) CHECK_NEAR(tnn_scratch_get(s, i), cells[i], 0);
    void* ids = tnn_input_1d_i32_ctx(s, 2);
    void* rows = tnn_get_rows(s, w, ids);
    CHECK(tnn_realize(s, rows) == 0);
    tnn_scratch_set_i32(s, 0, 0);
    tnn_scratch_set_i32(s, 1, 123456789); /* no such row */
    CHECK(tnn_scratch_get_i32(s, 1) == 123456789);
    CHECK(tnn_upload(s, ids) == -1);
    CHECK_ERROR("indices must lie in 0..0");
    tnn_scratch_set_i32(s, 1, 0);
    CHECK(tnn_upload(s, ids) == 0 && tnn_compute(s) == 0);
    double out[8];
    CHECK(tnn_download_to_f64_array(s, rows, out, 8) == 0);
    for (int i = 0; i < 8; ++i) CHECK_NEAR(out[i], cells[i % 4], 0);
    tnn_session_free(s);
}

static void test_bulk_transfers(void) {
    void* s = tnn_session_new(0);
    void* w = tnn_input_2d_f32_persistent(s, 3, 2); /* ne = [2, 3] */
    void* q = tnn_input_2d_persistent_typed(s, 4, 64, 8);
    void* deep = tnn_input_4d_f32_persistent(s, 2, 3, 4, 5);
    void* stack = tnn_input_3d_f32_persistent(s, 2, 3, 4);
    CHECK(tnn_tensor_ne3(deep) == 5 && tnn_tensor_ne2(stack) == 4);
    CHECK(tnn_finalize_weights(s) == 0);
    double rows[6] = {0, 1, 2, 3, 4, 5}; /* two rows of three */
    double out[256];
    CHECK(tnn_upload_transposed_f64(s, w, rows, 2, 3) == 0);
    CHECK(tnn_download_to_f64_array(s, w, out, 6) == 0);
    for (int i = 0; i < 6; ++i) CHECK_NEAR(out[i], rows[i % 2 * 3 + i / 2], 0);
    double many[256];
    for (int i = 0; i < 256; ++i) many[i] = cos(i);
    CHECK(tnn_upload_from_float_array(s, q, many, 128) == 0); /* two rows of four */
    CHECK(tnn_download_to_f64_array(s, q, out, 256) == 0);
    for (int i = 0; i < 256; ++i) CHECK_NEAR(out[i], i < 128 ? many[i] : 0, 1e-2);
    CHECK(tnn_embed_lookup_to_doubles(s, q, 1, out, 64) == 0);
    for (int i = 0; i < 64; ++i) CHECK_NEAR(out[i], many[64 + i], 1e-2);
    CHECK(tnn_zero_tensor(s, q) == 0);
    CHECK(tnn_download_to_f64_array(s, q, out, 256) == 0);
    for (int i = 0; i < 256; ++i) CHECK_NEAR(out[i], 0, 0);
    tnn_session_free(s);
}

/* Memory of the program's own as weights; bytes that are not aligned are copied. */
static void test_memory_of_the_program(void) {
    static _Alignas(64) float memory[64];
    for (int i = 0; i < 64; ++i) memory[i] = (float)i;
    void* s = tnn_session_new(0);
    CHECK(tnn_session_attach_weight_mmap(s, memory, sizeof memory) == 0);
    void* aligned = tnn_input_1d_persistent_mmap(s, 4, 0, 32);
    void* shifted = tnn_input_2d_persistent_mmap(s, 2, 4, 0, 4);
    void* stack = tnn_input_3d_persistent_mmap(s, 4, 2, 2, 0, 64);
    CHECK(tnn_finalize_weights(s) == 0);
    double out[16];
    CHECK(tnn_download_to_f64_array(s, aligned, out, 4) == 0);
    CHECK_NEAR(out[0], 8, 0);
    memory[8] = -1; /* the same memory */
    CHECK(tnn_download_to_f64_array(s, aligned, out, 4) == 0);
    CHECK_NEAR(out[0], -1, 0);
    CHECK(tnn_download_to_f64_array(s, shifted, out, 8) == 0);
    CHECK_NEAR(out[6], 7, 0);
    CHECK(tnn_download_to_f64_array(s, stack, out, 16) == 0);
    CHECK_NEAR(out[15], 31, 0);
    tnn_session_free(s);
}

static void test_sessions_are_apart(void) {
    void* s[2] = {tnn_session_new(0), tnn_session_new_on(0, 0)};
    void* x[2];
    for (int i = 0; i < 2; ++i) {
        CHECK(strcmp(tnn_backend_name(s[i]), "CPU") == 0);
        x[i] = tnn_input_1d_f32_persistent(s[i], 1);
        CHECK(tnn_finalize_weights(s[i]) == 0);
        write1(s[i], x[i], i + 1);
        tnn_scratch_set(s[i], 0, i);
    }
    for (int i = 0; i < 2; ++i) {
        CHECK_NEAR(read1(s[i], x[i]), i + 1, 0);
        CHECK_NEAR(tnn_scratch_get(s[i], 0), i, 0);
    }
    tnn_session_free(s[0]);
    CHECK_NEAR(read1(s[1], x[1]), 2, 0);
    tnn_session_free(s[1]);
}

int main(void) {
    CHECK(tnn_abi_version() == TNN_ABI_VERSION);
    CHECK(tnn_link_check() == 73);
    CHECK(tnn_null_ptr() == NULL);
    CHECK(strcmp(tnn_last_error(), "") == 0);
    test_two_graphs();
    test_side_effects();
    test_values_of_nodes();
    test_introspection();
    test_scratch();
    test_bulk_transfers();
    test_memory_of_the_program();
    test_sessions_are_apart();
    return check_result();
}
