#include "op_codes.h"

#include <algorithm>

#include "core/error.h"
#include "tinynn.h"

namespace toy::capi {
namespace {

struct Row {
    std::string_view name;
    OpCode op;
};

constexpr Row k_rows[] = {
    {"", {TNN_OP_NONE, "NONE"}},
    {"add", {TNN_OP_ADD, "ADD"}},
    {"causal_mask", {TNN_OP_DIAG_MASK_INF, "DIAG_MASK_INF"}},
    {"cast", {TNN_OP_CPY, "CPY"}},
    {"concat", {TNN_OP_CONCAT, "CONCAT"}},
    {"contiguous", {TNN_OP_CONT, "CONT"}},
    {"copy", {TNN_OP_CPY, "CPY"}},
    {"flash_attention", {TNN_OP_FLASH_ATTN_EXT, "FLASH_ATTN_EXT"}},
    {"gelu", {TNN_OP_GELU, "UNARY"}},
    {"get_rows", {TNN_OP_GET_ROWS, "GET_ROWS"}},
    {"layer_norm", {TNN_OP_NORM, "NORM"}},
    {"matmul", {TNN_OP_MUL_MAT, "MUL_MAT"}},
    {"mul", {TNN_OP_MUL, "MUL"}},
    {"permute", {TNN_OP_PERMUTE, "PERMUTE"}},
    {"reshape", {TNN_OP_RESHAPE, "RESHAPE"}},
    {"rms_norm", {TNN_OP_RMS_NORM, "RMS_NORM"}},
    {"rope", {TNN_OP_ROPE, "ROPE"}},
    {"scale", {TNN_OP_SCALE, "SCALE"}},
    {"set_rows", {TNN_OP_SET_ROWS, "SET_ROWS"}},
    {"silu", {TNN_OP_SILU, "UNARY"}},
    {"softmax", {TNN_OP_SOFT_MAX, "SOFT_MAX"}},
    {"swiglu", {TNN_OP_SWIGLU, "GLU"}},
    {"tanh", {TNN_OP_TANH, "UNARY"}},
    {"view", {TNN_OP_VIEW, "VIEW"}},
};

}  // namespace

OpCode op_code(std::string_view name) {
    const auto* const found = std::ranges::find(k_rows, name, &Row::name);
    if (found == std::end(k_rows)) failure("the operator {} has no code here", name);
    return found->op;
}

}  // namespace toy::capi
