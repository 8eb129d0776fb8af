#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "nn/experts.h"
#include "nn/norm.h"
#include "nn/state_space.h"
#include "tensor/ops.h"

namespace toy {

/// Norms of queries and keys before they are rotated (arXiv 2302.05442).
enum class QkNorm {
    none,
    per_head,      ///< one weight [d] for all heads (Qwen3, Gemma 3)
    per_head_own,  ///< a weight [d] for each head: [H, d] (StableLM 2 12B)
    full,          ///< over all heads at once: [H·d] (OLMo2, OLMoE)
};

/// What the feed-forward of a block reads, and where it is added.
enum class Residual {
    sequential,       ///< x + a, then the feed-forward of its norm
    parallel,         ///< attention and feed-forward both read x, each through its norm (GPT-NeoX)
    parallel_shared,  ///< both read the one norm of x (Falcon 7B)
};

/// How an encoder makes one embedding of its token states.
enum class Pooling { none, mean, first, last };

/// Latent attention (arXiv 2405.04434): keys and values are rebuilt from a latent row of `rank` elements.
struct LatentSpec {
    int64_t rank = 0;        ///< c; 0: the model has ordinary attention
    int64_t query_rank = 0;  ///< of the queries' own latent rows; 0: queries come from x directly
    int64_t plain_size = 0;  ///< n, elements of a query or key head that are not rotated; rope.dims are
    bool operator==(const LatentSpec&) const = default;
};

/// Routed experts (arXiv 1701.06538) in place of the dense feed-forward.
struct ExpertsSpec {
    int64_t count = 0;         ///< E; 0: the model is dense
    int64_t width = 0;         ///< F of each expert
    int64_t shared_width = 0;  ///< F of the expert that every token goes through; 0: there is none
    bool has_shared_gate = false;
    bool has_selection_bias = false;  ///< exp_probs_b
    int64_t leading_dense = 0;        ///< blocks before the first routed one
    Routing routing;
    bool operator==(const ExpertsSpec&) const = default;
};

/// What may differ from layer to layer.
struct LayerSpec {
    int64_t window = 0;  ///< keys that a token sees, itself included; 0 for all
    Rope rope;
    bool operator==(const LayerSpec&) const = default;
};

/// A model's architecture as data. GGUF metadata parses to a Spec; what separates two families is a value here. The
/// defaults mean that a part is absent.
struct Spec {
    std::string architecture;  ///< as `general.architecture` says
    std::string name;          ///< `general.name`, or empty
    int64_t vocabulary = 0;    ///< V
    int64_t width = 0;         ///< D
    int64_t layers = 0;        ///< L
    int64_t heads = 0;         ///< H, of queries; 0 without attention
    int64_t kv_heads = 0;      ///< K, of keys and values
    int64_t head_size = 0;     ///< d, of queries and keys
    int64_t value_size = 0;    ///< dv, of values
    int64_t ffn_width = 0;     ///< F; 0: blocks have no feed-forward
    int64_t context = 0;       ///< tokens trained for

    Norm::Kind norm = Norm::Kind::rms;
    float eps = 0.0f;
    bool is_causal = true;    ///< a token sees those before it; otherwise all of its text
    int64_t token_types = 0;  ///< rows of token_types, of which the first is used (BERT)
    bool has_position_embd = false, has_embd_norm = false;
    bool has_attn_norm = true, has_ffn_norm = true;  ///< before each half
    bool has_post_norms = false;                     ///< post_attention_norm, post_ffw_norm: before the residual sum
    bool has_sum_norms = false;                      ///< attn_output_norm, layer_output_norm: of the residual sum
    Residual residual = Residual::sequential;

    bool has_joint_qkv = false;  ///< attn_qkv in place of attn_q, attn_k, attn_v
    bool has_qkv_bias = false, has_output_bias = false;
    QkNorm qk_norm = QkNorm::none;
    float attention_scale = 0.0f;    ///< usually 1/√d
    float attention_softcap = 0.0f;  ///< 0 for none
    std::vector<LayerSpec> layer;    ///< L of them
    LatentSpec latent;
    StateSpaceSpec state_space;  ///< in place of attention

    FeedForward::Activation activation = FeedForward::Activation::silu;
    FeedForward::Gate gate = FeedForward::Gate::separate;
    bool has_ffn_bias = false;
    ExpertsSpec experts;

    bool has_rope_factors = false;       ///< rope_freqs.weight divides the angles (Llama 3)
    bool has_long_rope_factors = false;  ///< rope_factors_short.weight and rope_factors_long.weight (arXiv 2402.13753)
    bool has_output_norm = true;
    bool has_head = true;  ///< false for encoders
    bool is_tied = false;  ///< the head is token_embd; there is no output.weight
    bool has_head_bias = false;
    Pooling pooling = Pooling::none;  ///< of encoders
    float embed_scale = 1.0f, residual_scale = 1.0f, logit_scale = 1.0f;
    float final_softcap = 0.0f;  ///< 0 for none

    bool operator==(const Spec&) const = default;

    /// Whether layer i routes its tokens to experts.
    bool is_routed(int64_t i) const { return experts.count > 0 && i >= experts.leading_dense; }
    /// Whether layers remember a state of fixed size in place of keys and values.
    bool is_recurrent() const { return state_space.version > 0; }
    /// Whether a sequence that may grow to so many tokens is rotated with LongRoPE's other factors. To be decided once
    /// for a sequence: cached keys keep the factors that they were rotated with.
    bool is_long(int64_t tokens) const { return has_long_rope_factors && tokens > layer.front().rope.original_context; }
};

}  // namespace toy
