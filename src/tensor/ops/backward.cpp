#include <ggml.h>

#include <cmath>

#include "tensor/ops.h"
#include "tensor/ops/record.h"
#include "tensor/ops/rope_check.h"

namespace toy {
namespace {

void require_pair(const Layout& x, const Layout& dy) {
    for (const Layout* operand : {&x, &dy}) {
        require_type(*operand, DType::F32, "the operands");
        require_packed(*operand, "an operand");
    }
    if (!x.same_shape(dy)) bad_input("{} and {} differ", describe_shape(x), describe_shape(dy));
}

// y·(dy − Σ y·dy). Not ggml's SOFT_MAX_BACK: where the allocator lets that reuse the memory of y, it writes dy there
// before it multiplies with y, and its gradients are wrong.
struct SoftmaxBack : Op {
    std::string_view name() const override { return "softmax_back"; }
    Layout infer(std::span<const Layout> in) const override {
        require_pair(in[1], in[0]);
        return packed_like(in[1], DType::F32);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        ggml_tensor* total = ggml_sum_rows(to.context, ggml_mul(to.context, in[1], in[0]));
        return ggml_mul(to.context, ggml_sub(to.context, in[0], total), in[1]);
    }
    int lowered_nodes() const override { return 4; }
};

struct SiluBack : Op {
    std::string_view name() const override { return "silu_back"; }
    Layout infer(std::span<const Layout> in) const override {
        require_pair(in[0], in[1]);
        return packed_like(in[0], DType::F32);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_silu_back(to.context, in[1], in[0]);
    }
};

struct RotateBack : Op {
    Rope how;
    explicit RotateBack(const Rope& r) : how(r) {}

    std::string_view name() const override { return "rope_back"; }
    Layout infer(std::span<const Layout> in) const override {
        check_rope(how, in[0], in[1], in[2]);
        return packed_like(in[0], in[0].type);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_rope_ext_back(to.context, in[0], in[1], rope_factors(to.context, in[2], in[0]), how.dims,
                                  rope_mode(how), how.original_context, how.base, how.frequency_scale, how.ext_factor,
                                  how.attn_factor, how.beta_fast, how.beta_slow);
    }
    int lowered_nodes() const override { return 2; }
    bool takes_absent(int source) const override { return source == 2; }
};

struct RmsNormBack : Op {
    float eps;
    explicit RmsNormBack(float e) : eps(e) {}

    std::string_view name() const override { return "rms_norm_back"; }
    Layout infer(std::span<const Layout> in) const override {
        require_pair(in[0], in[1]);
        if (!(eps >= 0.0f) || !std::isfinite(eps)) bad_input("eps is {}, but must be a number from 0 on", eps);
        return packed_like(in[0], DType::F32);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_rms_norm_back(to.context, in[1], in[0], eps);
    }
};

struct GetRowsBack : Op {
    std::string_view name() const override { return "get_rows_back"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout &dy = in[0], &ids = in[1], &table = in[2];
        require_type(dy, DType::F32, "dy");
        require_packed(dy, "dy");
        require_type(ids, DType::I32, "ids");
        require_packed(ids, "ids");
        if (dy.ne[2] != 1 || dy.ne[3] != 1 || table.ne[2] != 1 || table.ne[3] != 1 || dy.ne[0] != table.ne[0] ||
            ids.ne[0] != dy.ne[1] || ids.elements() != dy.ne[1]) {
            bad_input("dy {}, ids {} and the table {} do not fit [T, D], [T] and [V, D]", describe_shape(dy),
                      describe_shape(ids), describe_shape(table));
        }
        return packed(DType::F32, {table.ne[1], table.ne[0]});
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_get_rows_back(to.context, in[0], in[1], in[2]);
    }
    IndexUse indices(std::span<const Layout> in) const override { return {1, in[2].ne[1]}; }
};

// ggml makes optimizer steps only for tensors that carry its flag for trainable ones. The flag belongs to how a graph
// sees a tensor, not to the tensor that several graphs share, so it is taken back.
template <class Step>
ggml_tensor* as_trainable(ggml_tensor* w, Step step) {
    const int32_t flags = w->flags;
    w->flags |= GGML_TENSOR_FLAG_PARAM;
    ggml_tensor* result = step();
    w->flags = flags;
    return result;
}

void require_step(std::span<const Layout> in, int64_t numbers) {
    const Layout& hyper = in.back();
    for (const Layout& operand : in.first(in.size() - 1)) require_pair(in[0], operand);
    require_type(hyper, DType::F32, "hyper");
    require_packed(hyper, "hyper");
    if (hyper.elements() != numbers) bad_input("hyper has {} numbers, not {}", hyper.elements(), numbers);
}

struct AdamWStep : Op {
    std::string_view name() const override { return "adamw_step"; }
    Layout infer(std::span<const Layout> in) const override {
        require_step(in, 7);
        return in[0];
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return as_trainable(in[0], [&] { return ggml_opt_step_adamw(to.context, in[0], in[1], in[2], in[3], in[4]); });
    }
    int aliases() const override { return 0; }
    bool writes(int source) const override { return source == 0 || source == 2 || source == 3; }
};

struct SgdStep : Op {
    std::string_view name() const override { return "sgd_step"; }
    Layout infer(std::span<const Layout> in) const override {
        require_step(in, 2);
        return in[0];
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return as_trainable(in[0], [&] { return ggml_opt_step_sgd(to.context, in[0], in[1], in[2]); });
    }
    int aliases() const override { return 0; }
    bool writes(int source) const override { return source == 0; }
};

}  // namespace

Tensor softmax_back(Operand dy, Tensor y) { return record(SoftmaxBack(), {dy.tensor, y}, dy.where); }
Tensor silu_back(Operand x, Tensor dy) { return record(SiluBack(), {x.tensor, dy}, x.where); }

Tensor rope_back(Operand dy, Tensor positions, const Rope& how, Tensor factors) {
    if (how.order == Rope::Order::none) return dy.tensor;
    return record(RotateBack(how), {dy.tensor, positions, factors}, dy.where);
}

Tensor rms_norm_back(Operand x, Tensor dy, float eps) { return record(RmsNormBack(eps), {x.tensor, dy}, x.where); }

Tensor get_rows_back(Operand dy, Tensor ids, Tensor table) {
    return record(GetRowsBack(), {dy.tensor, ids, table}, dy.where);
}

Tensor adamw_step(Tensor w, Operand gradient, Tensor m, Tensor v, Tensor hyper) {
    return record(AdamWStep(), {w, gradient.tensor, m, v, hyper}, gradient.where);
}

Tensor sgd_step(Tensor w, Operand gradient, Tensor hyper) {
    return record(SgdStep(), {w, gradient.tensor, hyper}, gradient.where);
}

}  // namespace toy
