#include <ggml.h>

#include <cmath>

#include "tensor/backward.h"
#include "tensor/gradient_ops.h"
#include "tensor/kernels/gelu.h"
#include "tensor/ops.h"
#include "tensor/ops/record.h"

namespace toy {
namespace {

using BinaryFunction = ggml_tensor* (*)(ggml_context*, ggml_tensor*, ggml_tensor*);
using UnaryFunction = ggml_tensor* (*)(ggml_context*, ggml_tensor*);

bool is_float(DType type) { return type == DType::F32 || type == DType::F16 || type == DType::BF16; }

struct Binary : Op {
    const char* label;
    BinaryFunction function;
    void (*rule)(const Pullback&);
    Binary(const char* l, BinaryFunction f, void (*r)(const Pullback&)) : label(l), function(f), rule(r) {}

    std::string_view name() const override { return label; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout& x = in[0];
        const Layout& y = in[1];
        if (!is_float(x.type) || !(y.type == x.type || y.type == DType::F32)) {
            bad_input("cannot combine {} with {}", x.describe(), y.describe());
        }
        if (!repeats_into(y, x)) bad_input("{} cannot be repeated to {}", describe_shape(y), describe_shape(x));
        require_packed_rows(x, "the first operand");
        require_packed_rows(y, "the second operand");
        return packed_like(x, x.type);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return function(to.context, in[0], in[1]);
    }
    void pull_back(const Pullback& p) const override { rule(p); }
};

// Gradients of x∘y: with respect to x, and to y, which may have been repeated.
void add_back(const Pullback& p) {
    p.give(0, p.dy());
    p.give_repeated(1, p.dy());
}

void sub_back(const Pullback& p) {
    p.give(0, p.dy());
    if (p.wants(1)) p.give_repeated(1, negate(contiguous(p.dy())));
}

void mul_back(const Pullback& p) {
    const Tensor dy = contiguous(p.dy());
    if (p.wants(0)) p.give(0, dy * p.in(1));
    if (p.wants(1)) p.give_repeated(1, dy * p.in(0));
}

void div_back(const Pullback& p) {
    const Tensor dx = contiguous(p.dy()) / p.in(1);
    p.give(0, dx);
    if (p.wants(1)) p.give_repeated(1, negate(dx * p.y()));
}

// An elementwise function y = f(x) with its gradient as a function of x, y and dy.
using UnaryRule = Tensor (*)(Tensor x, Tensor y, Tensor dy);

struct Unary : Op {
    const char* label;
    UnaryFunction function;
    UnaryRule rule;
    Unary(const char* l, UnaryFunction f, UnaryRule r) : label(l), function(f), rule(r) {}

    std::string_view name() const override { return label; }
    Layout infer(std::span<const Layout> in) const override {
        require_type(in[0], DType::F32, "the operand");
        require_packed_rows(in[0], "the operand");
        return packed_like(in[0], DType::F32);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return function(to.context, in[0]);
    }
    void pull_back(const Pullback& p) const override { p.give(0, rule(p.in(0), p.y(), contiguous(p.dy()))); }
};

struct ScaleBias : Op {
    float s, b;
    ScaleBias(float scale, float bias) : s(scale), b(bias) {}

    std::string_view name() const override { return "scale"; }
    Layout infer(std::span<const Layout> in) const override {
        require_type(in[0], DType::F32, "the operand");
        require_packed(in[0], "the operand");
        return packed_like(in[0], DType::F32);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_scale_bias(to.context, in[0], s, b);
    }
    void pull_back(const Pullback& p) const override { p.give(0, contiguous(p.dy()) * s); }
};

// On the CPU ggml computes GELU through a table of float16 values; there ours is a custom node.
struct Gelu : Op {
    bool is_erf;
    explicit Gelu(bool erf) : is_erf(erf) {}

    std::string_view name() const override { return is_erf ? "gelu_erf" : "gelu"; }
    Layout infer(std::span<const Layout> in) const override {
        require_type(in[0], DType::F32, "the operand");
        require_even_rows(in[0], "the operand");
        return packed_like(in[0], DType::F32);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        if (!to.device.is_cpu()) return (is_erf ? ggml_gelu_erf : ggml_gelu)(to.context, in[0]);
        ggml_tensor* x = in[0];
        return ggml_custom_4d(to.context, GGML_TYPE_F32, x->ne[0], x->ne[1], x->ne[2], x->ne[3], &x, 1,
                              is_erf ? kernels::gelu_erf_node : kernels::gelu_node, GGML_N_TASKS_MAX, nullptr);
    }
    void pull_back(const Pullback& p) const override {
        p.give(0, gelu_back(contiguous(p.in(0)), contiguous(p.dy()), is_erf));
    }
};

struct Gated : Op {
    bool is_gelu;
    explicit Gated(bool gelu) : is_gelu(gelu) {}

    std::string_view name() const override { return is_gelu ? "geglu" : "swiglu"; }
    Layout infer(std::span<const Layout> in) const override {
        for (const Layout& operand : in) {
            require_type(operand, DType::F32, "gate and up");
            require_even_rows(operand, "gate or up");
        }
        if (!in[0].same_shape(in[1])) {
            bad_input("gate is {} but up is {}", describe_shape(in[0]), describe_shape(in[1]));
        }
        return packed_like(in[0], DType::F32);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        if (!is_gelu) return ggml_swiglu_split(to.context, in[0], in[1]);
        if (!to.device.is_cpu()) return ggml_geglu_split(to.context, in[0], in[1]);
        ggml_tensor* operands[] = {in[0], in[1]};
        return ggml_custom_4d(to.context, GGML_TYPE_F32, in[0]->ne[0], in[0]->ne[1], in[0]->ne[2], in[0]->ne[3],
                              operands, 2, kernels::geglu_node, GGML_N_TASKS_MAX, nullptr);
    }
    void pull_back(const Pullback& p) const override {
        const Tensor gate = contiguous(p.in(0)), dy = contiguous(p.dy());
        if (p.wants(0)) {
            const Tensor inner = dy * p.in(1);
            p.give(0, is_gelu ? gelu_back(gate, inner, false) : silu_back(gate, inner));
        }
        if (p.wants(1)) p.give(1, dy * (is_gelu ? gelu(gate) : silu(gate)));
    }
};

Tensor unary(Operand x, const char* label, UnaryFunction function, UnaryRule rule) {
    return record(Unary(label, function, rule), {x.tensor}, x.where);
}

Tensor tanh_back(Tensor, Tensor y, Tensor dy) { return dy * scale_bias(square(y), -1.0f, 1.0f); }
Tensor sigmoid_back(Tensor, Tensor y, Tensor dy) { return dy * (y - square(y)); }

// 1 above 0, else 0.
Tensor step(Operand x) {
    return unary(x, "step", ggml_step, [](Tensor, Tensor, Tensor dy) { return dy * 0.0f; });
}

}  // namespace

Tensor operator+(Operand x, Tensor y) { return record(Binary("add", ggml_add, add_back), {x.tensor, y}, x.where); }
Tensor operator-(Operand x, Tensor y) { return record(Binary("sub", ggml_sub, sub_back), {x.tensor, y}, x.where); }
Tensor operator*(Operand x, Tensor y) { return record(Binary("mul", ggml_mul, mul_back), {x.tensor, y}, x.where); }
Tensor operator/(Operand x, Tensor y) { return record(Binary("div", ggml_div, div_back), {x.tensor, y}, x.where); }

Tensor operator*(Operand x, float s) { return s == 1.0f ? x.tensor : record(ScaleBias(s, 0.0f), {x.tensor}, x.where); }
Tensor scale_bias(Operand x, float s, float b) { return record(ScaleBias(s, b), {x.tensor}, x.where); }

Tensor softcap(Operand x, float c) {
    if (!(c >= 0.0f) || !std::isfinite(c)) bad_input("a soft-cap cannot be {}", c);
    if (c == 0.0f) return x.tensor;
    const Tensor inner = record(ScaleBias(1.0f / c, 0.0f), {x.tensor}, x.where);
    return record(ScaleBias(c, 0.0f), {tanh({inner, x.where})}, x.where);
}

Tensor silu(Operand x) {
    return unary(x, "silu", ggml_silu, [](Tensor in, Tensor, Tensor dy) { return silu_back(contiguous(in), dy); });
}
Tensor relu(Operand x) {
    return unary(x, "relu", ggml_relu, [](Tensor in, Tensor, Tensor dy) { return dy * step(in); });
}
Tensor tanh(Operand x) { return unary(x, "tanh", ggml_tanh, tanh_back); }
Tensor sigmoid(Operand x) { return unary(x, "sigmoid", ggml_sigmoid, sigmoid_back); }
Tensor exp(Operand x) {
    return unary(x, "exp", ggml_exp, [](Tensor, Tensor y, Tensor dy) { return dy * y; });
}
Tensor log(Operand x) {
    return unary(x, "log", ggml_log, [](Tensor in, Tensor, Tensor dy) { return dy / in; });
}
Tensor sqrt(Operand x) {
    return unary(x, "sqrt", ggml_sqrt, [](Tensor, Tensor y, Tensor dy) { return dy / (y * 2.0f); });
}
Tensor square(Operand x) {
    return unary(x, "square", ggml_sqr, [](Tensor in, Tensor, Tensor dy) { return dy * (contiguous(in) * 2.0f); });
}
Tensor negate(Operand x) {
    return unary(x, "negate", ggml_neg, [](Tensor, Tensor, Tensor dy) { return negate(dy); });
}
Tensor softplus(Operand x) {
    return unary(x, "softplus", ggml_softplus, [](Tensor in, Tensor, Tensor dy) { return dy * sigmoid(in); });
}
Tensor gelu(Operand x) { return record(Gelu(false), {x.tensor}, x.where); }
Tensor gelu_erf(Operand x) { return record(Gelu(true), {x.tensor}, x.where); }
Tensor swiglu(Operand gate, Tensor up) { return record(Gated(false), {gate.tensor, up}, gate.where); }
Tensor geglu(Operand gate, Tensor up) { return record(Gated(true), {gate.tensor, up}, gate.where); }

}  // namespace toy
