#include <ggml.h>

#include "tensor/backward.h"
#include "tensor/gradient_ops.h"
#include "tensor/kernels/cross_entropy.h"
#include "tensor/ops.h"
#include "tensor/ops/record.h"

namespace toy {
namespace {

void require_logits(const Layout& logits, const Layout& targets) {
    require_type(logits, DType::F32, "logits");
    require_packed(logits, "logits");
    require_type(targets, DType::I32, "targets");
    require_packed(targets, "targets");
    if (logits.ne[2] != 1 || logits.ne[3] != 1 || targets.ne[0] != logits.ne[1] || targets.elements() != logits.ne[1])
        bad_input("logits {} and targets {} are not [N, V] and [N]", describe_shape(logits), describe_shape(targets));
}

// What the plain lowerings share: numbers of the target, 0 where it is ignored, and whether it is not.
struct Targets {
    ggml_tensor *ids, *is_counted;  ///< i32 [1, N], f32 [1, N]
};

Targets plain_targets(ggml_context* c, ggml_tensor* targets) {
    ggml_tensor* numbers = ggml_reshape_2d(c, ggml_cast(c, targets, GGML_TYPE_F32), 1, targets->ne[0]);
    return {ggml_cast(c, ggml_relu(c, numbers), GGML_TYPE_I32), ggml_step(c, ggml_scale_bias(c, numbers, 1.0f, 0.5f))};
}

// Sources: logits, targets, dy.
struct CrossEntropyBack : Op {
    std::string_view name() const override { return "cross_entropy_back"; }
    Layout infer(std::span<const Layout> in) const override {
        require_logits(in[0], in[1]);
        require_type(in[2], DType::F32, "dy");
        require_packed(in[2], "dy");
        if (in[2].elements() != in[0].ne[1]) bad_input("dy is {}, not [N]", describe_shape(in[2]));
        return packed_like(in[0], DType::F32);
    }
    static void compute(ggml_tensor* out, int ith, int nth, void*) {
        kernels::cross_entropy_back(out, out->src[0], out->src[1], out->src[2], ith, nth);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        if (!to.has_kernels) return lower_plain(to.context, in);
        ggml_tensor* operands[] = {in[0], in[1], in[2]};
        return ggml_custom_4d(to.context, GGML_TYPE_F32, in[0]->ne[0], in[0]->ne[1], 1, 1, operands, 3, compute,
                              GGML_N_TASKS_MAX, nullptr);
    }
    // The one-hot rows are where the distance of a column's number from the target is 0.
    static ggml_tensor* lower_plain(ggml_context* c, std::span<ggml_tensor* const> in) {
        ggml_tensor* logits = in[0];
        ggml_tensor* numbers = ggml_reshape_2d(c, ggml_cast(c, in[1], GGML_TYPE_F32), 1, logits->ne[1]);
        ggml_tensor* columns = ggml_arange(c, 0.0f, static_cast<float>(logits->ne[0]), 1.0f);
        ggml_tensor* distance = ggml_abs(c, ggml_sub(c, ggml_repeat(c, columns, logits), numbers));
        ggml_tensor* one_hot = ggml_step(c, ggml_scale_bias(c, distance, -1.0f, 0.5f));
        ggml_tensor* factor =
            ggml_mul(c, ggml_reshape_2d(c, in[2], 1, logits->ne[1]), plain_targets(c, in[1]).is_counted);
        return ggml_mul(c, ggml_sub(c, ggml_soft_max(c, logits), one_hot), factor);
    }
    int lowered_nodes() const override { return 20; }
};

struct CrossEntropy : Op {
    std::string_view name() const override { return "cross_entropy"; }
    Layout infer(std::span<const Layout> in) const override {
        require_logits(in[0], in[1]);
        return packed(DType::F32, {in[0].ne[1]});
    }
    static void compute(ggml_tensor* out, int ith, int nth, void*) {
        kernels::cross_entropy(out, out->src[0], out->src[1], ith, nth);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        if (!to.has_kernels) return lower_plain(to.context, in[0], in[1]);
        ggml_tensor* operands[] = {in[0], in[1]};
        return ggml_custom_4d(to.context, GGML_TYPE_F32, in[0]->ne[1], 1, 1, 1, operands, 2, compute, GGML_N_TASKS_MAX,
                              nullptr);
    }
    // log Σ exp(z) = z[m] − log softmax(z)[m] for the largest m, whose probability does not vanish.
    static ggml_tensor* lower_plain(ggml_context* c, ggml_tensor* logits, ggml_tensor* targets) {
        const int64_t n = logits->ne[0], rows = logits->ne[1];
        const auto pick = [&](ggml_tensor* table, ggml_tensor* ids) {  // [V, N] and [1, N] -> [1, N]
            return ggml_reshape_2d(c, ggml_get_rows(c, ggml_reshape_3d(c, table, 1, n, rows), ids), 1, rows);
        };
        const Targets wanted = plain_targets(c, targets);
        ggml_tensor* top = ggml_reshape_2d(c, ggml_argmax(c, logits), 1, rows);
        ggml_tensor* total = ggml_sub(c, pick(logits, top), ggml_log(c, pick(ggml_soft_max(c, logits), top)));
        ggml_tensor* losses = ggml_mul(c, ggml_sub(c, total, pick(logits, wanted.ids)), wanted.is_counted);
        return ggml_reshape_1d(c, losses, rows);
    }
    int lowered_nodes() const override { return 30; }

    void pull_back(const Pullback& p) const override {
        p.give(0, record(CrossEntropyBack(), {p.in(0), p.in(1), contiguous(p.dy())}, std::source_location::current()));
    }
};

}  // namespace

Tensor cross_entropy(Operand logits, Tensor targets) {
    return record(CrossEntropy(), {logits.tensor, targets}, logits.where);
}

}  // namespace toy
