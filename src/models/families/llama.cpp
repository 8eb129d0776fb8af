// Llama, and all that GGUF files call llama: Llama 2 and 3.x, TinyLlama, SmolLM2, Mistral, Mixtral.
//
// What is unusual about it: nothing; other families are told by their difference from it. RMS norm before each half,
// grouped heads, a SwiGLU feed-forward. Three values vary inside the family: Mistral's window; Llama 3's slowed rope,
// which converters write as a tensor of divisors (rope_freqs.weight); Mixtral's experts, the weights of whose choice
// are normalised. Converters also permute the rows of Q and K, so that the pairs that rope rotates are neighbours
// (order "normal").
//
// The older toy wrote this architecture too, with the key toy.ggml_native: one tensor for each head, the rows of Q and
// K not permuted (order NEOX), and Llama 3's rope as numbers (rope.scaling.type "llama3").

#include "core/error.h"
#include "models/family.h"

namespace toy {
namespace {

Spec read(const SpecKeys& keys) {
    const bool is_older = is_of_older_toy(keys);
    if (!keys.metadata().find_boolean("toy.ggml_native").value_or(true)) {
        bad_input(
            "{}: toy.ggml_native is false: the weights are transposed; convert the model again with --ggml-native",
            keys.origin());
    }
    Spec s = read_common(keys, is_older ? Rope::Order::neox : Rope::Order::normal);
    read_norm(keys, Norm::Kind::rms, s);
    read_windows(keys, 0, 0, s);
    read_experts(keys, {Routing::Gate::softmax, 0, true, 1.0f}, s);
    if (is_older && keys.has_tensor("blk.0.attn_q.head_0.bias")) s.has_qkv_bias = true;
    if (is_older && keys.text_or("rope.scaling.type", "") == "llama3") s.has_rope_factors = true;
    return s;
}

}  // namespace

extern const Family k_llama;
const Family k_llama{"llama", "Llama 2, Llama 3.x, TinyLlama, SmolLM2, Mistral, Mixtral", read};

}  // namespace toy
