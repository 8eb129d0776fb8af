#include <ggml.h>

#include <cmath>

#include "tensor/ops.h"
#include "tensor/ops/record.h"

namespace toy {
namespace {

// The three norms over the last axis, without weights: those follow as ordinary products (which ggml's backends fuse).
struct Norm : Op {
    const char* label;
    ggml_tensor* (*function)(ggml_context*, ggml_tensor*, float);
    float eps;
    Norm(const char* l, ggml_tensor* (*f)(ggml_context*, ggml_tensor*, float), float e)
        : label(l), function(f), eps(e) {}

    std::string_view name() const override { return label; }
    Layout infer(std::span<const Layout> in) const override {
        require_type(in[0], DType::F32, "x");
        require_packed_rows(in[0], "x");
        if (!(eps >= 0.0f) || !std::isfinite(eps)) bad_input("eps is {}, but must be a number from 0 on", eps);
        return packed_like(in[0], DType::F32);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return function(to.context, in[0], eps);
    }
};

Tensor scaled(Tensor x, Tensor weight, Tensor bias, std::source_location where) {
    if (weight) x = Operand(x, where) * weight;
    if (bias) x = Operand(x, where) + bias;
    return x;
}

}  // namespace

Tensor rms_norm(Operand x, Tensor weight, float eps) {
    return scaled(record(Norm("rms_norm", ggml_rms_norm, eps), {x.tensor}, x.where), weight, {}, x.where);
}

Tensor layer_norm(Operand x, Tensor weight, Tensor bias, float eps) {
    return scaled(record(Norm("layer_norm", ggml_norm, eps), {x.tensor}, x.where), weight, bias, x.where);
}

Tensor l2_norm(Operand x, float eps) { return record(Norm("l2_norm", ggml_l2_norm, eps), {x.tensor}, x.where); }

}  // namespace toy
