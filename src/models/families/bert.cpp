// BERT and nomic-BERT: encoders, which give embeddings and no text.
//
// What is unusual about it: a token sees its whole text. The embeddings are a sum, with a learned position or none and
// the first token type, and have a norm of their own. Layer norms stand after the residual sums, and there is none
// before a half or at the end. BERT's feed-forward has no gate; nomic-BERT's is SwiGLU, and it rotates in place of
// positions. The original BERT uses GELU's erf form; GGUF files mean the tanh form, as llama.cpp computes it.

#include "core/error.h"
#include "models/family.h"

namespace toy {
namespace {

Pooling read_pooling(const SpecKeys& keys) {
    switch (keys.count_or("pooling_type", 0)) {
        case 0: return Pooling::none;
        case 1: return Pooling::mean;
        case 2: return Pooling::first;
        case 3: return Pooling::last;
        default: break;
    }
    bad_input("{}: {} is {}; 0 (none), 1 (mean), 2 (first) and 3 (last) are supported", keys.origin(),
              keys.full("pooling_type"), keys.count_or("pooling_type", 0));
}

Spec read_encoder(const SpecKeys& keys, Rope::Order order) {
    Spec s = read_common(keys, order);
    read_norm(keys, Norm::Kind::layer, s);
    s.is_causal = keys.flag_or("attention.causal", false);
    s.token_types = keys.rows_of("token_types.weight");
    s.has_embd_norm = s.has_sum_norms = true;
    s.has_attn_norm = s.has_ffn_norm = s.has_output_norm = s.has_head = false;
    s.pooling = read_pooling(keys);
    return s;
}

Spec read(const SpecKeys& keys) {
    Spec s = read_encoder(keys, Rope::Order::none);
    s.has_position_embd = true;
    s.activation = FeedForward::Activation::gelu;
    s.gate = FeedForward::Gate::none;
    return s;
}

Spec read_nomic(const SpecKeys& keys) { return read_encoder(keys, Rope::Order::neox); }

}  // namespace

extern const Family k_bert, k_nomic_bert;
const Family k_bert{"bert", "BERT, BGE, E5, MiniLM", read};
const Family k_nomic_bert{"nomic-bert", "nomic-embed-text", read_nomic};

}  // namespace toy
