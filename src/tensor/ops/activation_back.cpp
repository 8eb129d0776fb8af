#include <ggml.h>

#include "tensor/gradient_ops.h"
#include "tensor/kernels/gelu.h"
#include "tensor/ops.h"
#include "tensor/ops/record.h"

namespace toy {
namespace {

struct GeluBack : Op {
    bool is_erf;
    explicit GeluBack(bool erf) : is_erf(erf) {}

    std::string_view name() const override { return is_erf ? "gelu_erf_back" : "gelu_back"; }
    Layout infer(std::span<const Layout> in) const override {
        for (const Layout& operand : in) {
            require_type(operand, DType::F32, "x and dy");
            require_packed(operand, "x or dy");
            require_packed_rows(operand, "x or dy");
        }
        if (!in[0].same_shape(in[1])) bad_input("{} and {} differ", describe_shape(in[0]), describe_shape(in[1]));
        return packed_like(in[0], DType::F32);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        ggml_tensor *x = in[0], *dy = in[1];
        if (!to.has_kernels) return ggml_mul(to.context, dy, is_erf ? erf_slope(to, x) : tanh_slope(to, x));
        ggml_tensor* operands[] = {x, dy};
        return ggml_custom_4d(to.context, GGML_TYPE_F32, x->ne[0], x->ne[1], x->ne[2], x->ne[3], operands, 2,
                              is_erf ? kernels::gelu_erf_back_node : kernels::gelu_back_node, GGML_N_TASKS_MAX,
                              nullptr);
    }
    // With u = √(2/π)·(x + 0.044715·x³): 0.5·(1 + tanh u) + 0.5·x·(1 − tanh² u)·u′.
    static ggml_tensor* tanh_slope(const Lowering& to, ggml_tensor* x) {
        ggml_context* c = to.context;
        constexpr float k = 0.79788456080286535588f;
        ggml_tensor* square = ggml_sqr(c, x);
        ggml_tensor* t = ggml_tanh(c, ggml_mul(c, x, ggml_scale_bias(c, square, 0.044715f * k, k)));
        ggml_tensor* u = ggml_scale_bias(c, square, 3.0f * 0.044715f * k, k);
        ggml_tensor* rest = ggml_mul(c, ggml_mul(c, x, u), ggml_scale_bias(c, ggml_sqr(c, t), -0.5f, 0.5f));
        return ggml_add(c, ggml_scale_bias(c, t, 0.5f, 0.5f), rest);
    }
    // Φ(x) + x·φ(x), where Φ(x) = gelu_erf(x)/x, and 1/2 + φ(0)·x where x is tiny.
    static ggml_tensor* erf_slope(const Lowering& to, ggml_tensor* x) {
        ggml_context* c = to.context;
        constexpr float density = 0.39894228040143267794f;
        ggml_tensor* phi = ggml_scale(c, ggml_exp(c, ggml_scale(c, ggml_sqr(c, x), -0.5f)), density);
        ggml_tensor* is_tiny = ggml_step(c, ggml_scale_bias(c, ggml_sqr(c, x), -1.0f, 1e-8f));
        ggml_tensor* quotient = ggml_div(c, ggml_gelu_erf(c, x), ggml_add(c, x, is_tiny));
        ggml_tensor* near = ggml_mul(c, is_tiny, ggml_scale_bias(c, x, density, 0.5f));
        ggml_tensor* far = ggml_mul(c, quotient, ggml_scale_bias(c, is_tiny, -1.0f, 1.0f));
        return ggml_add(c, ggml_add(c, near, far), ggml_mul(c, x, phi));
    }
    int lowered_nodes() const override { return 18; }
};

}  // namespace

Tensor gelu_back(Operand x, Tensor dy, bool is_erf) { return record(GeluBack(is_erf), {x.tensor, dy}, x.where); }

}  // namespace toy
