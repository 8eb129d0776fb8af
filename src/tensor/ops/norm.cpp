#include <ggml.h>

#include <cmath>

#include "tensor/backward.h"
#include "tensor/gradient_ops.h"
#include "tensor/kernels/norm.h"
#include "tensor/ops.h"
#include "tensor/ops/record.h"

namespace toy {
namespace {

void require_eps(float eps) {
    if (!(eps >= 0.0f) || !std::isfinite(eps)) bad_input("eps is {}, but must be a number from 0 on", eps);
}

// A weight [D] or [n, D] that goes over the rows of x again and again.
void require_factor(const Layout& factor, const Layout& x, const char* what) {
    if (absent(factor)) return;
    require_type(factor, DType::F32, what);
    require_packed(factor, what);
    if (factor.ne[0] != x.ne[0] || x.ne[1] % factor.ne[1] != 0 || factor.ne[2] != 1 || factor.ne[3] != 1) {
        bad_input("{} {} does not fit {}", what, describe_shape(factor), describe_shape(x));
    }
}

int64_t blocks_of(int64_t groups) { return (groups + kernels::k_norm_block - 1) / kernels::k_norm_block; }

// Sources: x, weight or absent, dy. See kernels::norm_back for the result.
struct NormBack : Op {
    kernels::NormKind kind;
    bool has_bias;
    NormBack(kernels::NormKind k, bool bias) : kind(k), has_bias(bias) {}

    std::string_view name() const override { return kind.is_layer ? "layer_norm_back" : "rms_norm_back"; }
    Layout infer(std::span<const Layout> in) const override {
        for (const Layout* operand : {&in[0], &in[2]}) {
            require_type(*operand, DType::F32, "x and dy");
            require_packed(*operand, "x or dy");
        }
        require_factor(in[1], in[0], "the weight");
        if (!in[0].same_shape(in[2])) bad_input("{} and {} differ", describe_shape(in[0]), describe_shape(in[2]));
        const int64_t group = absent(in[1]) ? 1 : in[1].ne[1], groups = in[0].rows() / group;
        const int64_t sums = absent(in[1]) ? 0 : blocks_of(groups) * (has_bias ? 2 : 1);
        return packed(DType::F32, {groups + sums, group * in[0].ne[0]});
    }
    static void compute(ggml_tensor* out, int ith, int nth, void* self) {
        const auto& op = *static_cast<const NormBack*>(self);
        const bool has_weight = out->src[2] != nullptr;
        kernels::norm_back(out, out->src[0], has_weight ? out->src[1] : nullptr, out->src[has_weight ? 2 : 1],
                           op.has_bias, op.kind, ith, nth);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        if (!to.has_kernels) return lower_plain(to.context, in[0], in[1], in[2]);
        ggml_tensor* operands[3] = {in[0]};
        int count = 1;
        if (in[1] != nullptr) operands[count++] = in[1];
        operands[count++] = in[2];
        const int64_t group = in[1] == nullptr ? 1 : in[1]->ne[1], groups = ggml_nrows(in[0]) / group;
        const int64_t sums = in[1] == nullptr ? 0 : blocks_of(groups) * (has_bias ? 2 : 1);
        return ggml_custom_4d(to.context, GGML_TYPE_F32, group * in[0]->ne[0], groups + sums, 1, 1, operands, count,
                              compute, GGML_N_TASKS_MAX, const_cast<NormBack*>(this));
    }
    ggml_tensor* lower_plain(ggml_context* c, ggml_tensor* x, ggml_tensor* weight, ggml_tensor* dy) const {
        ggml_tensor* g = weight == nullptr ? dy : ggml_mul(c, dy, weight);
        const int64_t wide = x->ne[0] * (weight == nullptr ? 1 : weight->ne[1]), groups = ggml_nelements(x) / wide;
        const int64_t blocks = blocks_of(groups);
        ggml_tensor* unit = kind.is_layer ? ggml_norm(c, x, kind.eps) : ggml_rms_norm(c, x, kind.eps);  // x̂
        ggml_tensor* dx = kind.is_layer ? layer_back(c, x, unit, g) : ggml_rms_norm_back(c, g, x, kind.eps);
        ggml_tensor* result = ggml_reshape_2d(c, dx, wide, groups);
        if (weight == nullptr) return result;
        const auto with_sum = [&](ggml_tensor* terms) {  // one sum of all, then rows of zeros
            ggml_tensor* sum = ggml_repeat_back(c, ggml_reshape_2d(c, terms, wide, groups),
                                                ggml_new_tensor_2d(c, GGML_TYPE_F32, wide, 1));
            result = ggml_concat(c, result, ggml_pad(c, sum, 0, static_cast<int>(blocks - 1), 0, 0), 1);
        };
        with_sum(ggml_mul(c, dy, unit));
        if (has_bias) with_sum(dy);
        return result;
    }
    ggml_tensor* layer_back(ggml_context* c, ggml_tensor* x, ggml_tensor* unit, ggml_tensor* g) const {
        ggml_tensor* centred = ggml_sub(c, x, ggml_mean(c, x));
        ggml_tensor* variance = ggml_mean(c, ggml_sqr(c, centred));
        ggml_tensor* deviation = ggml_sqrt(c, ggml_scale_bias(c, variance, 1.0f, kind.eps));
        ggml_tensor* along = ggml_mul(c, unit, ggml_mean(c, ggml_mul(c, g, unit)));
        return ggml_div(c, ggml_sub(c, ggml_sub(c, g, ggml_mean(c, g)), along), deviation);
    }
    int lowered_nodes() const override { return 30; }
    bool takes_absent(int source) const override { return source == 1; }
};

// RMS and layer norm. Sources: x, weight or absent, bias or absent.
struct Norm : Op {
    kernels::NormKind kind;
    explicit Norm(kernels::NormKind k) : kind(k) {}

    std::string_view name() const override { return kind.is_layer ? "layer_norm" : "rms_norm"; }
    Layout infer(std::span<const Layout> in) const override {
        require_type(in[0], DType::F32, "x");
        require_packed_rows(in[0], "x");
        require_eps(kind.eps);
        require_factor(in[1], in[0], "the weight");
        require_factor(in[2], in[0], "the bias");
        if (!absent(in[2]) && (absent(in[1]) || !in[1].same_shape(in[2]))) bad_input("a bias needs a weight like it");
        return packed_like(in[0], DType::F32);
    }
    static void compute(ggml_tensor* out, int ith, int nth, void* self) {
        kernels::norm(out, out->src[0], out->src[1], out->src[2], static_cast<const Norm*>(self)->kind, ith, nth);
    }
    // Weights follow as ordinary products, which ggml's backends fuse.
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        if (to.has_kernels) {
            ggml_tensor* operands[] = {in[0], in[1], in[2]};
            const int count = in[1] == nullptr ? 1 : in[2] == nullptr ? 2 : 3;
            return ggml_custom_4d(to.context, GGML_TYPE_F32, in[0]->ne[0], in[0]->ne[1], in[0]->ne[2], in[0]->ne[3],
                                  operands, count, compute, GGML_N_TASKS_MAX, const_cast<Norm*>(this));
        }
        ggml_tensor* y = (kind.is_layer ? ggml_norm : ggml_rms_norm)(to.context, in[0], kind.eps);
        if (in[1] != nullptr) y = ggml_mul(to.context, y, in[1]);
        return in[2] == nullptr ? y : ggml_add(to.context, y, in[2]);
    }
    int lowered_nodes() const override { return 3; }
    bool takes_absent(int source) const override { return source > 0; }

    void pull_back(const Pullback& p) const override {
        const Tensor x = contiguous(p.in(0)), weight = p.in(1), bias = p.in(2);
        const Tensor back = record(NormBack(kind, static_cast<bool>(bias)), {x, weight, contiguous(p.dy())},
                                   std::source_location::current());
        const int64_t group = weight ? weight.layout().ne[1] : 1, groups = x.layout().rows() / group;
        const Layout& shape = x.layout();
        p.give(0, reshape(slice(back, 0, 0, groups), {shape.ne[3], shape.ne[2], shape.ne[1], shape.ne[0]}));
        const auto give_sums = [&](int source, int64_t first) {
            if (!p.wants(source)) return;
            const Tensor rows = slice(back, 0, first, blocks_of(groups));
            p.give_repeated(source, reshape(rows, {blocks_of(groups), group, shape.ne[0]}));
        };
        give_sums(1, groups);
        give_sums(2, groups + blocks_of(groups));
    }
};

// x / max(‖x‖₂, eps)
struct L2Norm : Op {
    float eps;
    explicit L2Norm(float e) : eps(e) {}

    std::string_view name() const override { return "l2_norm"; }
    Layout infer(std::span<const Layout> in) const override {
        require_type(in[0], DType::F32, "x");
        require_packed_rows(in[0], "x");
        require_eps(eps);
        return packed_like(in[0], DType::F32);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_l2_norm(to.context, in[0], eps);
    }
    // Where the norm is above eps: (dy − y·Σ y·dy) / ‖x‖; below it y is x/eps.
    void pull_back(const Pullback& p) const override {
        const Tensor dy = contiguous(p.dy()), y = p.y();
        const Tensor above = scale_bias(sqrt(sum_rows(square(p.in(0)))), 1.0f, -eps);   // ‖x‖ − eps
        const Tensor is_above = above / scale_bias(sqrt(square(above)), 1.0f, 1e-30f);  // ±1
        const Tensor share = scale_bias(is_above, 0.5f, 0.5f);                          // 1 or 0
        const Tensor along = y * (sum_rows(dy * y) * share);
        p.give(0, (dy - along) / scale_bias(relu(above), 1.0f, eps));
    }
};

}  // namespace

Tensor rms_norm(Operand x, Tensor weight, float eps) {
    return record(Norm({false, eps}), {x.tensor, weight, Tensor()}, x.where);
}

Tensor layer_norm(Operand x, Tensor weight, Tensor bias, float eps) {
    if (bias && !weight) return Operand(layer_norm(x, {}, {}, eps), x.where) + bias;
    return record(Norm({true, eps}), {x.tensor, weight, bias}, x.where);
}

Tensor l2_norm(Operand x, float eps) { return record(L2Norm(eps), {x.tensor}, x.where); }

}  // namespace toy
