/* tinynn: toy's C interface, for programs in any language that can call C. docs/c-interface.md explains it with an
 * example.
 *
 * Handles (`void*`) are numbers that the library looks up; they are never addresses to read. A stale or foreign one is
 * a failure, not a crash. Calls on one session run one after another, whichever threads they come from.
 *
 * Shapes are in ggml's order: ne0 is the fastest axis. 2-D inputs alone take (rows, cols), which is ne = [cols, rows].
 * `type` is a ggml type code: 0 f32, 1 f16, 2 q4_0, 6 q5_0, 8 q8_0, 12 q4_K, 13 q5_K, 14 q6_K, 26 i32, 30 bf16, ...
 *
 * A call that fails returns NULL, -1, 0 or "" by its type (void*, int, long and size_t, const char*), NaN for double,
 * and changes nothing; counts and the calls marked (0) return 0. tnn_last_error() then says why in one sentence. An
 * `int` call that has no value to return gives 0. A `const char*` result stays valid until the next call on the same
 * thread. */
#ifndef TINYNN_H
#define TINYNN_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TNN_API __attribute__((visibility("default")))
#else
#define TNN_API
#endif

/* Grows when a function changes its meaning or its types; a new function alone does not change it. */
#define TNN_ABI_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the library ---- */

TNN_API int tnn_abi_version(void);        /* TNN_ABI_VERSION of the library, to compare with that of the header */
TNN_API const char* tnn_last_error(void); /* why the last failing call on this thread failed; "" before any did */
TNN_API void* tnn_null_ptr(void);         /* NULL, for languages that cannot write it */
TNN_API int tnn_link_check(void);         /* 73 */

/* ---- sessions ---- */

/* kind: 0 CPU, 1 CUDA, 2 Metal. Where that device is absent, the session computes on the CPU: the library warns once
 * on stderr, tnn_last_error says so, tnn_backend_name tells. All sessions on one device share its threads. */
TNN_API void* tnn_session_new(int kind);
TNN_API void* tnn_session_new_on(int kind, int device);
TNN_API int tnn_cuda_get_device_count(void);
/* Frees the session with its tensors; their handles become stale. */
TNN_API void tnn_session_free(void* session);
TNN_API const char* tnn_backend_name(void* session); /* "CPU", "CUDA0", ... */
/* Most nodes, leaves included, that operators may make between two tnn_reset_for_rebuild; at first 65536. */
TNN_API int tnn_session_set_graph_capacity(void* session, int nodes);

/* ---- persistent tensors: they live as long as the session ---- */

/* Declare, then tnn_finalize_weights (which gives zeroed memory to all that have none yet), then write. */
TNN_API void* tnn_input_1d_f32_persistent(void* session, int n);
TNN_API void* tnn_input_2d_f32_persistent(void* session, int rows, int cols);
TNN_API void* tnn_input_3d_f32_persistent(void* session, int ne0, int ne1, int ne2);
TNN_API void* tnn_input_4d_f32_persistent(void* session, int ne0, int ne1, int ne2, int ne3);
TNN_API void* tnn_input_2d_persistent_typed(void* session, int rows, int cols, int type);
TNN_API void* tnn_input_3d_persistent_typed(void* session, int ne0, int ne1, int ne2, int type);
TNN_API void* tnn_rope_freq_factors_alloc(void* session, int n_dims); /* f32 of n_dims/2 */
TNN_API int tnn_finalize_weights(void* session);

/* Tensors inside memory that is not ours, read-only and without a copy on the CPU (one copy elsewhere, or where the
 * tensor is not 32-byte aligned). Memory that tnn_gguf_mmap_base gave is kept as long as the session; of any other the
 * caller keeps `bytes` bytes valid and unchanged. A later attachment serves the tensors declared after it. */
TNN_API int tnn_session_attach_weight_mmap(void* session, void* base, size_t bytes);
TNN_API void* tnn_input_1d_persistent_mmap(void* session, int n, int type, size_t offset);
TNN_API void* tnn_input_2d_persistent_mmap(void* session, int rows, int cols, int type, size_t offset);
TNN_API void* tnn_input_3d_persistent_mmap(void* session, int ne0, int ne1, int ne2, int type, size_t offset);

TNN_API int tnn_zero_tensor(void* session, void* t);
TNN_API long tnn_row_size(int type, int ne0); /* bytes of a row of ne0 elements */

/* ---- inputs: they live until tnn_reset_for_rebuild ---- */

TNN_API void* tnn_input_1d_f32(void* session, int n);
TNN_API void* tnn_input_2d_f32(void* session, int rows, int cols);
TNN_API void* tnn_input_1d_i32(void* session, int n);
TNN_API void* tnn_input_1d_i32_ctx(void* session, int n); /* positions; the same as tnn_input_1d_i32 */

/* ---- operators: each appends a node and returns it ---- */

TNN_API void* tnn_matmul(void* session, void* a, void* b); /* a[k,m] of any weight type, b[k,n] -> [m,n] */
TNN_API void* tnn_add(void* session, void* a, void* b);    /* b is repeated to a's shape; so for mul */
TNN_API void* tnn_mul(void* session, void* a, void* b);
TNN_API void* tnn_scale(void* session, void* a, double s);
TNN_API void* tnn_silu(void* session, void* a);
TNN_API void* tnn_gelu(void* session, void* a); /* tanh form, exact */
TNN_API void* tnn_tanh(void* session, void* a);
TNN_API void* tnn_swiglu_split(void* session, void* gate, void* up);         /* silu(gate)*up */
TNN_API void* tnn_rms_norm(void* session, void* x, void* gamma, double eps); /* over ne0 */
TNN_API void* tnn_layer_norm(void* session, void* x, void* gamma, void* beta, double eps);
TNN_API void* tnn_softmax(void* session, void* a); /* over ne0 */
/* mask f32 or f16 or NULL, added to scale*a; max_bias > 0 for ALiBi slopes */
TNN_API void* tnn_soft_max_ext(void* session, void* a, void* mask, double scale, double max_bias);
TNN_API void* tnn_diag_mask_inf(void* session, void* a, int n_past); /* -inf where i0 > n_past + i1 */
/* NEOX order (pairs i and i + n_dims/2): x[d,heads,T], positions i32[T], freq_factors f32[n_dims/2] or NULL */
TNN_API void* tnn_rope_ext(void* session, void* x, void* positions, int n_dims, double freq_base, double freq_scale,
                           double ext_factor, double attn_factor, double beta_fast, double beta_slow,
                           void* freq_factors);
/* q[d,T,H,b], k and v [d,N,H_kv,b] of f32, f16 or a quantised type, mask f16 or NULL, softcap 0 for none -> [d,H,T,b]
 */
TNN_API void* tnn_flash_attn_ext(void* session, void* q, void* k, void* v, void* mask, double scale, double max_bias,
                                 double softcap);
TNN_API void* tnn_concat(void* session, void* a, void* b, int dim);
TNN_API void* tnn_view_1d(void* session, void* t, int ne0, long offset); /* offsets and strides in bytes */
TNN_API void* tnn_view_2d(void* session, void* t, int ne0, int ne1, long row_stride, long offset);
TNN_API void* tnn_reshape_2d(void* session, void* t, int ne0, int ne1);
TNN_API void* tnn_reshape_3d(void* session, void* t, int ne0, int ne1, int ne2);
TNN_API void* tnn_permute(void* session, void* t, int axis0, int axis1, int axis2, int axis3); /* axis i -> axis_i */
TNN_API void* tnn_cont_2d(void* session, void* t, int ne0, int ne1);                           /* packed */
TNN_API void* tnn_transpose(void* session, void* t);                                           /* packed */
/* Copies, converting the type; the result stands for dst written. Reads of dst that come later see the copy. */
TNN_API void* tnn_cpy(void* session, void* src, void* dst);
TNN_API void* tnn_cast(void* session, void* t, int type);
TNN_API void* tnn_get_rows(void* session, void* table, void* rows);          /* rows i32 -> f32 */
TNN_API void* tnn_set_rows(void* session, void* dst, void* src, void* rows); /* in place, converting from f32 */

/* ---- graphs ---- */

/* Operators only note what is to be computed. A graph is the part of it that some results need, in the order of the
 * calls that made it. A session has two graphs, A and B, over the same tensors; both stay allocated. */

/* Graph A for `result` and for what tnn_build_forward_only and tnn_add_to_graph asked for; after that a second
 * tnn_realize makes a new graph A, for its result alone. */
TNN_API int tnn_realize(void* session, void* result);
TNN_API int tnn_build_forward_only(void* session, void* result); /* joins A; memory comes with the first use */
TNN_API int tnn_add_to_graph(void* session, void* node);         /* a node wanted for its side effect joins A */
TNN_API int tnn_compute(void* session);                          /* runs A */
TNN_API int tnn_realize_b(void* session, void* result);          /* graph B for `result`, and selects B */
TNN_API int tnn_compute_b(void* session);                        /* runs B */
/* Which graph tnn_graph_n_nodes and tnn_graph_node list, and which one's values are read where both have them. */
TNN_API int tnn_switch_a(void* session);
TNN_API int tnn_switch_b(void* session);
/* Forgets both graphs, their inputs and nodes (handles of these become stale); persistent tensors stay. */
TNN_API int tnn_reset_for_rebuild(void* session);
/* Values of a node that is no result survive a run only if this is called before the graph is realised. */
TNN_API void tnn_set_output(void* t);

/* ---- values ---- */

/* Writing: persistent tensors that are not mapped, and inputs. An input may be written before its graph is realised,
 * and keeps its values over any number of runs. Reading: these, and results of a graph that has run.
 * Bulk calls take the first n elements, which are all of them unless n is smaller; quantised tensors take whole rows.
 */
TNN_API int tnn_upload_from_float_array(void* session, void* t, double* data, size_t n);
TNN_API int tnn_upload_from_int_array(void* session, void* t, int64_t* data, size_t n); /* i32 tensors */
/* data row-major [rows][cols], t with ne = [rows, cols] */
TNN_API int tnn_upload_transposed_f64(void* session, void* t, double* data, int rows, int cols);
TNN_API int tnn_download_to_f64_array(void* session, void* t, double* out, size_t n);
/* Row `row` of any persistent tensor, decoded; d must be its ne0. */
TNN_API int tnn_embed_lookup_to_doubles(void* session, void* table, int row, double* out, int d);

/* The scratch of a session: 4194304 cells of 32 bits, each a float or an i32. */
TNN_API void tnn_scratch_set(void* session, int cell, double value);
TNN_API double tnn_scratch_get(void* session, int cell);
TNN_API void tnn_scratch_set_i32(void* session, int cell, int value);
TNN_API int tnn_scratch_get_i32(void* session, int cell); /* (0) */
/* Over the first n cells. */
TNN_API double tnn_scratch_min_f32(void* session, int n);
TNN_API double tnn_scratch_max_f32(void* session, int n);
TNN_API double tnn_scratch_sum_f32(void* session, int n);
TNN_API double tnn_scratch_sum_abs_f32(void* session, int n);
TNN_API double tnn_scratch_sum_sq_f32(void* session, int n);
TNN_API int tnn_scratch_nan_count_f32(void* session, int n); /* (0) */
/* Between the first cells and the whole tensor (integers for i32 tensors, else floats, converted); -2, with one warning
 * per process, where the tensor has more elements than the scratch. */
TNN_API int tnn_upload(void* session, void* t);
TNN_API int tnn_download(void* session, void* t);

/* ---- looking at tensors and graphs ---- */

enum tnn_op {                  /* stable: codes are added, never changed */
              TNN_OP_NONE = 0, /* a leaf: an input or a persistent tensor */
              TNN_OP_ADD = 1,
              TNN_OP_MUL = 2,
              TNN_OP_SCALE = 3,
              TNN_OP_SILU = 4,
              TNN_OP_GELU = 5,
              TNN_OP_TANH = 6,
              TNN_OP_SWIGLU = 7,
              TNN_OP_RMS_NORM = 8,
              TNN_OP_NORM = 9,
              TNN_OP_MUL_MAT = 10,
              TNN_OP_SOFT_MAX = 11,
              TNN_OP_DIAG_MASK_INF = 12,
              TNN_OP_ROPE = 13,
              TNN_OP_FLASH_ATTN_EXT = 14,
              TNN_OP_VIEW = 15,
              TNN_OP_RESHAPE = 16,
              TNN_OP_PERMUTE = 17,
              TNN_OP_CONT = 18,
              TNN_OP_CONCAT = 19,
              TNN_OP_CPY = 20, /* copies and casts */
              TNN_OP_GET_ROWS = 21,
              TNN_OP_SET_ROWS = 22
};

TNN_API int tnn_tensor_nelements(void* t); /* (0) */
TNN_API int tnn_tensor_ne0(void* t);
TNN_API int tnn_tensor_ne1(void* t);
TNN_API int tnn_tensor_ne2(void* t);
TNN_API int tnn_tensor_ne3(void* t);
TNN_API size_t tnn_tensor_nbytes(void* t);
TNN_API int tnn_tensor_dtype(void* t);
TNN_API int tnn_tensor_flags(void* t);           /* 1 input, 2 output (4 param, 8 loss) */
TNN_API int tnn_tensor_op(void* t);              /* enum tnn_op */
TNN_API const char* tnn_tensor_op_name(void* t); /* ggml's name: "MUL_MAT", "NONE", ...; unary operators "UNARY" */
TNN_API void* tnn_tensor_src(void* t, int i);    /* the i-th operand, in the order of the call */
TNN_API const char* tnn_tensor_name(void* t);    /* "" where none was set */
TNN_API void tnn_tensor_set_name(void* t, const char* name);
/* Operations of the selected graph, in the order in which they run. */
TNN_API int tnn_graph_n_nodes(void* session); /* (0) */
TNN_API void* tnn_graph_node(void* session, int i);

/* ---- GGUF files, versions 2 and 3, mapped and checked as a whole; index: the tensor's place in the file ---- */

TNN_API void* tnn_gguf_load(const char* path);
TNN_API void tnn_gguf_free(void* gguf);
TNN_API int tnn_gguf_n_tensors(void* gguf);                    /* (0) */
TNN_API int tnn_gguf_find_index(void* gguf, const char* name); /* -1 where the file has no such tensor */
TNN_API const char* tnn_gguf_tensor_name(void* gguf, int index);
TNN_API int tnn_gguf_tensor_type(void* gguf, int index);
TNN_API int tnn_gguf_tensor_ne(void* gguf, int index, int axis);
TNN_API size_t tnn_gguf_tensor_nbytes(void* gguf, int index);
TNN_API int tnn_gguf_tensor_is_quantized(void* gguf, int index);
/* The file's memory, for tnn_session_attach_weight_mmap. A model that is split over several files has no single one. */
TNN_API void* tnn_gguf_mmap_base(void* gguf);
TNN_API size_t tnn_gguf_mmap_size(void* gguf);
TNN_API size_t tnn_gguf_tensor_file_offset(void* gguf, int index); /* from the start of the file */
/* The first n elements, decoded. */
TNN_API int tnn_gguf_read_f32_to_doubles(void* gguf, int index, double* out, size_t n);
/* Metadata; an absent key, or one of another type, is a failure. */
TNN_API int tnn_gguf_get_bool(void* gguf, const char* key); /* (0) */
TNN_API int tnn_gguf_get_u32(void* gguf, const char* key);  /* (0) */
TNN_API double tnn_gguf_get_f32(void* gguf, const char* key);
TNN_API const char* tnn_gguf_get_str(void* gguf, const char* key);
TNN_API int tnn_gguf_arr_n(void* gguf, const char* key); /* (0) */
TNN_API const char* tnn_gguf_arr_str(void* gguf, const char* key, int i);

#ifdef __cplusplus
}
#endif

#endif
