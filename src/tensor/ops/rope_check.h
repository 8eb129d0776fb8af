#pragma once
#include <ggml.h>

#include <cmath>

#include "tensor/ops.h"
#include "tensor/ops/record.h"

namespace toy {

inline int rope_mode(const Rope& how) {
    return how.order == Rope::Order::neox ? GGML_ROPE_TYPE_NEOX : GGML_ROPE_TYPE_NORMAL;
}

/// ggml computes the angles of a head's whole width, dividing each by its factor, before it uses those of the rotated
/// elements: factors for these alone are followed by zeros, so that it does not read beyond them.
inline ggml_tensor* rope_factors(ggml_context* context, ggml_tensor* factors, const ggml_tensor* x) {
    if (factors == nullptr || factors->ne[0] >= x->ne[0] / 2) return factors;
    return ggml_pad(context, factors, static_cast<int>(x->ne[0] / 2 - factors->ne[0]), 0, 0, 0);
}

/// The shape rule that rope and its gradient share: x [T, H, d], positions i32 [T], factors f32 [≥ dims/2] or absent.
inline void check_rope(const Rope& how, const Layout& x, const Layout& positions, const Layout& factors) {
    if (x.type != DType::F32 && x.type != DType::F16) bad_input("x cannot be {}", x.describe());
    require_packed_rows(x, "x");
    require_type(positions, DType::I32, "positions");
    require_packed(positions, "positions");
    if (positions.ne[0] != x.ne[2] || positions.elements() != x.ne[2]) {
        bad_input("x {} has {} tokens, but there are positions {}", describe_shape(x), x.ne[2],
                  describe_shape(positions));
    }
    if (how.dims < 2 || how.dims % 2 != 0 || how.dims > x.ne[0] || x.ne[0] % 2 != 0) {
        bad_input("{} of {} elements cannot be rotated: both must be even numbers", how.dims, x.ne[0]);
    }
    if (how.order == Rope::Order::none) bad_input("the order of pairs is not given");
    if (!(how.base > 0.0f) || !std::isfinite(how.base))
        bad_input("the rope base is {}, but must be positive", how.base);
    for (float number : {how.frequency_scale, how.ext_factor, how.attn_factor, how.beta_fast, how.beta_slow}) {
        if (!std::isfinite(number)) bad_input("a parameter of the rotation is {}", number);
    }
    if (how.ext_factor != 0.0f && how.original_context < 1) {
        bad_input("YaRN needs the context length of training, not {}", how.original_context);
    }
    if (absent(factors)) return;
    require_type(factors, DType::F32, "factors");
    require_packed(factors, "factors");
    if (factors.ne[0] < how.dims / 2 || factors.elements() != factors.ne[0]) {
        bad_input("{} rotated elements need {} factors, not {}", how.dims, how.dims / 2, describe_shape(factors));
    }
}

}  // namespace toy
