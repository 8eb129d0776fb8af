#pragma once
#include <cstdint>
#include <string>

#include "nn/feed_forward.h"
#include "nn/norm.h"
#include "tensor/ops.h"

namespace toy {

/// A decoder's architecture as data. GGUF metadata parses to a Spec; what separates two families is a value here.
struct Spec {
    std::string architecture;  ///< as `general.architecture` says
    std::string name;          ///< `general.name`, or empty
    int64_t vocabulary = 0;    ///< V
    int64_t width = 0;         ///< D
    int64_t layers = 0;        ///< L
    int64_t heads = 0;         ///< H, of queries
    int64_t kv_heads = 0;      ///< K, of keys and values
    int64_t head_size = 0;     ///< d, of queries and keys
    int64_t value_size = 0;    ///< dv, of values
    int64_t ffn_width = 0;     ///< F
    int64_t context = 0;       ///< tokens trained for

    Norm::Kind norm = Norm::Kind::rms;
    float eps = 0.0f;
    FeedForward::Activation activation = FeedForward::Activation::silu;
    Rope rope;
    bool has_rope_factors = false;   ///< tensor rope_freqs.weight (Llama 3)
    float attention_scale = 0.0f;    ///< usually 1/√d
    float attention_softcap = 0.0f;  ///< 0 for none
    int64_t window = 0;              ///< keys that a token sees, itself included; 0 for all
    bool has_qkv_bias = false;
    bool has_output_bias = false;  ///< of attn_output
    bool has_ffn_bias = false;
    bool has_post_norms = false;  ///< post_attention_norm, post_ffw_norm
    bool is_tied = false;         ///< the head is token_embd; there is no output.weight
    float embed_scale = 1.0f;
    float residual_scale = 1.0f;
    float logit_scale = 1.0f;
    float final_softcap = 0.0f;  ///< 0 for none

    bool operator==(const Spec&) const = default;
};

}  // namespace toy
