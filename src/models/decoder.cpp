#include "models/decoder.h"

#include <fmt/format.h>

namespace toy {

Tensor hidden(const Decoder& m, Tensor ids, Context& ctx) {
    Tensor x = get_rows(m.token_embd, ids) * m.spec.embed_scale;  // [T, D]
    for (const Block& b : m.blk) x = block(x, b, ctx);            // [T, D]; the last one [O, D]
    return norm(x, m.output_norm);                                // [O, D]
}

Tensor logits(const Decoder& m, Tensor x) {
    return softcap(linear(m.output, x) * m.spec.logit_scale, m.spec.final_softcap);
}

Decoder make_decoder(const Spec& spec) {
    Decoder m;
    m.spec = spec;
    const Norm empty{spec.norm, spec.eps, {}, {}};
    for (int i = 0; i < spec.layers; ++i) {
        Block b;
        b.layer = i;
        b.is_last = i + 1 == spec.layers;
        for (Norm* n : {&b.attn_norm, &b.post_attention_norm, &b.ffn_norm, &b.post_ffw_norm}) *n = empty;
        b.attn.heads = spec.heads;
        b.attn.kv_heads = spec.kv_heads;
        b.attn.rope = spec.rope;
        b.attn.how = {spec.attention_scale, spec.attention_softcap, static_cast<int>(spec.window)};
        b.ffn.activation = spec.activation;
        b.residual_scale = spec.residual_scale;
        m.blk.push_back(b);
    }
    m.output_norm = empty;
    return m;
}

namespace {

using Shape = std::vector<int64_t>;

struct Table {
    std::vector<WeightEntry> entries;
    void add(std::string name, Shape shape, Tensor& slot) {
        entries.push_back({std::move(name), std::move(shape), &slot});
    }
    void add(const std::string& name, Shape shape, Linear& map, bool has_bias) {
        const int64_t outputs = shape.front();
        add(name + ".weight", std::move(shape), map.weight);
        if (has_bias) add(name + ".bias", {outputs}, map.bias);
    }
    void add(const std::string& name, int64_t size, Norm& n) {
        add(name + ".weight", {size}, n.weight);
        if (n.kind == Norm::Kind::layer) add(name + ".bias", {size}, n.bias);
    }
};

void add_block(Table& table, const Spec& s, Block& b) {
    const std::string blk = fmt::format("blk.{}.", b.layer);
    table.add(blk + "attn_norm", s.width, b.attn_norm);
    table.add(blk + "attn_q", {s.heads * s.head_size, s.width}, b.attn.attn_q, s.has_qkv_bias);
    table.add(blk + "attn_k", {s.kv_heads * s.head_size, s.width}, b.attn.attn_k, s.has_qkv_bias);
    table.add(blk + "attn_v", {s.kv_heads * s.value_size, s.width}, b.attn.attn_v, s.has_qkv_bias);
    table.add(blk + "attn_output", {s.width, s.heads * s.value_size}, b.attn.attn_output, s.has_output_bias);
    if (s.has_post_norms) table.add(blk + "post_attention_norm", s.width, b.post_attention_norm);
    table.add(blk + "ffn_norm", s.width, b.ffn_norm);
    table.add(blk + "ffn_gate", {s.ffn_width, s.width}, b.ffn.ffn_gate, s.has_ffn_bias);
    table.add(blk + "ffn_up", {s.ffn_width, s.width}, b.ffn.ffn_up, s.has_ffn_bias);
    table.add(blk + "ffn_down", {s.width, s.ffn_width}, b.ffn.ffn_down, s.has_ffn_bias);
    if (s.has_post_norms) table.add(blk + "post_ffw_norm", s.width, b.post_ffw_norm);
}

}  // namespace

std::vector<WeightEntry> weight_table(Decoder& m) {
    const Spec& s = m.spec;
    Table table;
    table.add("token_embd.weight", {s.vocabulary, s.width}, m.token_embd);
    if (s.has_rope_factors) table.add("rope_freqs.weight", {s.rope.dims / 2}, m.rope_freqs);
    for (Block& b : m.blk) add_block(table, s, b);
    table.add("output_norm", s.width, m.output_norm);
    if (!s.is_tied) table.add("output", {s.vocabulary, s.width}, m.output, false);
    return std::move(table.entries);
}

void share_weights(Decoder& m) {
    if (m.spec.is_tied) m.output.weight = m.token_embd;
    for (Block& b : m.blk) b.attn.rope_factors = m.rope_freqs;
}

}  // namespace toy
