#include <ggml.h>

#include <cmath>

#include "tensor/backward.h"
#include "tensor/gradient_ops.h"
#include "tensor/ops.h"
#include "tensor/ops/record.h"
#include "tensor/ops/rope_check.h"

namespace toy {
namespace {

void require_numbers(float scale, float max_bias, float softcap = 0.0f) {
    if (!std::isfinite(scale)) bad_input("the scale is {}", scale);
    if (!(max_bias >= 0.0f) || !std::isfinite(max_bias)) bad_input("ALiBi's bias is {}", max_bias);
    if (!(softcap >= 0.0f) || !std::isfinite(softcap)) bad_input("the soft-cap is {}", softcap);
}

struct Softmax : Op {
    float scale, max_bias;
    Softmax(float s, float b) : scale(s), max_bias(b) {}

    std::string_view name() const override { return "softmax"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout& x = in[0];
        require_type(x, DType::F32, "x");
        require_packed(x, "x");
        require_numbers(scale, max_bias);
        if (absent(in[1])) {
            if (max_bias > 0.0f) bad_input("ALiBi needs a mask");
            return packed_like(x, DType::F32);
        }
        const Layout& mask = in[1];
        if (mask.type != DType::F16 && mask.type != DType::F32) bad_input("the mask cannot be {}", mask.describe());
        require_packed(mask, "the mask");
        if (mask.ne[0] != x.ne[0] || mask.ne[1] < x.ne[1] || x.ne[2] % mask.ne[2] != 0 || x.ne[3] % mask.ne[3] != 0) {
            bad_input("the mask {} does not cover {}", describe_shape(mask), describe_shape(x));
        }
        return packed_like(x, DType::F32);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_soft_max_ext(to.context, in[0], in[1], scale, max_bias);
    }
    bool takes_absent(int source) const override { return source == 1; }
    bool is_smooth(int source) const override { return source == 0; }
    void pull_back(const Pullback& p) const override { p.give(0, softmax_back(contiguous(p.dy()), p.y()) * scale); }
};

struct CausalMask : Op {
    int past;
    bool is_zero;  // 0 above the diagonal instead of −inf: the gradient
    CausalMask(int p, bool zero) : past(p), is_zero(zero) {}

    std::string_view name() const override { return "causal_mask"; }
    Layout infer(std::span<const Layout> in) const override {
        require_type(in[0], DType::F32, "x");
        require_packed(in[0], "x");
        if (past < 0) bad_input("the diagonal cannot start at column {}", past);
        return packed_like(in[0], DType::F32);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return (is_zero ? ggml_diag_mask_zero : ggml_diag_mask_inf)(to.context, in[0], past);
    }
    void pull_back(const Pullback& p) const override {
        p.give(0, record(CausalMask(past, true), {contiguous(p.dy())}, std::source_location::current()));
    }
};

struct Rotate : Op {
    Rope how;
    explicit Rotate(const Rope& r) : how(r) {}

    std::string_view name() const override { return "rope"; }
    Layout infer(std::span<const Layout> in) const override {
        check_rope(how, in[0], in[1], in[2]);
        return packed_like(in[0], in[0].type);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_rope_ext(to.context, in[0], in[1], rope_factors(to.context, in[2], in[0]), how.dims, rope_mode(how),
                             how.original_context, how.base, how.frequency_scale, how.ext_factor, how.attn_factor,
                             how.beta_fast, how.beta_slow);
    }
    int lowered_nodes() const override { return 2; }
    bool takes_absent(int source) const override { return source == 2; }
    bool is_smooth(int source) const override { return source == 0; }
    void pull_back(const Pullback& p) const override {
        p.give(0, rope_back(contiguous(p.dy()), p.in(1), how, p.in(2)));
    }
};

struct FlashAttention : Op {
    float scale, softcap, max_bias;
    FlashAttention(float s, float c, float b) : scale(s), softcap(c), max_bias(b) {}

    std::string_view name() const override { return "flash_attention"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout &q = in[0], &k = in[1], &v = in[2], &mask = in[3];
        require_type(q, DType::F32, "q");
        require_numbers(scale, max_bias, softcap);
        for (const Layout& part : {q, k, v}) require_packed_rows(part, "q, k or v");
        for (const Layout& part : {k, v}) {
            const bool usable = part.type == DType::F32 || part.type == DType::F16 || part.type == DType::BF16 ||
                                (is_quantized(part.type) && converts_to_f32(part.type));
            if (!usable || part.type == DType::Q8_1 || part.type == DType::Q8_K || part.is_transposed()) {
                bad_input("k and v cannot be {}", part.describe());
            }
        }
        if (q.ne[0] != k.ne[0] || k.ne[1] != v.ne[1] || k.ne[2] != v.ne[2] || q.ne[2] % k.ne[2] != 0 ||
            q.ne[3] != k.ne[3] || q.ne[3] != v.ne[3]) {
            bad_input("q {}, k {} and v {} do not fit [S, H, T, d], [S, K, N, d] and [S, K, N, dv]", describe_shape(q),
                      describe_shape(k), describe_shape(v));
        }
        if (k.type != v.type) bad_input("k is {} but v is {}", toy::name(k.type), toy::name(v.type));
        check_mask(q, k, mask);
        return packed_ne(DType::F32, 4, {v.ne[0], q.ne[2], q.ne[1], q.ne[3]});
    }
    void check_mask(const Layout& q, const Layout& k, const Layout& mask) const {
        if (absent(mask)) {
            if (max_bias > 0.0f) bad_input("ALiBi needs a mask");
            return;
        }
        require_type(mask, DType::F16, "the mask");
        require_packed(mask, "the mask");
        if (mask.ne[0] != k.ne[1] || mask.ne[1] < q.ne[1] || q.ne[2] % mask.ne[2] != 0 || q.ne[3] % mask.ne[3] != 0) {
            bad_input("the mask {} does not cover {} queries by {} keys", describe_shape(mask), q.ne[1], k.ne[1]);
        }
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        ggml_tensor* result = ggml_flash_attn_ext(to.context, in[0], in[1], in[2], in[3], scale, max_bias, softcap);
        ggml_prec_set_acc(result, GGML_PREC_F32);
        return result;
    }
    bool takes_absent(int source) const override { return source == 3; }
};

}  // namespace

Tensor softmax(Operand x, Tensor mask, float scale, float max_bias) {
    return record(Softmax(scale, max_bias), {x.tensor, mask}, x.where);
}

Tensor causal_mask(Operand x, int past) { return record(CausalMask(past, false), {x.tensor}, x.where); }

Tensor rope(Operand x, Tensor positions, const Rope& how, Tensor factors) {
    if (how.order == Rope::Order::none) return x.tensor;
    return record(Rotate(how), {x.tensor, positions, factors}, x.where);
}

Tensor flash_attention(Operand q, Tensor k, Tensor v, Tensor mask, float scale, float softcap, float max_bias) {
    return record(FlashAttention(scale, softcap, max_bias), {q.tensor, k, v, mask}, q.where);
}

}  // namespace toy
