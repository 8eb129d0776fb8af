#pragma once

struct ggml_tensor;

/// Custom CPU nodes for GELU, exact where ggml's go through a table of float16 values (3e-4 relative error, and a
/// staircase under finite differences). Operands are f32 with their rows at one distance; results are packed and of the
/// same shape.
namespace toy::kernels {

void gelu_node(ggml_tensor* out, int ith, int nth, void* unused);
void gelu_erf_node(ggml_tensor* out, int ith, int nth, void* unused);
void geglu_node(ggml_tensor* out, int ith, int nth, void* unused);

/// Of operands x and dy: dy·gelu′(x).
void gelu_back_node(ggml_tensor* out, int ith, int nth, void* unused);
void gelu_erf_back_node(ggml_tensor* out, int ith, int nth, void* unused);

}  // namespace toy::kernels
