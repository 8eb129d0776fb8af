#pragma once
#include <string_view>

namespace toy::capi {

/// What tinynn.h and ggml call an operator.
struct OpCode {
    int code;  ///< enum tnn_op
    const char* ggml_name;
};

/// By the name of ours ("matmul"); "" is a leaf. Throws Error for an operator that the C interface does not make.
OpCode op_code(std::string_view name);

}  // namespace toy::capi
