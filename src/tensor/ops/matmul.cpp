#include <ggml.h>

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

struct MatMul : Op {
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
        ggml_tensor* twin = to.repacked == nullptr ? nullptr : to.repacked->find(in[0]);
        return ggml_mul_mat(to.context, twin != nullptr ? twin : in[0], in[1]);
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
};

}  // namespace

Tensor matmul(Tensor w, Operand x) { return record(MatMul(), {w, x.tensor}, x.where); }
Tensor matmul_id(Tensor w, Operand x, Tensor ids) { return record(MatMulId(), {w, x.tensor, ids}, x.where); }
Tensor add_id(Operand x, Tensor bias, Tensor ids) { return record(AddId(), {x.tensor, bias, ids}, x.where); }
Tensor outer_product(Operand a, Tensor b) { return record(OuterProduct(), {a.tensor, b}, a.where); }

}  // namespace toy
