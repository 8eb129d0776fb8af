// SmolLM3.
//
// What is unusual about it: every fourth layer does not rotate queries and keys (arXiv 2501.18795). Otherwise a Llama.

#include "models/family.h"

namespace toy {
namespace {

Spec read(const SpecKeys& keys) {
    constexpr size_t k_period = 4;
    Spec s = read_common(keys, Rope::Order::normal);
    read_norm(keys, Norm::Kind::rms, s);
    for (size_t i = k_period - 1; i < s.layer.size(); i += k_period) s.layer[i].rope.order = Rope::Order::none;
    return s;
}

}  // namespace

extern const Family k_smollm3;
const Family k_smollm3{"smollm3", "SmolLM3", read};

}  // namespace toy
