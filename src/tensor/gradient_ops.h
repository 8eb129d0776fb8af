#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

/// Operators that gradients are made of. As in ops.h; shapes are row-major unless an axis is said to be ggml's.
namespace toy {

// ---- ops/gemm.cpp ----

/// op(a)·op(b), batched: a [.., M, K], or [.., K, M] where a_turned; b [.., K, N], or [.., N, K] where b_turned -> f32
/// [.., M, N]. f32 or bf16, rows packed, summed in f32. Where b has fewer matrices, neighbours in
/// the batch of a share one, as in matmul.
Tensor gemm(Operand a, bool a_turned, Tensor b, bool b_turned);
/// sum += op(a)·op(b), in place; sum [.., M, N] f32, packed.
Tensor gemm_into(Tensor sum, Operand a, bool a_turned, Tensor b, bool b_turned);

/// dy·w for a weight of any type, which is widened to f32 some rows at a time: dy [.., T, N], w [.., N, K] -> [.., T,
/// K]. Batch axes of w are repeated to those of dy.
Tensor gemm_widened(Operand dy, Tensor w);

// ---- ops/experts_back.cpp ----

/// Of y = matmul_id(w, x, ids): the gradient of x for each chosen expert, dy [T, U, N], w [E, N, K] of any weight type,
/// ids [T, U] -> [T, U, K]; and that of w, x [T, 1 or U, K] -> [E, N, K].
Tensor matmul_id_input(Tensor w, Operand dy, Tensor ids);
Tensor matmul_id_weight(Operand dy, Tensor x, Tensor ids, int64_t experts);

// ---- ops/activation_back.cpp ----

/// dy·gelu′(x), tanh form or erf form; x and dy packed.
Tensor gelu_back(Operand x, Tensor dy, bool is_erf);

// ---- ops/accumulate.cpp ----

/// x summed over the axes along which something of the shape of `like` was repeated; x packed.
Tensor sum_to(Operand x, const Layout& like);
/// sum += x, in place, summed over axes as by sum_to.
Tensor add_into(Tensor sum, Operand x);
/// Rows of x [.., T, D] added up at `ids` i32 [.., T] of a table of zeros shaped like `table` [.., V, D]. Rows of one
/// number are added in their order.
Tensor add_rows(Operand x, Tensor ids, const Layout& table);
/// The same onto what `sum` holds, in place.
Tensor add_rows_into(Tensor sum, Operand x, Tensor ids);

/// The gradient of a view by bytes: x added at its places in zeros shaped like `target`, which is packed; strides in
/// ggml's order.
Tensor view_back(Operand x, const Layout& target, const std::array<size_t, 4>& strides, size_t offset);

constexpr size_t k_most_joined = 8;
/// Slices of one axis (ggml's) put at their `starts`, ascending and apart, zeros between them, `length` in all. Parts
/// f32, packed, at most k_most_joined.
Tensor join(const std::vector<Tensor>& parts, size_t axis, const std::vector<int64_t>& starts, int64_t length);

// ---- ops/optimizer.cpp ----

/// One AdamW step in place on w, m and v; numbers f32 [8]: rate, β₁, β₂, ε, decay (used where `decays`), 1/(1 − β₁ᵗ),
/// 1/(1 − β₂ᵗ), and a factor of the gradient.
Tensor adamw_update(Tensor w, Operand gradient, Tensor m, Tensor v, Tensor numbers, bool decays);
/// Sums of squares of x, packed; their sum is what is asked for: one number for each 65536 elements.
Tensor sum_squares(Operand x);

}  // namespace toy
