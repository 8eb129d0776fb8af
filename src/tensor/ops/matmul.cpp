#include <ggml.h>

#include "tensor/backward.h"
#include "tensor/gradient_ops.h"
#include "tensor/kernels/gemm_node.h"
#include "tensor/ops.h"
#include "tensor/ops/record.h"
#include "tensor/repack.h"

namespace toy {
namespace {

// Types that ggml multiplies from the left.
bool is_weight_type(DType type) { return converts_to_f32(type) && type != DType::Q8_1 && type != DType::Q8_K; }

void require_product_types(const Layout& w, const Layout& x) {
    const bool same_half = x.type == w.type && (x.type == DType::F16 || x.type == DType::BF16);
    if (!is_weight_type(w.type) || !(x.type == DType::F32 || same_half)) {
        bad_input("cannot multiply {} with {}", w.describe(), x.describe());
    }
    require_packed_rows(w, "the weight");
    require_packed_rows(x, "x");
    if (w.is_transposed()) bad_input("the weight {} is transposed; make it contiguous", w.describe());
}

bool is_dense(ggml_type type) { return type == GGML_TYPE_F32 || type == GGML_TYPE_BF16; }

struct MatMul : Op {
    kernels::GemmNode dense{false, true, false};  // x·wᵀ

    std::string_view name() const override { return "matmul"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout& w = in[0];
        const Layout& x = in[1];
        require_product_types(w, x);
        if (w.ne[0] != x.ne[0]) {
            bad_input("the weight {} takes rows of {}, but x is {}", describe_shape(w), w.ne[0], describe_shape(x));
        }
        if (x.ne[2] % w.ne[2] != 0 || x.ne[3] % w.ne[3] != 0) {
            bad_input("the batch axes of {} cannot be repeated to those of {}", describe_shape(w), describe_shape(x));
        }
        const int rank = std::max({w.rank, x.rank, 2});
        return packed_ne(DType::F32, x.rank == 1 && w.rank <= 2 ? 1 : rank, {w.ne[1], x.ne[1], x.ne[2], x.ne[3]});
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        if (to.has_kernels && is_dense(in[0]->type) && is_dense(in[1]->type)) {
            ggml_tensor* operands[] = {in[1], in[0]};
            return dense.make(to.context, operands);
        }
        ggml_tensor* twin = to.repacked == nullptr ? nullptr : to.repacked->find(in[0]);
        return ggml_mul_mat(to.context, twin != nullptr ? twin : in[0], in[1]);
    }
    // dx = dy·w, dw = dyᵀ·x, the latter summed over batches that shared w.
    void pull_back(const Pullback& p) const override {
        const Tensor w = p.in(0), x = p.in(1), dy = contiguous(p.dy());
        if (p.wants(1)) p.give(1, input_gradient(w, dy));
        if (!p.wants(0)) return;
        if (w.layout().ne[2] == x.layout().ne[2] && w.layout().ne[3] == x.layout().ne[3]) {
            p.give_product(0, dy, true, x, false);
        } else {
            p.give(0, summed_over_sharers(gemm(dy, true, x, false), w.layout()));
        }
    }
    // Gradients of w for each batch of x, of which neighbours shared one matrix of w.
    static Tensor summed_over_sharers(Tensor each, const Layout& w) {
        const auto& e = each.layout().ne;
        const int64_t size = w.ne[0] * w.ne[1], shared2 = e[2] / w.ne[2], shared3 = e[3] / w.ne[3];
        const Tensor inner =
            sum_to(reshape(each, {e[3], w.ne[2], shared2, size}), packed(DType::F32, {e[3], w.ne[2], 1, size}));
        const Tensor outer = sum_to(reshape(inner, {w.ne[3], shared3, w.ne[2] * size}),
                                    packed(DType::F32, {w.ne[3], 1, w.ne[2] * size}));
        return reshape(outer, {w.ne[3], w.ne[2], w.ne[1], w.ne[0]});
    }
    // Through a weight of another type than f32 or bf16, which is not trained itself: it is widened piece by piece.
    static Tensor input_gradient(Tensor w, Tensor dy) {
        const bool is_plain = w.dtype() == DType::F32 || w.dtype() == DType::BF16;
        return is_plain ? gemm(dy, false, w, false) : gemm_widened(dy, w);
    }
};

struct MatMulId : Op {
    std::string_view name() const override { return "matmul_id"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout& w = in[0];
        const Layout& x = in[1];
        const Layout& ids = in[2];
        require_product_types(w, x);
        require_type(x, DType::F32, "x");
        require_type(ids, DType::I32, "ids");
        require_packed_rows(ids, "ids");
        if (w.ne[3] != 1 || x.ne[3] != 1 || ids.ne[2] != 1 || ids.ne[3] != 1) {
            bad_input("w, x and ids have shapes [E, N, K], [T, U, K] and [T, U], not {}, {} and {}", describe_shape(w),
                      describe_shape(x), describe_shape(ids));
        }
        if (w.ne[0] != x.ne[0] || ids.ne[1] != x.ne[2] || ids.ne[0] % x.ne[1] != 0) {
            bad_input("w {}, x {} and ids {} do not fit", describe_shape(w), describe_shape(x), describe_shape(ids));
        }
        return packed(DType::F32, {x.ne[2], ids.ne[0], w.ne[1]});
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        ggml_tensor* twin = to.repacked == nullptr ? nullptr : to.repacked->find(in[0]);
        return ggml_mul_mat_id(to.context, twin != nullptr ? twin : in[0], in[1], in[2]);
    }
    IndexUse indices(std::span<const Layout> in) const override { return {2, in[0].ne[2]}; }
    void pull_back(const Pullback& p) const override {
        const Tensor w = p.in(0), x = contiguous(p.in(1)), ids = p.in(2), dy = contiguous(p.dy());
        if (p.wants(1)) p.give_repeated(1, matmul_id_input(w, dy, ids));
        if (p.wants(0)) p.give(0, matmul_id_weight(dy, x, ids, w.layout().ne[2]));
    }
};

struct AddId : Op {
    std::string_view name() const override { return "add_id"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout& x = in[0];
        const Layout& bias = in[1];
        const Layout& ids = in[2];
        require_type(x, DType::F32, "x");
        require_type(bias, DType::F32, "bias");
        require_type(ids, DType::I32, "ids");
        require_packed_rows(x, "x");
        require_packed_rows(bias, "bias");
        require_packed_rows(ids, "ids");
        if (x.ne[0] != bias.ne[0] || x.ne[1] != ids.ne[0] || x.ne[2] != ids.ne[1] || x.ne[3] != 1 || bias.ne[2] != 1 ||
            bias.ne[3] != 1 || ids.ne[2] != 1 || ids.ne[3] != 1) {
            bad_input("x {}, bias {} and ids {} do not fit [T, U, N], [E, N] and [T, U]", describe_shape(x),
                      describe_shape(bias), describe_shape(ids));
        }
        return packed_like(x, DType::F32);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        // Where bias has the shape of x, ggml's allocator may let the result reuse its memory, though the rows of bias
        // are read in another order than those of the result are written.
        if (ggml_are_same_shape(in[0], in[1])) ggml_set_output(in[1]->view_src != nullptr ? in[1]->view_src : in[1]);
        return ggml_add_id(to.context, in[0], in[1], in[2]);
    }
    IndexUse indices(std::span<const Layout> in) const override { return {2, in[1].ne[1]}; }
    void pull_back(const Pullback& p) const override {
        p.give(0, p.dy());
        if (!p.wants(1)) return;
        const int64_t rows = p.y().layout().rows(), width = p.y().layout().ne[0];
        p.give_rows(1, reshape(contiguous(p.dy()), {rows, width}), reshape(contiguous(p.in(2)), {rows}));
    }
};

struct OuterProduct : Op {
    std::string_view name() const override { return "outer_product"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout& a = in[0];
        const Layout& b = in[1];
        if (!is_weight_type(a.type) || a.type == DType::BF16) bad_input("a cannot be {}", a.describe());
        require_type(b, DType::F32, "b");
        require_packed_rows(a, "a");
        require_packed_rows(b, "b");
        const bool batches_fit = a.type == DType::F32 ? b.ne[2] % a.ne[2] == 0 && b.ne[3] % a.ne[3] == 0
                                                      : b.ne[2] == a.ne[2] && b.ne[3] == a.ne[3];
        if (a.ne[1] != b.ne[1] || !batches_fit || a.is_transposed()) {
            bad_input("a {} and b {} do not fit [.., K, M] and [.., K, N]", describe_shape(a), describe_shape(b));
        }
        return packed_ne(DType::F32, std::max({a.rank, b.rank, 2}), {a.ne[0], b.ne[0], b.ne[2], b.ne[3]});
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_out_prod(to.context, in[0], in[1]);
    }
    // y = bᵀ·a [.., N, M]: da = b·dy, dbᵀ = dy·aᵀ.
    void pull_back(const Pullback& p) const override {
        const Tensor a = p.in(0), dy = contiguous(p.dy());
        if (p.wants(0)) p.give_repeated(0, gemm(p.in(1), false, dy, false));
        if (p.wants(1)) {
            const Tensor wide = a.dtype() == DType::F32 ? a : cast(contiguous(a), DType::F32);
            p.give(1, transpose(gemm(dy, false, wide, true)));
        }
    }
};

}  // namespace

Tensor matmul(Tensor w, Operand x) { return record(MatMul(), {w, x.tensor}, x.where); }
Tensor matmul_id(Tensor w, Operand x, Tensor ids) { return record(MatMulId(), {w, x.tensor, ids}, x.where); }
Tensor add_id(Operand x, Tensor bias, Tensor ids) { return record(AddId(), {x.tensor, bias, ids}, x.where); }
Tensor outer_product(Operand a, Tensor b) { return record(OuterProduct(), {a.tensor, b}, a.where); }

}  // namespace toy
