// OLMo 2 (and OLMo 3, which adds windows).
//
// What is unusual about it: no norm before the halves, but one after each, before the residual sum; queries and keys
// are normalised over all heads at once. In OLMo 3 three of four layers have a window, and their rope is not scaled.

#include "models/family.h"

namespace toy {
namespace {

Spec read(const SpecKeys& keys) {
    constexpr int64_t k_period = 4;
    Spec s = read_common(keys, Rope::Order::neox);
    read_norm(keys, Norm::Kind::rms, s);
    s.has_attn_norm = s.has_ffn_norm = false;
    s.has_post_norms = true;
    s.qk_norm = QkNorm::full;
    read_windows(keys, k_period, 0, s);
    const float base = keys.positive_or("rope.freq_base_swa", s.layer.front().rope.base);
    for (LayerSpec& layer : s.layer) {
        if (layer.window == 0) continue;
        layer.rope = {layer.rope.order, layer.rope.dims, base};
        layer.rope.original_context = static_cast<int>(s.context);
    }
    return s;
}

}  // namespace

extern const Family k_olmo2;
const Family k_olmo2{"olmo2", "OLMo 2, OLMo 3", read};

}  // namespace toy
