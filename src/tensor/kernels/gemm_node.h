#pragma once
#include <span>

struct ggml_context;
struct ggml_tensor;

namespace toy::kernels {

/// A custom node that computes op(a)·op(b) of its last two operands, or adds it to its first one in place. Its address
/// serves ggml as long as the graph lives.
struct GemmNode {
    bool a_turned, b_turned;
    bool adds;

    ggml_tensor* make(ggml_context* context, std::span<ggml_tensor* const> in) const;
};

}  // namespace toy::kernels
