/* The shape of a Llama model, read through the C interface. */
#ifndef TOY_TESTS_BINDINGS_LLAMA_CONFIG_H
#define TOY_TESTS_BINDINGS_LLAMA_CONFIG_H

#include "tinynn.h"

typedef struct {
    int layers, width, ffn, heads, kv_heads, head_size, vocabulary;
    double rope_base, eps;
} llama_config;

/* Keys that files may leave out have the value that llama.cpp gives them. */
static inline llama_config read_config(void* gguf) {
    llama_config c;
    c.layers = tnn_gguf_get_u32(gguf, "llama.block_count");
    c.width = tnn_gguf_get_u32(gguf, "llama.embedding_length");
    c.ffn = tnn_gguf_get_u32(gguf, "llama.feed_forward_length");
    c.heads = tnn_gguf_get_u32(gguf, "llama.attention.head_count");
    c.kv_heads = tnn_gguf_get_u32(gguf, "llama.attention.head_count_kv");
    if (c.kv_heads == 0) c.kv_heads = c.heads;
    c.head_size = tnn_gguf_get_u32(gguf, "llama.attention.key_length");
    if (c.head_size == 0) c.head_size = c.width / c.heads;
    c.vocabulary = tnn_gguf_arr_n(gguf, "tokenizer.ggml.tokens");
    c.rope_base = tnn_gguf_get_f32(gguf, "llama.rope.freq_base");
    if (c.rope_base != c.rope_base) c.rope_base = 10000;
    c.eps = tnn_gguf_get_f32(gguf, "llama.attention.layer_norm_rms_epsilon");
    return c;
}

#endif
