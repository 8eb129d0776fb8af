#include <ggml.h>

#include <limits>

#include "tensor/backward.h"
#include "tensor/gradient_ops.h"
#include "tensor/kernels/sort.h"
#include "tensor/ops.h"
#include "tensor/ops/record.h"

namespace toy {
namespace {

struct Sum : Op {
    std::string_view name() const override { return "sum"; }
    Layout infer(std::span<const Layout> in) const override {
        require_type(in[0], DType::F32, "x");
        require_packed_rows(in[0], "x");
        return packed(DType::F32, {1});
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_sum(to.context, in[0]);
    }
    void pull_back(const Pullback& p) const override { p.give(0, repeat(contiguous(p.dy()), p.in(0))); }
};

struct RowSum : Op {
    bool is_mean;
    explicit RowSum(bool mean) : is_mean(mean) {}

    std::string_view name() const override { return is_mean ? "mean_rows" : "sum_rows"; }
    Layout infer(std::span<const Layout> in) const override {
        require_type(in[0], DType::F32, "x");
        require_packed_rows(in[0], "x");
        return packed_ne(DType::F32, in[0].rank, {1, in[0].ne[1], in[0].ne[2], in[0].ne[3]});
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return (is_mean ? ggml_mean : ggml_sum_rows)(to.context, in[0]);
    }
    void pull_back(const Pullback& p) const override {
        const float share = is_mean ? 1.0f / static_cast<float>(p.in(0).layout().ne[0]) : 1.0f;
        p.give(0, repeat(contiguous(p.dy()) * share, p.in(0)));
    }
};

// The rows from which indices i32 are chosen.
void require_choices(const Layout& x) {
    require_type(x, DType::F32, "x");
    require_packed(x, "x");
    if (x.ne[0] > std::numeric_limits<int32_t>::max()) {
        bad_input("nothing can be chosen from rows of {}", x.ne[0]);
    }
}

struct ArgSort : Op {
    bool descending;
    explicit ArgSort(bool d) : descending(d) {}

    std::string_view name() const override { return "argsort"; }
    Layout infer(std::span<const Layout> in) const override {
        require_choices(in[0]);
        return packed_like(in[0], DType::I32);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        ggml_tensor* x = in[0];
        if (!to.device.is_cpu()) {
            return ggml_argsort(to.context, x, descending ? GGML_SORT_ORDER_DESC : GGML_SORT_ORDER_ASC);
        }
        const auto node = descending ? kernels::argsort_descending_node : kernels::argsort_ascending_node;
        return ggml_custom_4d(to.context, GGML_TYPE_I32, x->ne[0], x->ne[1], x->ne[2], x->ne[3], &x, 1, node,
                              GGML_N_TASKS_MAX, nullptr);
    }
    std::optional<int64_t> index_bound(std::span<const Layout> in) const override { return in[0].ne[0]; }
};

struct TopK : Op {
    int k;
    explicit TopK(int count) : k(count) {}

    std::string_view name() const override { return "top_k"; }
    Layout infer(std::span<const Layout> in) const override {
        require_choices(in[0]);
        if (k < 1 || k > in[0].ne[0]) bad_input("{} cannot be chosen of {}", k, in[0].ne[0]);
        return packed_ne(DType::I32, in[0].rank, {k, in[0].ne[1], in[0].ne[2], in[0].ne[3]});
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_top_k(to.context, in[0], k);
    }
    std::optional<int64_t> index_bound(std::span<const Layout> in) const override { return in[0].ne[0]; }
};

struct ArgMax : Op {
    std::string_view name() const override { return "argmax"; }
    Layout infer(std::span<const Layout> in) const override {
        require_choices(in[0]);
        if (in[0].ne[2] != 1 || in[0].ne[3] != 1) bad_input("x is {}, but must be [T, N]", describe_shape(in[0]));
        return packed(DType::I32, {in[0].ne[1]});
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_argmax(to.context, in[0]);
    }
    std::optional<int64_t> index_bound(std::span<const Layout> in) const override { return in[0].ne[0]; }
};

struct CrossEntropyRows : Op {
    std::string_view name() const override { return "cross_entropy_rows"; }
    Layout infer(std::span<const Layout> in) const override {
        for (const Layout& operand : in) {
            require_type(operand, DType::F32, "logits and targets");
            require_packed(operand, "logits or targets");
        }
        if (!in[0].same_shape(in[1])) {
            bad_input("logits are {} but targets {}", describe_shape(in[0]), describe_shape(in[1]));
        }
        return packed(DType::F32, {1});
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_cross_entropy_loss(to.context, in[0], in[1]);
    }
    // Of −Σ t·log softmax(z) over a row: softmax(z)·Σt − t; all rows count the same.
    bool is_smooth(int source) const override { return source == 0; }
    void pull_back(const Pullback& p) const override {
        const Tensor targets = p.in(1);
        const Tensor difference = softmax(p.in(0)) * sum_rows(targets) - targets;
        const float share = 1.0f / static_cast<float>(targets.layout().rows());
        p.give(0, difference * (contiguous(p.dy()) * share));
    }
};

}  // namespace

Tensor sum(Operand x) { return record(Sum(), {x.tensor}, x.where); }
Tensor sum_rows(Operand x) { return record(RowSum(false), {x.tensor}, x.where); }
Tensor mean_rows(Operand x) { return record(RowSum(true), {x.tensor}, x.where); }
Tensor argsort(Operand x, bool descending) { return record(ArgSort(descending), {x.tensor}, x.where); }
Tensor top_k(Operand x, int k) { return record(TopK(k), {x.tensor}, x.where); }
Tensor argmax(Operand x) { return record(ArgMax(), {x.tensor}, x.where); }
Tensor cross_entropy_rows(Operand logits, Tensor targets) {
    return record(CrossEntropyRows(), {logits.tensor, targets}, logits.where);
}

}  // namespace toy
