/* A Llama decoder on tinynn, built as the older programs built theirs: one token at a time, a new graph for each, one
 * matrix product per head on slices of the mapped weights, K and V caches per key head written by tnn_cpy into a view.
 */
#ifndef TOY_TESTS_BINDINGS_TINYNN_LLAMA_H
#define TOY_TESTS_BINDINGS_TINYNN_LLAMA_H

#include "llama_config.h"

typedef struct tinynn_llama tinynn_llama;

/* cache_type: 0 F32, 1 F16, 8 Q8_0; fused: attention by tnn_flash_attn_ext. NULL after a message. */
tinynn_llama* tinynn_llama_new(void* gguf, int most_tokens, int cache_type, int fused);
/* Logits after token `id` at position `at`. 0, or -1 where a call failed (tnn_last_error). */
int tinynn_llama_step(tinynn_llama* model, int id, int at, double* logits);
void* tinynn_llama_session(tinynn_llama* model);
void tinynn_llama_free(tinynn_llama* model);

#endif
