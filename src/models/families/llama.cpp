// Llama, and all that GGUF files call llama: Llama 2 and 3.x, TinyLlama, SmolLM2, Mistral.
//
// What is unusual about it: nothing; other families are told by their difference from it. RMS norm before each half,
// grouped heads, a SwiGLU feed-forward. Two values vary inside the family: Mistral's window, and Llama 3's slowed rope,
// which converters write as a tensor of divisors (rope_freqs.weight). They also permute the rows of Q and K, so that
// the pairs that rope rotates are neighbours (order "normal").

#include "core/error.h"
#include "models/family.h"

namespace toy {
namespace {

Spec read(const SpecKeys& keys) {
    if (keys.count_or("expert_count", 0) > 0) {
        bad_input("{}: mixtures of experts are not supported ({} = {})", keys.metadata().origin(),
                  keys.full("expert_count"), keys.count_or("expert_count", 0));
    }
    Spec s = read_common(keys, Rope::Order::normal);
    s.norm = Norm::Kind::rms;
    s.eps = keys.positive("attention.layer_norm_rms_epsilon");
    s.activation = FeedForward::Activation::silu;
    s.has_qkv_bias = keys.has_tensor("blk.0.attn_q.bias");
    s.has_output_bias = keys.has_tensor("blk.0.attn_output.bias");
    s.has_ffn_bias = keys.has_tensor("blk.0.ffn_down.bias");
    return s;
}

}  // namespace

extern const Family k_llama;
const Family k_llama{"llama", "Llama 2, Llama 3.x, TinyLlama, SmolLM2, Mistral", read};

}  // namespace toy
