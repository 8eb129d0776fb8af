#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tensor/draw.h"

// How each operator of ops.h is called with operands that mostly fit.

namespace toy::test {
namespace {

using Dims = std::vector<int64_t>;

// One to four axes.
Dims any_dims(Draw& d, DType type = DType::F32) {
    Dims dims;
    for (int64_t i = d.below(4); i > 0; --i) dims.push_back(d.size());
    dims.push_back(d.width(type));
    return dims;
}

// A shape that can be repeated to `dims`.
Dims repeatable(Draw& d, Dims dims) {
    for (int64_t& n : dims) {
        if (d.chance(30)) n = 1;
        if (n % 2 == 0 && d.chance(10)) n /= 2;
    }
    if (d.chance(20)) dims.erase(dims.begin(), dims.end() - 1);
    return dims;
}

Tensor binary(Draw& d, Tensor (*function)(Operand, Tensor)) {
    const DType type = d.one_of({DType::F32, DType::F32, DType::F16, DType::BF16});
    const Dims dims = any_dims(d);
    const Tensor x = d.tensor(type, dims);
    return function(x, d.tensor(d.chance(50) ? type : DType::F32, repeatable(d, dims)));
}

Tensor unary(Draw& d, Tensor (*function)(Operand)) { return function(d.f32(any_dims(d))); }

Tensor gated(Draw& d, Tensor (*function)(Operand, Tensor)) {
    const Dims dims = any_dims(d);
    const Tensor gate = d.f32(dims);
    return function(gate, d.f32(dims));
}

DType weight_type(Draw& d) {
    return d.chance(50) ? d.one_of({DType::F32, DType::F16, DType::BF16, DType::Q8_0}) : d.any_type();
}

Tensor fuzz_matmul(Draw& d) {
    const DType type = weight_type(d);
    const int64_t k = d.width(type);
    const int64_t s = d.size(), h = d.size();
    const Tensor w = d.tensor(type, {d.chance(50) ? 1 : s, d.chance(50) ? 1 : h, d.size(), k});
    const bool is_half = (type == DType::F16 || type == DType::BF16) && d.chance(30);
    return matmul(w, d.tensor(is_half ? type : DType::F32, {s, h, d.size(), k}));
}

Tensor fuzz_matmul_id(Draw& d) {
    const DType type = weight_type(d);
    const int64_t k = d.width(type), t = d.size(), used = d.size();
    const Tensor w = d.tensor(type, {d.size(), d.size(), k});
    const Tensor x = d.f32({t, d.chance(50) ? 1 : used, k});
    return matmul_id(w, x, d.i32({t, used}));
}

Tensor fuzz_add_id(Draw& d) {
    const int64_t t = d.size(), used = d.size(), n = d.size();
    const Tensor x = d.f32({t, used, n});
    const Tensor bias = d.f32({d.size(), n});
    return add_id(x, bias, d.i32({t, used}));
}

Tensor fuzz_outer_product(Draw& d) {
    const DType type = weight_type(d);
    const int64_t k = d.size(), s = d.size(), h = d.size();
    const bool batches = type != DType::F32 || d.chance(50);
    const Tensor a = d.tensor(type, {batches ? s : 1, batches ? h : 1, k, d.width(type)});
    return outer_product(a, d.f32({s, h, k, d.size()}));
}

Tensor fuzz_softmax(Draw& d) {
    const int64_t s = d.size(), h = d.size(), t = d.size(), k = d.size();
    const Tensor x = d.f32({s, h, t, k});
    Tensor mask;
    if (d.chance(60)) {
        const DType type = d.one_of({DType::F16, DType::F32});
        mask = d.tensor(type, {d.chance(50) ? 1 : s, d.chance(50) ? 1 : h, t + d.below(2), k});
    }
    return softmax(x, mask, d.number(0, 2), d.chance(70) ? 0.0f : d.number(0, 8));
}

Rope random_rope(Draw& d, int dims) {
    Rope how;
    how.order = d.chance(50) ? Rope::Order::normal : Rope::Order::neox;
    how.dims = d.integer(dims, dims);
    how.base = d.number(10, 10000);
    how.frequency_scale = d.number(0.25f, 1);
    how.ext_factor = d.chance(50) ? 0.0f : d.number(0, 1);
    how.attn_factor = d.number(0.5f, 1.5f);
    how.original_context = d.integer(0, 4096);
    return how;
}

Tensor fuzz_rope(Draw& d, Tensor (*function)(Operand, Tensor, const Rope&, Tensor)) {
    const int64_t s = d.chance(70) ? 1 : d.size(), t = d.size(), width = 2 * d.size();
    const auto dims = static_cast<int>(d.chance(60) ? width : 2 * (1 + d.below(width / 2)));
    const Tensor x = d.tensor(d.one_of({DType::F32, DType::F32, DType::F16}), {s, t, d.size(), width});
    const Tensor positions = d.i32({t});
    const Tensor factors = d.chance(50) ? Tensor() : d.f32({dims / 2 + d.below(2)});
    return function(x, positions, random_rope(d, dims), factors);
}

Tensor fuzz_flash_attention(Draw& d) {
    const DType type = d.chance(60) ? d.one_of({DType::F32, DType::F16, DType::Q8_0}) : d.any_type();
    const int64_t s = d.size(), kv = d.size(), t = d.size(), n = d.size();
    const int64_t dk = d.width(type), dv = d.chance(50) ? dk : d.width(type), heads = kv * (1 + d.below(3));
    const Tensor q = d.f32({s, heads, t, dk});
    const Tensor k = d.tensor(type, {s, kv, n, dk});
    const Tensor v = d.tensor(type, {s, kv, n, dv});
    const Tensor mask = d.chance(40) ? Tensor() : d.tensor(DType::F16, {d.chance(50) ? 1 : s, 1, t + d.below(2), n});
    const float max_bias = d.chance(70) ? 0.0f : d.number(0, 8);
    return flash_attention(q, k, v, mask, d.number(0.1f, 1), d.chance(60) ? 0.0f : d.number(1, 50), max_bias);
}

Tensor fuzz_reshape(Draw& d) {
    const DType type = d.any_type();
    Dims dims = any_dims(d, type);
    const Tensor x = d.tensor(type, dims);
    dims.insert(dims.begin(), 4 - dims.size(), 1);
    if (d.chance(50)) std::swap(dims[0], dims[1]);
    if (d.chance(30)) dims[2] = -1;
    if (d.is_wild()) dims[1] = int64_t{1} << d.below(63);
    return reshape(x, {dims[0], dims[1], dims[2], dims[3]});
}

Tensor fuzz_heads(Draw& d) {
    const DType type = d.any_type();
    const int64_t n = d.size();
    return heads(d.tensor(type, {d.size(), n * d.width(type)}), d.is_wild() ? d.below(9) - 2 : n);
}

Tensor fuzz_permute(Draw& d) {
    const DType type = d.any_type();
    const Tensor x = d.tensor(type, {d.size(), d.size(), d.size(), d.width(type)});
    std::array<int, 4> order{0, 1, 2, 3};
    std::swap(order[static_cast<size_t>(d.below(3))], order[static_cast<size_t>(d.below(3))]);
    if (d.chance(20)) std::swap(order[1], order[3]);
    if (d.is_wild()) order[2] = d.integer(-1, 4);
    return permute(x, {order[0], order[1], order[2], order[3]});
}

Tensor fuzz_transpose(Draw& d) {
    const DType type = d.chance(80) ? d.one_of({DType::F32, DType::F16, DType::BF16, DType::I32}) : d.any_type();
    return transpose(d.tensor(type, any_dims(d, type)));
}

Tensor fuzz_slice(Draw& d) {
    const DType type = d.any_type();
    const Dims dims = any_dims(d, type);
    const Tensor x = d.tensor(type, dims);
    const auto rank = static_cast<int>(dims.size());
    const int axis = d.integer(-rank, rank - 1);
    const int64_t step = axis == -1 || axis == rank - 1 ? block_elements(type) : 1;
    return slice(x, axis, step * d.integer(0, 1), step * d.integer(1, 2));
}

Tensor fuzz_split(Draw& d) {
    const DType type = d.any_type();
    const int64_t half = d.width(type);
    const Tensor x = d.tensor(type, {d.size(), 2 * half});
    return split(x, {d.is_wild() ? d.below(100) - 50 : half, half}).back();
}

Tensor fuzz_concat(Draw& d) {
    const DType type = d.any_type();
    Dims dims = any_dims(d, type);
    const Tensor x = d.tensor(type, dims);
    const int axis = d.integer(0, static_cast<int>(dims.size()) - 1);
    auto& length = dims[static_cast<size_t>(std::clamp(axis, 0, static_cast<int>(dims.size()) - 1))];
    length = static_cast<size_t>(axis) + 1 == dims.size() ? d.width(type) : d.size();
    return concat(x, d.tensor(type, dims), axis);
}

Tensor fuzz_repeat(Draw& d) {
    const Dims dims = any_dims(d);
    const Tensor x = d.tensor(d.one_of({DType::F32, DType::I32, DType::F16, DType::BF16}), repeatable(d, dims));
    return repeat(x, d.f32(dims));
}

Tensor fuzz_byte_view(Draw& d) {
    const DType type = d.any_type();
    const Tensor x = d.tensor(type, {d.size(), d.size(), d.width(type)});
    const auto stride = static_cast<size_t>(d.is_wild() ? d.below(100) : static_cast<int64_t>(x.layout().nb[1]));
    const auto offset =
        static_cast<size_t>(d.is_wild() ? d.below(100) : static_cast<int64_t>(block_bytes(type)) * d.below(3));
    return byte_view(x, {d.width(type), d.size()}, {stride}, offset);
}

Tensor fuzz_get_rows(Draw& d) {
    const DType type = d.chance(20) ? DType::I32 : weight_type(d);
    const int64_t b = d.size(), c = d.size();
    const Tensor table = d.tensor(type, {b, c, d.size(), d.width(type)});
    return get_rows(table, d.i32({b, c, d.size()}));
}

// Indices that an operator makes, of a table that may be too short for them.
Tensor fuzz_chosen_rows(Draw& d) {
    const int64_t t = d.size(), n = d.size();
    const Tensor x = d.f32({t, n});
    const int k = d.integer(1, static_cast<int>(n));
    Tensor chosen = d.chance(50) ? top_k(x, k) : argsort(x, true);
    if (d.chance(30)) chosen = concat(chosen, chosen, 1);
    if (d.chance(30)) chosen = slice(chosen, 1, 0, 1);
    chosen = reshape(contiguous(chosen), {1, 1, -1});
    return get_rows(d.f32({1, 1, n + d.below(3) - 1, d.size()}), chosen);
}

Tensor fuzz_set_rows(Draw& d) {
    const DType type = weight_type(d);
    const int64_t a = d.size(), b = d.size(), n = d.size(), width = d.width(type);
    const Tensor table = d.tensor(type, {a, b, d.size(), width});
    const Tensor x = d.f32({a, b, n, width});
    const DType index = d.one_of({DType::I32, DType::I64});
    return set_rows(table, x, d.tensor(index, {d.chance(50) ? 1 : a, d.chance(50) ? 1 : b, n}));
}

Tensor fuzz_copy(Draw& d) {
    const DType from = weight_type(d);
    const DType to = d.chance(50) ? from : weight_type(d);
    const Dims dims = any_dims(d, block_elements(to) > block_elements(from) ? to : from);
    const Tensor x = d.tensor(from, dims);
    return copy_into(x, d.tensor(to, d.chance(80) ? dims : Dims(dims.rbegin(), dims.rend())));
}

Tensor fuzz_cast(Draw& d) {
    const DType from = weight_type(d);
    const DType to = weight_type(d);
    return cast(d.tensor(from, any_dims(d, block_elements(to) > block_elements(from) ? to : from)), to);
}

Tensor fuzz_set_block(Draw& d) {
    const int64_t rows = d.size(), width = d.size(), columns = d.size() + width;
    const DType type = d.one_of({DType::F32, DType::I32});
    const Tensor target = d.tensor(type, {rows + d.below(3), columns});
    const auto stride = static_cast<size_t>(d.is_wild() ? d.below(200) : columns * 4);
    const auto offset = static_cast<size_t>(d.is_wild() ? d.below(200) : 4 * d.below(3));
    return set_block(target, d.tensor(type, {rows, width}), stride, offset);
}

Tensor fuzz_cross_entropy(Draw& d) {
    const Dims dims = any_dims(d);
    const Tensor logits = d.f32(dims);
    return cross_entropy_rows(logits, d.f32(dims));
}

Conv2d random_conv(Draw& d) {
    return {d.integer(1, 3), d.integer(1, 3), d.integer(0, 2), d.integer(0, 2), d.integer(1, 2), d.integer(1, 2)};
}

struct Images {
    Dims kernel, image;
    bool is_2d;
};

Images random_images(Draw& d, bool is_2d) {
    const int64_t b = d.size(), c = d.size(), o = d.size(), y = d.size() + 3, x = d.size() + 3;
    if (!is_2d) return {{o, c, 1 + d.below(3)}, {b, c, x}, false};
    return {{o, c, 1 + d.below(3), 1 + d.below(3)}, {b, c, y, x}, true};
}

Tensor fuzz_im2col(Draw& d) {
    const Images shapes = random_images(d, d.chance(60));
    const DType type = d.one_of({DType::F32, DType::F16});
    const Tensor kernel = d.tensor(type, shapes.kernel);
    const Tensor image = d.tensor(type == DType::F16 && d.chance(30) ? type : DType::F32, shapes.image);
    return im2col(kernel, image, random_conv(d), shapes.is_2d, type);
}

Tensor fuzz_im2col_back(Draw& d) {
    const Images shapes = random_images(d, d.chance(60));
    const Conv2d how = random_conv(d);
    const Tensor kernel = d.tensor(d.one_of({DType::F32, DType::F16}), shapes.kernel);
    // The shape that im2col gives.
    const Tensor columns = im2col(kernel, d.f32(shapes.image), how, shapes.is_2d, DType::F32);
    std::array<int64_t, 4> ne{1, 1, 1, 1};
    std::copy(shapes.image.rbegin(), shapes.image.rend(), ne.begin());
    if (d.is_wild()) ne[static_cast<size_t>(d.below(4))] = d.below(4) - 1;
    const Layout& layout = columns.layout();
    return im2col_back(d.f32({layout.ne[3], layout.ne[2], layout.ne[1], layout.ne[0]}), kernel, ne, how, shapes.is_2d);
}

Tensor fuzz_conv_2d(Draw& d) {
    const Images shapes = random_images(d, true);
    const Tensor kernel = d.tensor(d.one_of({DType::F32, DType::F16}), shapes.kernel);
    return conv_2d(kernel, d.f32(shapes.image), random_conv(d));
}

Tensor fuzz_ssm_conv(Draw& d) {
    const int64_t inner = d.size(), w = d.size();
    const Tensor x = d.f32({d.size(), inner, w - 1 + d.size()});
    return ssm_conv(x, d.f32({inner, w}));
}

Tensor fuzz_ssm_scan(Draw& d) {
    const int64_t n = d.size(), p = d.size(), g = d.size(), j = g * (1 + d.below(2)), t = d.size(), s = d.size();
    const Tensor states = d.f32({d.chance(30) ? 1 : s + d.below(2), j, p, n});
    const Tensor x = d.f32({s, t, j, p});
    const Tensor dt = d.f32({s, t, j});
    const Tensor a = d.f32({j, d.chance(50) ? 1 : n});
    const Tensor b = d.f32({s, t, g, n});
    const Tensor c = d.f32({s, t, g, n});
    return ssm_scan(states, x, dt, a, b, c, d.i32({s}));
}

Tensor fuzz_get_rows_back(Draw& d) {
    const int64_t t = d.size(), width = d.size();
    const Tensor dy = d.f32({t, width});
    const Tensor ids = d.i32({t});
    return get_rows_back(dy, ids, d.tensor(weight_type(d), {d.size(), width}));
}

Tensor fuzz_adamw(Draw& d) {
    const Dims dims = any_dims(d);
    const Tensor w = d.f32(dims), gradient = d.f32(dims), m = d.f32(dims), v = d.f32(dims);
    return adamw_step(w, gradient, m, v, d.f32({7}));
}

Tensor fuzz_sgd(Draw& d) {
    const Dims dims = any_dims(d);
    const Tensor w = d.f32(dims), gradient = d.f32(dims);
    return sgd_step(w, gradient, d.f32({2}));
}

Tensor fuzz_custom(Draw& d) {
    const Dims dims = any_dims(d);
    const Tensor x = d.f32(dims), y = d.f32(dims);
    const auto add = [](const CustomCall& call) {
        const Layout& out = call.out.layout;
        for (const CustomCall::Array& in : call.in) {
            if (in.layout.type != DType::F32 || !in.layout.is_contiguous() || !in.layout.same_shape(out)) return;
        }
        for (int64_t i = call.ith; i < out.elements(); i += call.nth) {
            static_cast<float*>(call.out.data)[i] =
                static_cast<const float*>(call.in[0].data)[i] + static_cast<const float*>(call.in[1].data)[i];
        }
    };
    return custom("added", packed_like(x.layout(), DType::F32), {x, y}, add);
}

Tensor norm_with_weight(Draw& d, bool has_bias) {
    const Dims dims = any_dims(d);
    const Tensor x = d.f32(dims);
    const Tensor weight = d.chance(30) ? Tensor() : d.f32({dims.back()});
    const Tensor bias = !has_bias || d.chance(30) ? Tensor() : d.f32({dims.back()});
    return has_bias ? layer_norm(x, weight, bias, d.number(0, 1e-3f)) : rms_norm(x, weight, d.number(0, 1e-3f));
}

// Of arithmetic, norms, products and attention.
const std::vector<Fuzzed>& mathematics() {
    static const std::vector<Fuzzed> all = {
        {"add", [](Draw& d) { return binary(d, [](Operand x, Tensor y) { return x + y; }); }},
        {"sub", [](Draw& d) { return binary(d, [](Operand x, Tensor y) { return x - y; }); }},
        {"mul", [](Draw& d) { return binary(d, [](Operand x, Tensor y) { return x * y; }); }},
        {"div", [](Draw& d) { return binary(d, [](Operand x, Tensor y) { return x / y; }); }},
        {"scale", [](Draw& d) { return scale_bias(d.f32(any_dims(d)), d.number(-2, 2), d.number(-1, 1)); }},
        {"softcap", [](Draw& d) { return softcap(d.f32(any_dims(d)), d.number(1, 50)); }},
        {"silu", [](Draw& d) { return unary(d, silu); }},
        {"relu", [](Draw& d) { return unary(d, relu); }},
        {"tanh", [](Draw& d) { return unary(d, toy::tanh); }},
        {"sigmoid", [](Draw& d) { return unary(d, sigmoid); }},
        {"exp", [](Draw& d) { return unary(d, toy::exp); }},
        {"log", [](Draw& d) { return unary(d, toy::log); }},
        {"sqrt", [](Draw& d) { return unary(d, toy::sqrt); }},
        {"square", [](Draw& d) { return unary(d, square); }},
        {"negate", [](Draw& d) { return unary(d, negate); }},
        {"softplus", [](Draw& d) { return unary(d, softplus); }},
        {"gelu", [](Draw& d) { return unary(d, gelu); }},
        {"gelu_erf", [](Draw& d) { return unary(d, gelu_erf); }},
        {"swiglu", [](Draw& d) { return gated(d, swiglu); }},
        {"geglu", [](Draw& d) { return gated(d, geglu); }},
        {"rms_norm", [](Draw& d) { return norm_with_weight(d, false); }},
        {"layer_norm", [](Draw& d) { return norm_with_weight(d, true); }},
        {"l2_norm", [](Draw& d) { return l2_norm(d.f32(any_dims(d)), d.number(0, 1e-3f)); }},
        {"matmul", fuzz_matmul},
        {"matmul_id", fuzz_matmul_id},
        {"add_id", fuzz_add_id},
        {"outer_product", fuzz_outer_product},
        {"softmax", fuzz_softmax},
        {"causal_mask", [](Draw& d) { return causal_mask(d.f32(any_dims(d)), d.integer(0, 4)); }},
        {"rope", [](Draw& d) { return fuzz_rope(d, rope); }},
        {"flash_attention", fuzz_flash_attention},
    };
    return all;
}

// Of shapes, rows, sums, convolutions, gradients, and the custom node.
const std::vector<Fuzzed>& rearrangements() {
    static const std::vector<Fuzzed> all = {
        {"reshape", fuzz_reshape},
        {"heads", fuzz_heads},
        {"merge_heads",
         [](Draw& d) {
             return merge_heads(d.f32({d.size(), d.size(), d.size()}));
         }},
        {"permute", fuzz_permute},
        {"transpose", fuzz_transpose},
        {"contiguous", [](Draw& d) { return contiguous(d.tensor(weight_type(d), any_dims(d, DType::Q8_0))); }},
        {"slice", fuzz_slice},
        {"split", fuzz_split},
        {"concat", fuzz_concat},
        {"repeat", fuzz_repeat},
        {"byte_view", fuzz_byte_view},
        {"get_rows", fuzz_get_rows},
        {"chosen_rows", fuzz_chosen_rows},
        {"set_rows", fuzz_set_rows},
        {"copy_into", fuzz_copy},
        {"cast", fuzz_cast},
        {"set_block", fuzz_set_block},
        {"sum", [](Draw& d) { return unary(d, sum); }},
        {"sum_rows", [](Draw& d) { return unary(d, sum_rows); }},
        {"mean_rows", [](Draw& d) { return unary(d, mean_rows); }},
        {"argsort", [](Draw& d) { return argsort(d.f32(any_dims(d)), d.chance(50)); }},
        {"top_k", [](Draw& d) { return top_k(d.f32(any_dims(d)), d.integer(1, 5)); }},
        {"argmax",
         [](Draw& d) {
             return argmax(d.f32({d.size(), d.size()}));
         }},
        {"cross_entropy_rows", fuzz_cross_entropy},
        {"im2col", fuzz_im2col},
        {"im2col_back", fuzz_im2col_back},
        {"conv_2d", fuzz_conv_2d},
        {"ssm_conv", fuzz_ssm_conv},
        {"ssm_scan", fuzz_ssm_scan},
        {"softmax_back", [](Draw& d) { return gated(d, softmax_back); }},
        {"silu_back", [](Draw& d) { return gated(d, silu_back); }},
        {"rope_back", [](Draw& d) { return fuzz_rope(d, rope_back); }},
        {"rms_norm_back",
         [](Draw& d) {
             const Dims dims = any_dims(d);
             const Tensor x = d.f32(dims);
             return rms_norm_back(x, d.f32(dims), d.number(0, 1e-3f));
         }},
        {"get_rows_back", fuzz_get_rows_back},
        {"adamw_step", fuzz_adamw},
        {"sgd_step", fuzz_sgd},
        {"custom", fuzz_custom},
    };
    return all;
}

}  // namespace

const std::vector<Fuzzed>& fuzzed_operators() {
    static const std::vector<Fuzzed> all = [] {
        std::vector<Fuzzed> joined = mathematics();
        joined.insert(joined.end(), rearrangements().begin(), rearrangements().end());
        joined.insert(joined.end(), fuzzed_gradients().begin(), fuzzed_gradients().end());
        return joined;
    }();
    return all;
}

}  // namespace toy::test
