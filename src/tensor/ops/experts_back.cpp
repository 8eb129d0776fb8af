#include <ggml.h>

#include "tensor/gradient_ops.h"
#include "tensor/kernels/widen.h"
#include "tensor/ops.h"
#include "tensor/ops/record.h"

namespace toy {
namespace {

void require_rows(const Layout& x, const char* what) {
    require_type(x, DType::F32, what);
    require_packed(x, what);
    require_packed_rows(x, what);
}

void require_ids(const Layout& ids) {
    require_type(ids, DType::I32, "ids");
    require_packed_rows(ids, "ids");
    if (ids.ne[2] != 1 || ids.ne[3] != 1) bad_input("ids are [T, U], not {}", describe_shape(ids));
}

// Sources: w, dy, ids.
struct ExpertsInput : Op {
    std::string_view name() const override { return "matmul_id_input"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout &w = in[0], &dy = in[1], &ids = in[2];
        if (!converts_to_f32(w.type) || w.type == DType::Q8_1 || w.type == DType::Q8_K)
            bad_input("the weight cannot be {}", w.describe());
        require_packed_rows(w, "the weight");
        require_rows(dy, "dy");
        require_ids(ids);
        if (w.ne[3] != 1 || dy.ne[0] != w.ne[1] || dy.ne[1] != ids.ne[0] || dy.ne[2] != ids.ne[1] || dy.ne[3] != 1 ||
            w.is_transposed()) {
            bad_input("w {}, dy {} and ids {} do not fit", describe_shape(w), describe_shape(dy), describe_shape(ids));
        }
        return packed(DType::F32, {dy.ne[2], dy.ne[1], w.ne[0]});
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        if (!to.has_kernels) return lower_plain(to.context, in);
        ggml_tensor* operands[] = {in[0], in[1], in[2]};
        return ggml_custom_4d(
            to.context, GGML_TYPE_F32, in[0]->ne[0], in[1]->ne[1], in[1]->ne[2], 1, operands, 3,
            [](ggml_tensor* out, int ith, int nth, void*) {
                kernels::experts_input(out, out->src[0], out->src[1], out->src[2], ith, nth);
            },
            GGML_N_TASKS_MAX, nullptr);
    }
    // Through the transposed stack, all of which is widened where it is not f32.
    static ggml_tensor* lower_plain(ggml_context* c, std::span<ggml_tensor* const> in) {
        ggml_tensor* w = in[0];
        if (w->type != GGML_TYPE_F32) w = ggml_cast(c, w, GGML_TYPE_F32);
        return ggml_mul_mat_id(c, ggml_cont(c, ggml_transpose(c, w)), in[1], in[2]);
    }
    int lowered_nodes() const override { return 4; }
    IndexUse indices(std::span<const Layout> in) const override { return {2, in[0].ne[2]}; }
};

// Sources: dy, x, ids.
struct ExpertsWeight : Op {
    int64_t experts;
    explicit ExpertsWeight(int64_t e) : experts(e) {}

    std::string_view name() const override { return "matmul_id_weight"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout &dy = in[0], &x = in[1], &ids = in[2];
        require_rows(dy, "dy");
        require_rows(x, "x");
        require_ids(ids);
        if (dy.ne[1] != ids.ne[0] || dy.ne[2] != ids.ne[1] || dy.ne[3] != 1 || x.ne[2] != ids.ne[1] || x.ne[3] != 1 ||
            ids.ne[0] % x.ne[1] != 0) {
            bad_input("dy {}, x {} and ids {} do not fit", describe_shape(dy), describe_shape(x), describe_shape(ids));
        }
        return packed(DType::F32, {experts, dy.ne[0], x.ne[0]});
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        if (!to.has_kernels) return lower_plain(to.context, in);
        ggml_tensor* operands[] = {in[0], in[1], in[2]};
        return ggml_custom_4d(
            to.context, GGML_TYPE_F32, in[1]->ne[0], in[0]->ne[0], experts, 1, operands, 3,
            [](ggml_tensor* out, int ith, int nth, void*) {
                kernels::experts_weight(out, out->src[0], out->src[1], out->src[2], ith, nth);
            },
            GGML_N_TASKS_MAX, nullptr);
    }
    // One product for each expert, of all rows, those of others set to zero.
    ggml_tensor* lower_plain(ggml_context* c, std::span<ggml_tensor* const> in) const {
        ggml_tensor *dy = in[0], *x = in[1], *ids = in[2];
        const int64_t rows = dy->ne[1] * dy->ne[2];
        if (x->ne[1] != dy->ne[1]) x = ggml_repeat_4d(c, x, x->ne[0], dy->ne[1], x->ne[2], 1);
        ggml_tensor* inputs = ggml_cont(c, ggml_transpose(c, ggml_reshape_2d(c, x, x->ne[0], rows)));
        ggml_tensor* numbers = ggml_cast(c, ggml_cont(c, ids), GGML_TYPE_F32);
        ggml_tensor* stack = nullptr;
        for (int64_t e = 0; e < experts; ++e) {
            ggml_tensor* distance = ggml_abs(c, ggml_scale_bias(c, numbers, 1.0f, -static_cast<float>(e)));
            ggml_tensor* is_chosen = ggml_step(c, ggml_scale_bias(c, distance, -1.0f, 0.5f));
            ggml_tensor* own = ggml_mul(c, dy, ggml_reshape_3d(c, is_chosen, 1, dy->ne[1], dy->ne[2]));
            ggml_tensor* turned = ggml_cont(c, ggml_transpose(c, ggml_reshape_2d(c, own, dy->ne[0], rows)));
            ggml_tensor* product = ggml_mul_mat(c, inputs, turned);
            stack = stack == nullptr ? product : ggml_concat(c, stack, product, 2);
        }
        return ggml_reshape_3d(c, stack, x->ne[0], dy->ne[0], experts);
    }
    int lowered_nodes() const override { return 8 + 12 * static_cast<int>(experts); }
    IndexUse indices(std::span<const Layout>) const override { return {2, experts}; }
};

}  // namespace

Tensor matmul_id_input(Tensor w, Operand dy, Tensor ids) {
    return record(ExpertsInput(), {w, dy.tensor, ids}, dy.where);
}

Tensor matmul_id_weight(Operand dy, Tensor x, Tensor ids, int64_t experts) {
    return record(ExpertsWeight(experts), {dy.tensor, x, ids}, dy.where);
}

}  // namespace toy
