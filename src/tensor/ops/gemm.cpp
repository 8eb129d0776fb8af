#include <ggml.h>

#include <algorithm>

#include "tensor/gradient_ops.h"
#include "tensor/kernels/gemm_node.h"
#include "tensor/kernels/widen.h"
#include "tensor/ops.h"
#include "tensor/ops/record.h"

namespace toy {
namespace {

struct Gemm : Op {
    bool a_turned, b_turned;
    bool is_into;
    kernels::GemmNode node;
    Gemm(bool a, bool b, bool into) : a_turned(a), b_turned(b), is_into(into), node{a, b, into} {}

    std::string_view name() const override { return is_into ? "gemm_into" : "gemm"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout &a = in[in.size() - 2], &b = in[in.size() - 1];
        for (const Layout* operand : {&a, &b}) {
            if (operand->type != DType::F32 && operand->type != DType::BF16)
                bad_input("an operand cannot be {}", operand->describe());
            require_packed_rows(*operand, "an operand");
            if (operand->is_transposed()) bad_input("{} is transposed; say so instead", operand->describe());
        }
        const int64_t m = a.ne[a_turned ? 0 : 1], k = a.ne[a_turned ? 1 : 0];
        const int64_t n = b.ne[b_turned ? 1 : 0], k_of_b = b.ne[b_turned ? 0 : 1];
        if (k != k_of_b || a.ne[2] % b.ne[2] != 0 || a.ne[3] % b.ne[3] != 0) {
            bad_input("{}{} and {}{} cannot be multiplied", describe_shape(a), a_turned ? "ᵀ" : "", describe_shape(b),
                      b_turned ? "ᵀ" : "");
        }
        const Layout result = packed_ne(DType::F32, std::max({a.rank, b.rank, 2}), {n, m, a.ne[2], a.ne[3]});
        if (!is_into) return result;
        if (in[0].type != DType::F32 || !in[0].same_shape(result) || !in[0].is_contiguous()) {
            bad_input("{} cannot be added to {}", result.describe(), in[0].describe());
        }
        return in[0];
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        if (to.has_kernels) return node.make(to.context, in);
        return lower_plain(to.context, in);
    }
    // ggml multiplies rows with rows, so an operand whose rows do not run along k is transposed first.
    ggml_tensor* lower_plain(ggml_context* context, std::span<ggml_tensor* const> in) const {
        const auto turned = [&](ggml_tensor* x) { return ggml_cont(context, ggml_transpose(context, x)); };
        ggml_tensor *a = in[in.size() - 2], *b = in[in.size() - 1];
        ggml_tensor* product = ggml_mul_mat(context, b_turned ? b : turned(b), a_turned ? turned(a) : a);
        return is_into ? ggml_add_inplace(context, in[0], product) : product;
    }
    int lowered_nodes() const override { return 6; }
    int aliases() const override { return is_into ? 0 : -1; }
    bool writes(int source) const override { return is_into && source == 0; }
};

// Sources: dy, w.
struct GemmWidened : Op {
    static constexpr int64_t k_piece = 4096;
    int pieces;
    explicit GemmWidened(int64_t rows) : pieces(static_cast<int>((rows + k_piece - 1) / k_piece)) {}

    std::string_view name() const override { return "gemm_widened"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout &dy = in[0], &w = in[1];
        require_type(dy, DType::F32, "dy");
        require_packed(dy, "dy");
        require_packed_rows(dy, "dy");
        require_packed_rows(w, "the weight");
        if (!converts_to_f32(w.type) || w.type == DType::Q8_1 || w.type == DType::Q8_K || w.is_transposed())
            bad_input("the weight cannot be {}", w.describe());
        if (dy.ne[0] != w.ne[1] || dy.ne[2] % w.ne[2] != 0 || dy.ne[3] % w.ne[3] != 0)
            bad_input("{} and {} cannot be multiplied", describe_shape(dy), describe_shape(w));
        return packed_ne(DType::F32, std::max({dy.rank, w.rank, 2}), {w.ne[0], dy.ne[1], dy.ne[2], dy.ne[3]});
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        if (!to.has_kernels) return lower_plain(to.context, in[0], in[1]);
        ggml_tensor* operands[] = {in[0], in[1]};
        return ggml_custom_4d(
            to.context, GGML_TYPE_F32, in[1]->ne[0], in[0]->ne[1], in[0]->ne[2], in[0]->ne[3], operands, 2,
            [](ggml_tensor* out, int ith, int nth, void*) {
                kernels::multiply_widened(out, out->src[0], out->src[1], ith, nth);
            },
            GGML_N_TASKS_MAX, nullptr);
    }
    // get_rows is the one operator that widens nearly every type on CPU and CUDA.
    ggml_tensor* lower_plain(ggml_context* c, ggml_tensor* dy, ggml_tensor* w) const {
        if (w->ne[2] * w->ne[3] != 1) bad_input("{}: a stack of weights of this type has no gradient here", name());
        ggml_tensor* sum = nullptr;
        for (int64_t first = 0; first < w->ne[1]; first += k_piece) {
            const int64_t count = std::min(k_piece, w->ne[1] - first);
            ggml_tensor* ids = ggml_cast(
                c, ggml_arange(c, static_cast<float>(first), static_cast<float>(first + count), 1.0f), GGML_TYPE_I32);
            ggml_tensor* turned = ggml_cont(c, ggml_transpose(c, ggml_get_rows(c, w, ids)));
            ggml_tensor* part =
                ggml_cont(c, ggml_view_4d(c, dy, count, dy->ne[1], dy->ne[2], dy->ne[3], dy->nb[1], dy->nb[2],
                                          dy->nb[3], static_cast<size_t>(first) * sizeof(float)));
            ggml_tensor* product = ggml_mul_mat(c, turned, part);
            sum = sum == nullptr ? product : ggml_add(c, sum, product);
        }
        return sum;
    }
    int lowered_nodes() const override { return 9 * pieces; }
};

}  // namespace

Tensor gemm_widened(Operand dy, Tensor w) { return record(GemmWidened(w.layout().ne[1]), {dy.tensor, w}, dy.where); }

Tensor gemm(Operand a, bool a_turned, Tensor b, bool b_turned) {
    return record(Gemm(a_turned, b_turned, false), {a.tensor, b}, a.where);
}

Tensor gemm_into(Tensor sum, Operand a, bool a_turned, Tensor b, bool b_turned) {
    return record(Gemm(a_turned, b_turned, true), {sum, a.tensor, b}, a.where);
}

}  // namespace toy
