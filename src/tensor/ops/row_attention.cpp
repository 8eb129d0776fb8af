#include <ggml.h>

#include <cmath>

#include "tensor/backward.h"
#include "tensor/gradient_ops.h"
#include "tensor/kernels/row_attention.h"
#include "tensor/ops.h"
#include "tensor/ops/record.h"

namespace toy {
namespace {

kernels::RowAttentionKind kind_of(const RowAttention& how) {
    return {how.sequences, how.scale, how.softcap, how.window};
}

void require_heads(std::span<const Layout> in, const RowAttention& how) {
    const Layout &q = in[0], &k = in[1], &v = in[2], &first = in[3];
    for (const Layout* part : {&q, &k, &v}) {
        require_type(*part, DType::F32, "q, k and v");
        require_packed(*part, "q, k or v");
        require_packed_rows(*part, "q, k or v");
    }
    if (how.sequences < 1 || q.ne[2] % how.sequences != 0) bad_input("{} rows are no {} texts", q.ne[2], how.sequences);
    if (!std::isfinite(how.scale) || !std::isfinite(how.softcap) || how.softcap < 0.0f || how.window < 0)
        bad_input("scale {}, soft-cap {} and window {} are no numbers for attention", how.scale, how.softcap,
                  how.window);
    if (q.ne[0] != k.ne[0] || k.ne[1] != v.ne[1] || q.ne[1] % k.ne[1] != 0 || k.ne[2] != q.ne[2] ||
        v.ne[2] != q.ne[2] || q.ne[3] * k.ne[3] * v.ne[3] != 1) {
        bad_input("q {}, k {} and v {} do not fit [S·T, H, d], [S·T, K, d] and [S·T, K, dv]", describe_shape(q),
                  describe_shape(k), describe_shape(v));
    }
    if (absent(first)) return;
    require_type(first, DType::I32, "first keys");
    require_packed(first, "first keys");
    if (first.ne[0] != q.ne[2] || first.elements() != q.ne[2]) bad_input("first keys are {}", describe_shape(first));
}

void require_host(const Lowering& to, std::string_view name) {
    if (!to.device.is_cpu()) bad_input("{} is computed on the CPU alone, not on {}", name, to.device.name());
}

// Sources: q, k, v, first or absent, dy. The result holds the gradients of q, k and v one after the other.
struct RowAttentionBack : Op {
    RowAttention how;
    explicit RowAttentionBack(const RowAttention& h) : how(h) {}

    std::string_view name() const override { return "row_attention_back"; }
    Layout infer(std::span<const Layout> in) const override {
        require_heads(in, how);
        require_type(in[4], DType::F32, "dy");
        require_packed(in[4], "dy");
        if (in[4].ne[0] != in[2].ne[0] || in[4].ne[1] != in[0].ne[1] || in[4].ne[2] != in[0].ne[2])
            bad_input("dy is {}", describe_shape(in[4]));
        return packed(DType::F32, {in[0].elements() + in[1].elements() + in[2].elements()});
    }
    static void compute(ggml_tensor* out, int ith, int nth, void* self) {
        const bool has_first = out->src[4] != nullptr;
        kernels::row_attention_back(out, out->src[0], out->src[1], out->src[2], has_first ? out->src[3] : nullptr,
                                    out->src[has_first ? 4 : 3],
                                    kind_of(static_cast<const RowAttentionBack*>(self)->how), ith, nth);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        require_host(to, name());
        std::vector<ggml_tensor*> operands;
        for (ggml_tensor* operand : in) {
            if (operand != nullptr) operands.push_back(operand);
        }
        const int64_t total = ggml_nelements(in[0]) + ggml_nelements(in[1]) + ggml_nelements(in[2]);
        return ggml_custom_4d(to.context, GGML_TYPE_F32, total, 1, 1, 1, operands.data(),
                              static_cast<int>(operands.size()), compute, GGML_N_TASKS_MAX,
                              const_cast<RowAttentionBack*>(this));
    }
    bool takes_absent(int source) const override { return source == 3; }
    IndexUse indices(std::span<const Layout> in) const override {
        return absent(in[3]) ? IndexUse{-1, 0} : IndexUse{3, in[0].ne[2] / how.sequences};
    }
};

// Sources: q, k, v, first or absent.
struct RowAttend : Op {
    RowAttention how;
    explicit RowAttend(const RowAttention& h) : how(h) {}

    std::string_view name() const override { return "row_attention"; }
    Layout infer(std::span<const Layout> in) const override {
        require_heads(in, how);
        return packed(DType::F32, {in[0].ne[2], in[0].ne[1], in[2].ne[0]});
    }
    static void compute(ggml_tensor* out, int ith, int nth, void* self) {
        kernels::row_attention(out, out->src[0], out->src[1], out->src[2], out->src[3],
                               kind_of(static_cast<const RowAttend*>(self)->how), ith, nth);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        require_host(to, name());
        ggml_tensor* operands[] = {in[0], in[1], in[2], in[3]};
        return ggml_custom_4d(to.context, GGML_TYPE_F32, in[2]->ne[0], in[0]->ne[1], in[0]->ne[2], 1, operands,
                              in[3] == nullptr ? 3 : 4, compute, GGML_N_TASKS_MAX, const_cast<RowAttend*>(this));
    }
    bool takes_absent(int source) const override { return source == 3; }
    IndexUse indices(std::span<const Layout> in) const override {
        return absent(in[3]) ? IndexUse{-1, 0} : IndexUse{3, in[0].ne[2] / how.sequences};
    }

    void pull_back(const Pullback& p) const override {
        const Tensor all = record(RowAttentionBack(how), {p.in(0), p.in(1), p.in(2), p.in(3), contiguous(p.dy())},
                                  std::source_location::current());
        int64_t start = 0;
        for (int source : {0, 1, 2}) {
            const Layout& like = p.in(source).layout();
            p.give(source, reshape(slice(all, -1, start, like.elements()), {like.ne[2], like.ne[1], like.ne[0]}));
            start += like.elements();
        }
    }
};

}  // namespace

Tensor row_attention(Operand q, Tensor k, Tensor v, Tensor first, const RowAttention& how) {
    return record(RowAttend(how), {q.tensor, k, v, first}, q.where);
}

}  // namespace toy
