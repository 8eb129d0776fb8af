// Qwen3.
//
// What is unusual about it: queries and keys are normalised head by head before rope, and the head size is stated, not
// D/H.

#include "models/family.h"

namespace toy {
namespace {

Spec read(const SpecKeys& keys) {
    Spec s = read_common(keys, Rope::Order::neox);
    read_norm(keys, Norm::Kind::rms, s);
    s.qk_norm = QkNorm::per_head;
    return s;
}

}  // namespace

extern const Family k_qwen3;
const Family k_qwen3{"qwen3", "Qwen3", read};

}  // namespace toy
