/* What a failing call returns and says; none crashes, whatever it is given. */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

#include "check.h"

/* Nothing of these is a session, a tensor or a file. */
static void test_foreign_handles(void) {
    int local = 0;
    void* foreign[] = {NULL, &local, (void*)(uintptr_t)1, (void*)~(uintptr_t)0,
                       (void*)((((uintptr_t)1 << 46) + 999999))};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; ++i) {
        void* h = foreign[i];
        double cell = 0;
        int64_t id = 0;
        CHECK(tnn_matmul(h, h, h) == NULL);
        CHECK_ERROR("tnn_matmul: a session is needed");
        CHECK(tnn_input_2d_f32(h, 1, 1) == NULL && tnn_input_1d_f32_persistent(h, 1) == NULL);
        CHECK(tnn_realize(h, h) == -1 && tnn_compute(h) == -1 && tnn_realize_b(h, h) == -1 && tnn_compute_b(h) == -1);
        CHECK(tnn_switch_a(h) == -1 && tnn_switch_b(h) == -1 && tnn_reset_for_rebuild(h) == -1);
        CHECK(tnn_finalize_weights(h) == -1 && tnn_zero_tensor(h, h) == -1);
        CHECK(tnn_upload(h, h) == -1 && tnn_download(h, h) == -1);
        CHECK(tnn_upload_from_float_array(h, h, &cell, 1) == -1 && tnn_upload_from_int_array(h, h, &id, 1) == -1);
        CHECK(tnn_download_to_f64_array(h, h, &cell, 1) == -1 && tnn_embed_lookup_to_doubles(h, h, 0, &cell, 1) == -1);
        CHECK(isnan(tnn_scratch_get(h, 0)) && isnan(tnn_scratch_sum_f32(h, 1)) && tnn_scratch_get_i32(h, 0) == 0);
        CHECK(tnn_scratch_nan_count_f32(h, 1) == 0 && strcmp(tnn_backend_name(h), "") == 0);
        CHECK(tnn_tensor_ne0(h) == -1 && tnn_tensor_nelements(h) == 0 && tnn_tensor_nbytes(h) == 0);
        CHECK(tnn_tensor_dtype(h) == -1 && tnn_tensor_flags(h) == -1 && tnn_tensor_op(h) == -1);
        CHECK(strcmp(tnn_tensor_name(h), "") == 0 && strcmp(tnn_tensor_op_name(h), "") == 0 &&
              tnn_tensor_src(h, 0) == NULL);
        CHECK_ERROR("tnn_tensor_src: a tensor is needed");
        CHECK(tnn_graph_n_nodes(h) == 0 && tnn_graph_node(h, 0) == NULL && tnn_session_set_graph_capacity(h, 9) == -1);
        CHECK(tnn_gguf_find_index(h, "x") == -1 && tnn_gguf_n_tensors(h) == 0 && tnn_gguf_mmap_base(h) == NULL);
        CHECK(tnn_gguf_mmap_size(h) == 0 && tnn_gguf_tensor_file_offset(h, 0) == 0 && tnn_gguf_tensor_type(h, 0) == -1);
        CHECK(tnn_gguf_get_u32(h, "k") == 0 && isnan(tnn_gguf_get_f32(h, "k")) && tnn_gguf_get_bool(h, "k") == 0);
        CHECK(strcmp(tnn_gguf_get_str(h, "k"), "") == 0 && tnn_gguf_arr_n(h, "k") == 0);
        CHECK_ERROR("tnn_gguf_arr_n: a gguf file is needed");
        tnn_set_output(h);
        CHECK_ERROR("tnn_set_output");
        tnn_tensor_set_name(h, "x");
        tnn_scratch_set(h, 0, 1);
        tnn_session_free(h);
        tnn_gguf_free(h);
        CHECK_ERROR("tnn_gguf_free");
    }
}

static void test_stale_handles(void) {
    void* s = tnn_session_new(0);
    void* w = tnn_input_1d_f32_persistent(s, 2);
    void* x = tnn_input_1d_f32(s, 2);
    void* y = tnn_add(s, x, w);
    CHECK(y != NULL);
    CHECK(tnn_reset_for_rebuild(s) == 0);
    CHECK(tnn_tensor_ne0(y) == -1);
    CHECK_ERROR("is stale");
    CHECK(tnn_add(s, x, w) == NULL && tnn_realize(s, y) == -1);
    CHECK(tnn_tensor_ne0(w) == 2); /* persistent tensors stay */
    CHECK(tnn_matmul(w, w, w) == NULL);
    CHECK_ERROR("a session is needed, but the handle given is a tensor");
    void* other = tnn_session_new(0);
    CHECK(tnn_silu(other, w) == NULL);
    CHECK_ERROR("of another session");
    tnn_session_free(other);
    tnn_session_free(s);
    CHECK(tnn_tensor_ne0(w) == -1 && tnn_compute(s) == -1);
    CHECK_ERROR("is stale");
    tnn_session_free(s);
    CHECK_ERROR("tnn_session_free");
}

static void test_shapes_and_types(void) {
    void* s = tnn_session_new(0);
    void* a = tnn_input_2d_f32(s, 3, 4);
    void* b = tnn_input_2d_f32(s, 3, 5);
    void* ids = tnn_input_1d_i32(s, 3);
    CHECK(tnn_matmul(s, a, b) == NULL);
    CHECK_ERROR("tnn_matmul: matmul: the weight [3, 4] takes rows of 4, but x is [3, 5]");
    CHECK(tnn_add(s, a, b) == NULL && tnn_mul(s, a, ids) == NULL && tnn_silu(s, ids) == NULL);
    CHECK(tnn_rms_norm(s, a, NULL, 1e-5) == NULL && tnn_rms_norm(s, a, b, -1) == NULL);
    CHECK(tnn_concat(s, a, b, 1) == NULL && tnn_concat(s, a, a, 4) == NULL && tnn_concat(s, a, a, -1) == NULL);
    CHECK(tnn_view_1d(s, a, 5, 32) == NULL && tnn_view_1d(s, a, 1, -4) == NULL &&
          tnn_view_1d(s, a, INT_MAX, 0) == NULL);
    CHECK(tnn_view_1d(s, a, 1, LONG_MAX) == NULL && tnn_view_2d(s, a, 2, INT_MAX, LONG_MAX, 0) == NULL);
    CHECK(tnn_view_2d(s, a, 2, 2, -16, 0) == NULL && tnn_view_2d(s, a, 0, 2, 16, 0) == NULL);
    CHECK(tnn_reshape_2d(s, a, 5, 2) == NULL && tnn_reshape_3d(s, a, -1, 2, 3) == NULL &&
          tnn_cont_2d(s, a, 1, 1) == NULL);
    CHECK(tnn_permute(s, a, 0, 0, 1, 2) == NULL && tnn_permute(s, a, 0, 1, 2, 4) == NULL);
    CHECK(tnn_cast(s, a, 4) == NULL && tnn_cast(s, a, -1) == NULL && tnn_cast(s, a, 26) == NULL);
    CHECK(tnn_get_rows(s, a, b) == NULL && tnn_set_rows(s, a, b, ids) == NULL && tnn_cpy(s, a, b) == NULL);
    CHECK(tnn_rope_ext(s, a, ids, 3, 10000, 1, 0, 1, 32, 1, NULL) == NULL);
    CHECK(tnn_flash_attn_ext(s, a, b, b, NULL, 1, 0, 0) == NULL && tnn_soft_max_ext(s, a, b, 1, 0) == NULL);
    CHECK(tnn_diag_mask_inf(s, a, -1) == NULL);
    CHECK(tnn_input_2d_f32(s, 0, 4) == NULL && tnn_input_1d_i32(s, -7) == NULL);
    CHECK(tnn_input_2d_persistent_typed(s, 2, 33, 8) == NULL); /* no whole blocks */
    CHECK(tnn_input_2d_persistent_typed(s, 2, 32, 5) == NULL && tnn_input_2d_persistent_typed(s, 2, 32, 999) == NULL);
    CHECK_ERROR("there is no tensor type 999");
    CHECK(tnn_input_4d_f32_persistent(s, INT_MAX, INT_MAX, INT_MAX, INT_MAX) == NULL);
    CHECK_ERROR("larger than memory");
    CHECK(tnn_rope_freq_factors_alloc(s, 5) == NULL && tnn_rope_freq_factors_alloc(s, 0) == NULL);
    CHECK(tnn_row_size(8, 33) == 0 && tnn_row_size(-3, 32) == 0 && tnn_row_size(0, 0) == 0);
    /* a failed call leaves the session as it was */
    void* y = tnn_silu(s, a);
    CHECK(tnn_realize(s, y) == 0 && tnn_compute(s) == 0);
    tnn_session_free(s);
}

static void test_order_of_calls(void) {
    void* s = tnn_session_new(0);
    double two[2] = {1, 2};
    int64_t big[2] = {0, INT64_C(1) << 40};
    CHECK(tnn_compute(s) == -1);
    CHECK_ERROR("no graph is realized yet");
    CHECK(tnn_compute_b(s) == -1 && tnn_switch_a(s) == -1 && tnn_switch_b(s) == -1 && tnn_graph_node(s, 0) == NULL);
    void* w = tnn_input_1d_f32_persistent(s, 2);
    void* x = tnn_input_1d_f32(s, 2);
    void* ids = tnn_input_1d_i32(s, 2);
    void* y = tnn_add(s, x, w);
    tnn_tensor_set_name(w, "the weight");
    CHECK(tnn_upload_from_float_array(s, w, two, 2) == -1);
    CHECK_ERROR("'the weight' (f32 [2]) has no memory yet: call tnn_finalize_weights first");
    CHECK(tnn_zero_tensor(s, w) == -1 && tnn_download_to_f64_array(s, w, two, 2) == -1);
    CHECK(tnn_realize(s, y) == -1);
    CHECK_ERROR("declared but not allocated");
    CHECK(tnn_finalize_weights(s) == 0);
    CHECK(tnn_realize(s, y) == 0);
    CHECK(tnn_upload_from_float_array(s, y, two, 2) == -1);
    CHECK_ERROR("is computed");
    CHECK(tnn_upload_from_float_array(s, x, two, 3) == -1 && tnn_upload_from_float_array(s, x, NULL, 2) == -1);
    CHECK(tnn_upload_from_int_array(s, x, big, 2) == -1 && tnn_upload_from_float_array(s, ids, two, 2) == -1);
    CHECK(tnn_upload_from_int_array(s, ids, big, 2) == -1);
    CHECK_ERROR("does not fit an i32");
    CHECK(tnn_upload_transposed_f64(s, x, two, 1, 2) == -1 && tnn_upload_transposed_f64(s, x, two, -1, -2) == -1);
    CHECK(tnn_download_to_f64_array(s, w, two, 3) == -1 && tnn_download_to_f64_array(s, w, NULL, 2) == -1);
    CHECK(tnn_embed_lookup_to_doubles(s, w, 1, two, 2) == -1 && tnn_embed_lookup_to_doubles(s, w, -1, two, 2) == -1);
    CHECK(tnn_embed_lookup_to_doubles(s, w, 0, two, 3) == -1);
    CHECK(tnn_graph_node(s, 1) == NULL && tnn_graph_node(s, -1) == NULL && tnn_tensor_src(y, 2) == NULL);
    CHECK(tnn_session_set_graph_capacity(s, 0) == -1 && tnn_session_set_graph_capacity(s, 6) == 0);
    void* deep = y;
    for (int i = 0; i < 10 && deep != NULL; ++i) deep = tnn_silu(s, deep);
    CHECK(deep == NULL);
    CHECK_ERROR("tnn_session_set_graph_capacity");
    tnn_session_free(s);
}

/* A row index that arrives before its use is known is checked when the graph is realised. */
static void test_row_indices(void) {
    void* s = tnn_session_new(0);
    void* table = tnn_input_2d_f32_persistent(s, 5, 4);
    CHECK(tnn_finalize_weights(s) == 0);
    void* ids = tnn_input_1d_i32(s, 1);
    int64_t row = 5;
    CHECK(tnn_upload_from_int_array(s, ids, &row, 1) == 0);
    void* rows = tnn_get_rows(s, table, ids);
    CHECK(tnn_realize(s, rows) == -1);
    CHECK_ERROR("indices must lie in 0..4");
    row = 4;
    CHECK(tnn_upload_from_int_array(s, ids, &row, 1) == 0);
    CHECK(tnn_realize(s, rows) == 0 && tnn_compute(s) == 0);
    row = -1;
    CHECK(tnn_upload_from_int_array(s, ids, &row, 1) == -1);
    tnn_session_free(s);
}

static void test_scratch_bounds(void) {
    enum { CELLS = 4 << 20 };
    void* s = tnn_session_new(0);
    void* large = tnn_input_2d_f32_persistent(s, 1025, 4096);
    CHECK(tnn_finalize_weights(s) == 0);
    CHECK(tnn_upload(s, large) == -2 && tnn_download(s, large) == -2);
    CHECK_ERROR("the scratch 4194304");
    CHECK(isnan(tnn_scratch_get(s, CELLS)) && isnan(tnn_scratch_get(s, -1)) && tnn_scratch_get_i32(s, CELLS) == 0);
    tnn_scratch_set(s, CELLS, 1);
    CHECK_ERROR("tnn_scratch_set: there is no cell 4194304");
    tnn_scratch_set(s, CELLS - 1, 1);
    CHECK_NEAR(tnn_scratch_sum_f32(s, CELLS), 1, 0);
    CHECK(isnan(tnn_scratch_sum_f32(s, CELLS + 1)) && isnan(tnn_scratch_max_f32(s, -1)));
    tnn_session_free(s);
}

/* Kinds of devices that are not here give a CPU session, and say so. */
static void test_absent_devices(void) {
    if (tnn_cuda_get_device_count() == 0) {
        void* s = tnn_session_new(1);
        CHECK(s != NULL);
        CHECK_ERROR("tnn_session_new: there is no device 'cuda:0' here");
        CHECK(strcmp(tnn_backend_name(s), "CPU") == 0);
        void* y = tnn_silu(s, tnn_input_1d_f32(s, 1));
        CHECK(tnn_realize(s, y) == 0 && tnn_compute(s) == 0);
        tnn_session_free(s);
    }
    void* s = tnn_session_new_on(1, 6);
    CHECK(s != NULL && strcmp(tnn_backend_name(s), "CPU") == 0);
    CHECK_ERROR("cuda:6");
    tnn_session_free(s);
    CHECK(tnn_session_new(7) == NULL);
    CHECK_ERROR("there is no device kind 7");
    CHECK(tnn_session_new(-1) == NULL && tnn_session_new_on(1, -1) == NULL);
}

static void test_files(void) {
    CHECK(tnn_gguf_load(NULL) == NULL && tnn_gguf_load("/nowhere/model.gguf") == NULL);
    CHECK_ERROR("/nowhere/model.gguf: no such file");
    void* s = tnn_session_new(0);
    static _Alignas(32) float memory[8];
    CHECK(tnn_input_1d_persistent_mmap(s, 4, 0, 0) == NULL);
    CHECK_ERROR("tnn_session_attach_weight_mmap");
    CHECK(tnn_session_attach_weight_mmap(s, NULL, 32) == -1 && tnn_session_attach_weight_mmap(s, memory, 0) == -1);
    CHECK(tnn_session_attach_weight_mmap(s, memory, sizeof memory) == 0);
    CHECK(tnn_input_1d_persistent_mmap(s, 9, 0, 0) == NULL);
    CHECK_ERROR("the mapped memory ends at 32");
    CHECK(tnn_input_1d_persistent_mmap(s, 4, 0, 32) == NULL && tnn_input_1d_persistent_mmap(s, 1, 0, SIZE_MAX) == NULL);
    void* w = tnn_input_1d_persistent_mmap(s, 8, 0, 0);
    double ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    CHECK(tnn_upload_from_float_array(s, w, ones, 8) == -1 && tnn_zero_tensor(s, w) == -1);
    CHECK_ERROR("cannot be written");
    CHECK(tnn_cpy(s, tnn_input_1d_f32(s, 8), w) == NULL);
    CHECK_ERROR("cannot be written");
    tnn_session_free(s);
}

int main(void) {
    test_foreign_handles();
    test_stale_handles();
    test_shapes_and_types();
    test_order_of_calls();
    test_row_indices();
    test_scratch_bounds();
    test_absent_devices();
    test_files();
    return check_result();
}
