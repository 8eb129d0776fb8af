/* A Llama decoder in plain C with 64-bit floats, written for tests: no tensors, no threads, no tinynn but to read the
 * weights. Rotates neighbours (2i, 2i+1), as the files store Q and K. */
#ifndef TOY_TESTS_BINDINGS_FLOAT64_LLAMA_H
#define TOY_TESTS_BINDINGS_FLOAT64_LLAMA_H

#include "llama_config.h"

typedef struct float64_llama float64_llama;

float64_llama* float64_llama_new(void* gguf, int most_tokens);
/* Logits after token `id` at position `at`; positions come one after another from 0. */
void float64_llama_step(float64_llama* model, int id, int at, double* logits);
void float64_llama_free(float64_llama* model);

#endif
