#pragma once

struct ggml_tensor;

/// Custom CPU nodes that sort the rows of a packed f32 operand into indices i32. Equal values keep their order and NaN
/// comes last: ggml's argsort hands std::sort a comparison that NaN breaks, which may read outside the row.
namespace toy::kernels {

void argsort_ascending_node(ggml_tensor* out, int ith, int nth, void* unused);
void argsort_descending_node(ggml_tensor* out, int ith, int nth, void* unused);

}  // namespace toy::kernels
