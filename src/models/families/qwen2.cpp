// Qwen2 and Qwen2.5.
//
// What is unusual about it: Q, K and V have biases, and no other map has. Otherwise a Llama, with rope order NEOX.

#include "models/family.h"

namespace toy {
namespace {

Spec read(const SpecKeys& keys) {
    Spec s = read_common(keys, Rope::Order::neox);
    read_norm(keys, Norm::Kind::rms, s);
    return s;
}

}  // namespace

extern const Family k_qwen2;
const Family k_qwen2{"qwen2", "Qwen2, Qwen2.5", read};

}  // namespace toy
