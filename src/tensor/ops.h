#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tensor/tensor.h"

/// The operators. Each appends one record to the graph of its operands and throws Error, naming the operator and the
/// line of use, where shapes or types do not fit. Shapes are row-major: [T, D] is T rows of D. Unless said otherwise
/// operands and results are f32, and axes before those written are batch axes that must agree.
namespace toy {

// ---- arithmetic: ops/arithmetic.cpp ----

/// Elementwise; y is repeated along each axis where it is shorter and divides. x may be f32, f16 or bf16, y the same or
/// f32; the result has x's shape and type.
Tensor operator+(Operand x, Tensor y);
Tensor operator-(Operand x, Tensor y);
Tensor operator*(Operand x, Tensor y);
Tensor operator/(Operand x, Tensor y);
/// x·s; a scale of exactly 1 adds no node.
Tensor operator*(Operand x, float s);
/// x·s + b for numbers s and b.
Tensor scale_bias(Operand x, float s, float b);
/// c·tanh(x/c), Gemma 2's soft-cap; c = 0 means none and adds no node.
Tensor softcap(Operand x, float c);

Tensor silu(Operand x);  ///< x·sigmoid(x)
Tensor relu(Operand x);  ///< max(x, 0)
Tensor tanh(Operand x);
Tensor sigmoid(Operand x);
Tensor exp(Operand x);
Tensor log(Operand x);
Tensor sqrt(Operand x);
Tensor square(Operand x);
Tensor negate(Operand x);
Tensor softplus(Operand x);  ///< log(1 + exp(x))
/// 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))), exact to float32 rounding on every device (arXiv 1606.08415).
Tensor gelu(Operand x);
/// 0.5·x·(1 + erf(x/√2)), exact to float32 rounding.
Tensor gelu_erf(Operand x);
/// silu(gate)·up
Tensor swiglu(Operand gate, Tensor up);
/// gelu(gate)·up, tanh form
Tensor geglu(Operand gate, Tensor up);

// ---- norms: ops/norm.cpp ----

/// x / √(mean(x²) + eps) over the last axis (arXiv 1910.07467), times `weight` [D] where present.
Tensor rms_norm(Operand x, Tensor weight, float eps);
/// (x − mean) / √(variance + eps) over the last axis, times `weight`, plus `bias`, where present.
Tensor layer_norm(Operand x, Tensor weight, Tensor bias, float eps);
/// x / max(‖x‖₂, eps) over the last axis.
Tensor l2_norm(Operand x, float eps);

// ---- products: ops/matmul.cpp ----

/// w [.., N, K] of any weight type, x [.., T, K] -> [.., T, N]: x·wᵀ. Batch axes of w are repeated to those of x.
Tensor matmul(Tensor w, Operand x);
/// Experts: w [E, N, K], x [T, 1 or U, K], ids i32 [T, U] of chosen experts -> [T, U, N].
Tensor matmul_id(Tensor w, Operand x, Tensor ids);
/// x [T, U, N] plus row ids[t, u] of bias [E, N].
Tensor add_id(Operand x, Tensor bias, Tensor ids);
/// a [.., K, M], b [.., K, N] -> [.., N, M]: bᵀ·a, the sum of outer products over K. ggml's plain loop; not for hot
/// paths.
Tensor outer_product(Operand a, Tensor b);

// ---- attention: ops/attention.cpp ----

/// Softmax over the last axis of scale·x + mask·slope, x packed. `mask` f16 or f32 [.., rows ≥ x's, columns] or absent.
/// With max_bias > 0 each head (axis -3 of x) has ALiBi's slope, else slope 1.
Tensor softmax(Operand x, Tensor mask = {}, float scale = 1.0f, float max_bias = 0.0f);
/// −inf above the diagonal that starts at column `past`: x [.., T, K].
Tensor causal_mask(Operand x, int past);

/// Rotary embedding: which pairs are rotated, by which angles.
struct Rope {
    enum class Order {
        none,
        normal,  ///< neighbours (2i, 2i+1), as in Llama's GGUF files
        neox,    ///< halves (i, i + dims/2)
    };
    Order order = Order::none;
    int dims = 0;  ///< how many of a head's elements are rotated, even
    float base = 10000.0f;
    float frequency_scale = 1.0f;  ///< 1/factor of linear scaling
    /// YaRN (arXiv 2309.00071): weight of extrapolation, magnitude, and the number of rotations between which it ramps.
    float ext_factor = 0.0f, attn_factor = 1.0f, beta_fast = 32.0f, beta_slow = 1.0f;
    int original_context = 0;
    bool operator==(const Rope&) const = default;
};
/// x [T, H, d], positions i32 [T], factors f32 [dims/2] divides the angles, or absent. Order::none adds no node.
Tensor rope(Operand x, Tensor positions, const Rope& how, Tensor factors = {});

/// Fused attention: q [S, H, T, d], k [S, K, N, d], v [S, K, N, dv] (k, v f32, f16, bf16 or quantised), mask f16 [S or
/// 1, 1, ≥ T, N] or absent -> [S, T, H, dv], softmax(scale·q·kᵀ, soft-capped, + mask)·v. H is a multiple of K.
Tensor flash_attention(Operand q, Tensor k, Tensor v, Tensor mask, float scale, float softcap = 0.0f,
                       float max_bias = 0.0f);

/// Causal attention over S texts of T tokens that keeps no scores, with a gradient; on the CPU alone.
struct RowAttention {
    int64_t sequences = 1;  ///< S
    float scale = 1.0f, softcap = 0.0f;
    int window = 0;  ///< keys that a token sees, itself included; 0 for all before it
};
/// q [S·T, H, d], k [S·T, K, d], v [S·T, K, dv], packed; first i32 [S·T] or absent: number in its text of the first key
/// that a token sees, at most its own -> [S·T, H, dv]. ops/row_attention.cpp
Tensor row_attention(Operand q, Tensor k, Tensor v, Tensor first, const RowAttention& how);

// ---- shapes: ops/shape.cpp ----

/// The same elements under another shape; x packed. One dimension may be -1.
Tensor reshape(Operand x, std::initializer_list<int64_t> dims);
/// [T, n·d] -> [T, n, d]; x's rows packed, so it may be a slice of a wider tensor.
Tensor heads(Operand x, int64_t n);
/// [T, n, d] -> [T, n·d], x packed.
Tensor merge_heads(Operand x);
/// Axes reordered, without a copy: result axis i is axis order[i] of x, both row-major; x has as many axes as `order`.
Tensor permute(Operand x, std::initializer_list<int> order);
/// The last two axes exchanged and copied into packed memory.
Tensor transpose(Operand x);
/// x copied into packed memory; a packed x adds no node.
Tensor contiguous(Operand x);
/// Elements start..start+length-1 along `axis` (row-major, negative from the end), without a copy.
Tensor slice(Operand x, int axis, int64_t start, int64_t length);
/// x cut along the last axis into parts of the sizes given, without copies. The sizes add up.
std::vector<Tensor> split(Operand x, const std::vector<int64_t>& sizes);
/// Joined along `axis`.
Tensor concat(Operand x, Tensor y, int axis);
/// x repeated to the shape of `like`.
Tensor repeat(Operand x, Tensor like);
/// Views by bytes, for the C interface alone: `ne` in ggml's order, `strides` of axes 1.. in bytes.
Tensor byte_view(Operand x, const std::vector<int64_t>& ne, const std::vector<size_t>& strides, size_t offset);

// ---- rows and copies: ops/rows.cpp ----

/// Rows of `table` [V, D] of any type chosen by ids i32 [T] -> f32 [T, D]. With batch axes: table [B, V, D], ids [B,
/// T].
Tensor get_rows(Tensor table, Operand ids);
/// `table` [.., R, D] with its rows `ids` (i32 or i64 [N]) replaced by x [.., N, D] (f32; converted to the table's
/// type), in place; ids of one step all different. Use the result in place of `table` afterwards, so that readers come
/// after the write.
Tensor set_rows(Tensor table, Operand x, Tensor ids);
/// x copied into `target`, which has as many elements, converting the type; the result stands for the written target.
Tensor copy_into(Operand x, Tensor target);
/// `target` with the block that starts at byte `offset` and has rows `stride` bytes apart replaced by x, in place.
Tensor set_block(Tensor target, Operand x, size_t stride, size_t offset);
/// x converted to another type, packed.
Tensor cast(Operand x, DType type);

// ---- sums and choices: ops/reduce.cpp ----

Tensor sum(Operand x);       ///< of all elements -> [1]
Tensor sum_rows(Operand x);  ///< over the last axis, which becomes 1
Tensor mean_rows(Operand x);
/// Indices i32 that sort the last axis; on the CPU equal values keep their order and NaN comes last.
Tensor argsort(Operand x, bool descending);
/// Indices i32 of the k largest of the last axis: as ggml's CPU gives them, in descending order but the first two
/// exchanged.
Tensor top_k(Operand x, int k);
/// Index i32 of the largest of each row, the last one of equal values: [T, N] -> [T].
Tensor argmax(Operand x);
/// Mean over rows of −Σ targets·log softmax(logits), both [T, V] -> [1].
Tensor cross_entropy_rows(Operand logits, Tensor targets);

/// −log softmax(logits)[target] of each row: logits [N, V], targets i32 [N] -> [N]; 0 where a target is below 0, which
/// is how rows are ignored. Targets from V on are ignored too: whoever writes them checks them.
Tensor cross_entropy(Operand logits, Tensor targets);

// ---- convolution: ops/convolution.cpp ----

struct Conv2d {
    int stride_x = 1, stride_y = 1, pad_x = 0, pad_y = 0, dilation_x = 1, dilation_y = 1;
};
/// image [B, C, Y, X] unrolled for `kernel` [O, C, KY, KX] -> [B, OY, OX, C·KY·KX] of `type` f32 or f16; 1-D: [B, C, X]
/// by [O, C, KX] -> [B, OX, C·KX].
Tensor im2col(Operand kernel, Tensor image, const Conv2d& how, bool is_2d, DType type);
/// Gradient of im2col with respect to an image of ggml shape `ne`.
Tensor im2col_back(Operand columns, Tensor kernel, const std::array<int64_t, 4>& ne, const Conv2d& how, bool is_2d);
/// image [B, C, Y, X], kernel [O, C, KY, KX] f32 or f16 (to which the image is rounded) -> [B, O, OY, OX].
Tensor conv_2d(Tensor kernel, Operand image, const Conv2d& how);

// ---- state spaces: ops/state_space.cpp ----

/// Causal depthwise convolution: x [S, I, W−1+T], kernel [I, W] -> [S, T, I].
Tensor ssm_conv(Operand x, Tensor kernel);
/// Selective scan (arXiv 2312.00752; Mamba-2: 2405.21060). states [S', J, P, N], x [S, T, J, P], dt [S, T, J], a [J, 1
/// or N], b and c [S, T, G, N], ids i32 [S] of states -> [1-D: T·S·J·P outputs, then S·J·P·N new states].
Tensor ssm_scan(Operand states, Tensor x, Tensor dt, Tensor a, Tensor b, Tensor c, Tensor ids);

// ---- explicit gradients and optimizer steps, for the C interface: ops/backward.cpp ----

/// y·(dy − Σ y·dy) for y = softmax(x).
Tensor softmax_back(Operand dy, Tensor y);
/// dy·silu′(x)
Tensor silu_back(Operand x, Tensor dy);
/// dy rotated back by the angles of rope(x, positions, how, factors).
Tensor rope_back(Operand dy, Tensor positions, const Rope& how, Tensor factors = {});
/// (dy − x·Σ x·dy/(Σ x² + D·eps)) / √(mean(x²) + eps), for rms_norm without a weight.
Tensor rms_norm_back(Operand x, Tensor dy, float eps);
/// Rows of dy [T, D] added up at ids [T] of a table shaped like `table`.
Tensor get_rows_back(Operand dy, Tensor ids, Tensor table);
/// In place: w, m, v; hyper f32 [7] = α, β₁, β₂, ε, decay, 1/(1−β₁ᵗ), 1/(1−β₂ᵗ) (arXiv 1711.05101).
Tensor adamw_step(Tensor w, Operand gradient, Tensor m, Tensor v, Tensor hyper);
/// In place; hyper f32 [2] = α, decay.
Tensor sgd_step(Tensor w, Operand gradient, Tensor hyper);

// ---- custom nodes: ops/custom.cpp ----

/// What a custom node's function sees: thread `ith` of `nth`, on every one of which it is called, with no barrier
/// between.
struct CustomCall {
    struct Array {
        void* data;
        Layout layout;
    };
    Array out;
    std::vector<Array> in;
    int ith, nth;
};
/// A node computed by a function of ours on the CPU; at most 9 operands. The function must not throw: an exception in
/// one of the threads ends the process. The plain composition of operators beside it is its reference.
Tensor custom(std::string name, const Layout& out, std::initializer_list<Tensor> operands,
              std::function<void(const CustomCall&)> function,
              std::source_location where = std::source_location::current());

}  // namespace toy
