#include "models/decoder.h"

#include "tensor/graph.h"

namespace toy {

Tensor hidden(const Decoder& m, Tensor ids, Context& ctx) {
    Tensor x = get_rows(m.token_embd, ids) * m.spec.embed_scale;                  // [T, D]
    if (m.token_types) x = x + slice(ids.graph()->leaf(m.token_types), 0, 0, 1);  // [T, D]
    if (m.position_embd) x = x + get_rows(m.position_embd, ctx.positions());      // [T, D]
    x = named(norm(x, m.token_embd_norm), "embed");                               // [T, D]
    for (const Block& b : m.blk) x = block(x, b, ctx);                            // [T, D]; the last one [O, D]
    return norm(x, m.output_norm);                                                // [O, D]
}

Tensor logits(const Decoder& m, Tensor x) {
    return softcap(linear(m.output, x) * m.spec.logit_scale, m.spec.final_softcap);
}

namespace {

Attention make_attention(const Spec& s, const LayerSpec& layer) {
    Attention a;
    a.heads = s.heads;
    a.kv_heads = s.kv_heads;
    a.head_size = s.head_size;
    a.value_size = s.value_size;
    a.rope = layer.rope;
    a.attn_q_norm = a.attn_k_norm = {s.norm, s.eps, {}, {}};
    a.how = {s.attention_scale, s.attention_softcap, static_cast<int>(layer.window), s.is_causal, 0};
    return a;
}

LatentAttention make_latent_attention(const Spec& s, const LayerSpec& layer) {
    LatentAttention a;
    a.heads = s.heads;
    a.plain_size = s.latent.plain_size;
    a.rotated_size = layer.rope.dims;
    a.rank = s.latent.rank;
    a.rope = layer.rope;
    a.attn_q_a_norm = a.attn_kv_a_norm = {s.norm, s.eps, {}, {}};
    a.how = {s.attention_scale, s.attention_softcap, static_cast<int>(layer.window), s.is_causal, s.latent.rank};
    return a;
}

StateSpace make_state_space(const Spec& s) {
    StateSpace m;
    m.spec = s.state_space;
    m.eps = s.eps;
    m.ssm_norm = {Norm::Kind::rms, s.eps, {}, {}};
    return m;
}

Mixer make_mixer(const Spec& s, const LayerSpec& layer) {
    if (s.state_space.version > 0) return make_state_space(s);
    if (s.latent.rank > 0) return make_latent_attention(s, layer);
    return make_attention(s, layer);
}

Ffn make_ffn(const Spec& s, int64_t layer) {
    FeedForward dense;
    dense.activation = s.activation;
    dense.gate = s.gate;
    if (s.is_routed(layer)) {
        Experts e;
        e.routing = s.experts.routing;
        e.activation = s.activation;
        e.shared = dense;
        return e;
    }
    if (s.ffn_width == 0) return {};
    return dense;
}

}  // namespace

Decoder make_decoder(const Spec& spec) {
    Decoder m;
    m.spec = spec;
    const Norm empty{spec.norm, spec.eps, {}, {}};
    for (int i = 0; i < spec.layers; ++i) {
        Block b;
        b.layer = i;
        b.is_last = i + 1 == spec.layers;
        for (Norm* n : {&b.attn_norm, &b.post_attention_norm, &b.attn_output_norm, &b.ffn_norm, &b.post_ffw_norm,
                        &b.layer_output_norm}) {
            *n = empty;
        }
        b.mixer = make_mixer(spec, spec.layer[static_cast<size_t>(i)]);
        b.ffn = make_ffn(spec, i);
        b.is_parallel = spec.residual != Residual::sequential;
        b.ffn_shares_norm = spec.residual == Residual::parallel_shared;
        b.residual_scale = spec.residual_scale;
        m.blk.push_back(b);
    }
    m.token_embd_norm = m.output_norm = empty;
    return m;
}

}  // namespace toy
