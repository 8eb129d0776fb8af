#include <ggml.h>

#include "tensor/gradient_ops.h"
#include "tensor/kernels/optimizer.h"
#include "tensor/ops.h"
#include "tensor/ops/record.h"

namespace toy {
namespace {

constexpr int64_t k_adamw_numbers = 8;

void require_alike(const Layout& a, const Layout& b) {
    require_type(b, DType::F32, "an operand");
    require_packed(b, "an operand");
    if (!a.same_shape(b)) bad_input("{} and {} differ", describe_shape(a), describe_shape(b));
}

// Sources: w, gradient, m, v, numbers.
struct AdamWUpdate : Op {
    bool decays;
    explicit AdamWUpdate(bool d) : decays(d) {}

    std::string_view name() const override { return "adamw_update"; }
    Layout infer(std::span<const Layout> in) const override {
        for (const Layout& operand : in.first(4)) require_alike(in[0], operand);
        require_type(in[4], DType::F32, "numbers");
        if (in[4].elements() != k_adamw_numbers) bad_input("{} numbers, not {}", in[4].elements(), k_adamw_numbers);
        return in[0];
    }
    static void compute(ggml_tensor* out, int ith, int nth, void* self) {
        const auto* n = static_cast<const float*>(out->src[4]->data);
        const bool decays = static_cast<const AdamWUpdate*>(self)->decays;
        kernels::adamw(out, out->src[1], out->src[2], out->src[3],
                       {n[0], n[1], n[2], n[3], decays ? n[4] : 0.0f, n[5], n[6], n[7]}, ith, nth);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        if (!to.has_kernels) return lower_plain(to.context, in);
        ggml_tensor* operands[] = {in[1], in[2], in[3], in[4]};
        return ggml_custom_inplace(to.context, in[0], operands, 4, compute, GGML_N_TASKS_MAX,
                                   const_cast<AdamWUpdate*>(this));
    }
    // ggml's step wants its numbers in the same order, the decay 0 where there is none.
    ggml_tensor* lower_plain(ggml_context* c, std::span<ggml_tensor* const> in) const {
        const auto number = [&](int64_t first, int64_t count) {
            return ggml_view_1d(c, in[4], count, static_cast<size_t>(first) * sizeof(float));
        };
        ggml_tensor* decay = ggml_scale(c, number(4, 1), decays ? 1.0f : 0.0f);
        ggml_tensor* numbers = ggml_concat(c, ggml_concat(c, number(0, 4), decay, 0), number(5, 2), 0);
        ggml_tensor* scaled = ggml_mul(c, in[1], number(7, 1));
        const int32_t flags = in[0]->flags;
        in[0]->flags |= GGML_TENSOR_FLAG_PARAM;  // only for the check of ggml_opt_step_adamw
        ggml_tensor* step = ggml_opt_step_adamw(c, in[0], scaled, in[2], in[3], numbers);
        in[0]->flags = flags;
        return step;
    }
    int lowered_nodes() const override { return 10; }
    int aliases() const override { return 0; }
    bool writes(int source) const override { return source == 0 || source == 2 || source == 3; }
};

struct SumSquares : Op {
    std::string_view name() const override { return "sum_squares"; }
    static int64_t blocks(int64_t elements) {
        return (elements + kernels::k_squares_block - 1) / kernels::k_squares_block;
    }
    Layout infer(std::span<const Layout> in) const override {
        require_type(in[0], DType::F32, "x");
        require_packed(in[0], "x");
        return packed(DType::F32, {blocks(in[0].elements())});
    }
    static void compute(ggml_tensor* out, int ith, int nth, void*) { kernels::sum_squares(out, out->src[0], ith, nth); }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        const int64_t count = blocks(ggml_nelements(in[0]));
        if (to.has_kernels) {
            ggml_tensor* operands[] = {in[0]};
            return ggml_custom_4d(to.context, GGML_TYPE_F32, count, 1, 1, 1, operands, 1, compute, GGML_N_TASKS_MAX,
                                  nullptr);
        }
        ggml_tensor* total = ggml_sum(to.context, ggml_sqr(to.context, in[0]));
        return count == 1 ? total : ggml_pad(to.context, total, static_cast<int>(count - 1), 0, 0, 0);
    }
    int lowered_nodes() const override { return 3; }
};

}  // namespace

Tensor adamw_update(Tensor w, Operand gradient, Tensor m, Tensor v, Tensor numbers, bool decays) {
    return record(AdamWUpdate(decays), {w, gradient.tensor, m, v, numbers}, gradient.where);
}

Tensor sum_squares(Operand x) { return record(SumSquares(), {x.tensor}, x.where); }

}  // namespace toy
