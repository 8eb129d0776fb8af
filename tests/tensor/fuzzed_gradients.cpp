#include <algorithm>

#include "tensor/draw.h"
#include "tensor/gradient_ops.h"

// How each operator of gradient_ops.h, and those with kernels of ours, is called with operands that mostly fit.

namespace toy::test {
namespace {

using Dims = std::vector<int64_t>;

// As the shapes of these operators are strict, mostly a packed copy of what was drawn.
Tensor packed_copy(Draw& d, Tensor x) { return d.chance(70) && x ? contiguous(x) : x; }
Tensor f32(Draw& d, Dims dims) { return packed_copy(d, d.f32(std::move(dims))); }

Layout layout_of(Draw& d, Dims dims) {
    std::array<int64_t, 4> ne{1, 1, 1, 1};
    std::reverse(dims.begin(), dims.end());
    std::copy(dims.begin(), dims.end(), ne.begin());
    if (d.is_wild()) ne[0] = d.size();
    return packed_ne(DType::F32, static_cast<int>(dims.size()), ne);
}

Tensor fuzz_gemm(Draw& d, bool is_into) {
    const bool a_turned = d.chance(50), b_turned = d.chance(50);
    const int64_t m = d.size(), n = d.size(), k = d.size(), s = d.size(), h = d.size();
    const DType type = d.one_of({DType::F32, DType::F32, DType::BF16});
    Dims of_a{a_turned ? k : m, a_turned ? m : k}, of_b{b_turned ? n : k, b_turned ? k : n}, of_sum{m, n};
    if (d.chance(is_into ? 30 : 70)) {
        of_a.insert(of_a.begin(), {s, h});
        of_b.insert(of_b.begin(), {d.chance(50) ? 1 : s, d.chance(50) ? 1 : h});
        of_sum.insert(of_sum.begin(), {s, h});
    }
    const Tensor a = packed_copy(d, d.tensor(type, of_a));
    const Tensor b = packed_copy(d, d.tensor(d.chance(80) ? type : DType::F32, of_b));
    return is_into ? gemm_into(f32(d, of_sum), a, a_turned, b, b_turned) : gemm(a, a_turned, b, b_turned);
}

Tensor fuzz_gemm_widened(Draw& d) {
    const DType type = d.any_type();
    const int64_t k = d.width(type), n = d.size(), s = d.size();
    const Tensor w = d.tensor(type, {d.chance(70) ? 1 : s, n, k});
    return gemm_widened(f32(d, {s, d.size(), n}), w);
}

Tensor fuzz_experts_input(Draw& d) {
    const DType type = d.any_type();
    const int64_t k = d.width(type), n = d.size(), t = d.size(), used = d.size();
    const Tensor w = d.tensor(type, {d.size(), n, k});
    const Tensor dy = f32(d, {t, used, n});
    return matmul_id_input(w, dy, d.i32({t, used}));
}

Tensor fuzz_experts_weight(Draw& d) {
    const int64_t k = d.size(), n = d.size(), t = d.size(), used = d.size();
    const Tensor dy = f32(d, {t, used, n}), x = f32(d, {t, d.chance(50) ? 1 : used, k});
    return matmul_id_weight(dy, x, d.i32({t, used}), d.size());
}

Tensor fuzz_sum_to(Draw& d, bool is_into) {
    Dims dims, shorter;
    for (int64_t i = d.below(4) + 1; i > 0; --i) {
        shorter.push_back(d.size());
        dims.push_back(shorter.back() * (d.chance(50) ? 1 : 1 + d.below(3)));
    }
    const Tensor x = f32(d, dims);
    return is_into ? add_into(f32(d, shorter), x) : sum_to(x, layout_of(d, shorter));
}

Tensor fuzz_add_rows(Draw& d, bool is_into) {
    const int64_t t = d.size(), width = d.size(), rows = d.size(), s = d.chance(50) ? 1 : d.size();
    const Tensor x = f32(d, {s, t, width}), ids = d.i32({s, t});
    return is_into ? add_rows_into(f32(d, {s, rows, width}), x, ids) : add_rows(x, ids, layout_of(d, {s, rows, width}));
}

Tensor fuzz_join(Draw& d) {
    const auto axis = static_cast<size_t>(d.integer(0, 3));
    std::vector<Tensor> parts;
    std::vector<int64_t> starts;
    int64_t end = 0;
    const Dims dims{d.size(), d.size(), d.size(), d.size()};
    for (int64_t i = 1 + d.below(4); i > 0; --i) {
        Dims part = dims;
        part[3 - std::min<size_t>(axis, 3)] = d.size();
        starts.push_back(end + d.below(3) - (d.is_wild() ? 1 : 0));
        end = starts.back() + part[3 - std::min<size_t>(axis, 3)];
        parts.push_back(f32(d, part));
    }
    return join(parts, axis, starts, end + d.below(3) - (d.is_wild() ? 1 : 0));
}

Tensor fuzz_view_back(Draw& d) {
    const int64_t columns = d.size(), rows = d.size();
    const auto stride = static_cast<size_t>(4 * d.size());
    const int64_t room = d.size() * 8;
    return view_back(f32(d, {rows, columns}), layout_of(d, {room}), {4, stride, stride * 2, stride * 4},
                     static_cast<size_t>(4 * d.below(4)));
}

Tensor fuzz_gelu_back(Draw& d) {
    const Dims dims{d.size(), d.size(), d.size()};
    const Tensor x = f32(d, dims);
    return gelu_back(x, f32(d, dims), d.chance(50));
}

Tensor fuzz_row_attention(Draw& d) {
    const int64_t s = d.size(), t = d.size(), kv = d.size(), group = 1 + d.below(3), width = d.size();
    const Tensor q = f32(d, {s * t, kv * group, width}), k = f32(d, {s * t, kv, width});
    const Tensor v = f32(d, {s * t, kv, d.size()});
    const Tensor first = d.chance(50) ? packed_copy(d, d.i32({s * t})) : Tensor();
    return row_attention(q, k, v, first, {s, d.number(0.01f, 1), d.chance(50) ? 0 : d.number(1, 50), d.integer(0, 9)});
}

Tensor fuzz_cross_entropy(Draw& d) {
    const int64_t n = d.size();
    const Tensor logits = f32(d, {n, d.size()});
    return cross_entropy(logits, packed_copy(d, d.i32({n})));
}

Tensor fuzz_norm(Draw& d) {
    const int64_t width = d.size(), heads = d.size();
    const Dims weight = d.chance(50) ? Dims{width} : Dims{heads, width};
    const Tensor x = d.f32({d.size(), heads, width});
    const Tensor w = d.chance(80) ? f32(d, weight) : Tensor();
    if (d.chance(50)) return rms_norm(x, w, d.number(0, 1e-3f));
    return layer_norm(x, w, d.chance(50) ? f32(d, weight) : Tensor(), d.number(0, 1e-3f));
}

Tensor fuzz_adamw_update(Draw& d) {
    const Dims dims{d.size(), d.size()};
    const Tensor w = f32(d, dims), g = f32(d, dims), m = f32(d, dims), v = f32(d, dims);
    return adamw_update(w, g, m, v, f32(d, {d.is_wild() ? 7 : 8}), d.chance(50));
}

Fuzzed with_kernels(std::string_view name, Tensor (*call)(Draw&)) {
    return {name, [call](Draw& d) {
                d.graph.set_kernels(d.chance(50));
                return call(d);
            }};
}

}  // namespace

const std::vector<Fuzzed>& fuzzed_gradients() {
    static const std::vector<Fuzzed> all{
        with_kernels("gemm", [](Draw& d) { return fuzz_gemm(d, false); }),
        with_kernels("gemm_into", [](Draw& d) { return fuzz_gemm(d, true); }),
        with_kernels("gemm_widened", fuzz_gemm_widened),
        with_kernels("matmul_id_input", fuzz_experts_input),
        with_kernels("matmul_id_weight", fuzz_experts_weight),
        with_kernels("sum_to", [](Draw& d) { return fuzz_sum_to(d, false); }),
        with_kernels("add_into", [](Draw& d) { return fuzz_sum_to(d, true); }),
        with_kernels("add_rows", [](Draw& d) { return fuzz_add_rows(d, false); }),
        with_kernels("add_rows_into", [](Draw& d) { return fuzz_add_rows(d, true); }),
        with_kernels("join", fuzz_join),
        with_kernels("view_back", fuzz_view_back),
        with_kernels("gelu_back", fuzz_gelu_back),
        with_kernels("row_attention", fuzz_row_attention),
        with_kernels("cross_entropy", fuzz_cross_entropy),
        with_kernels("weighted_norm", fuzz_norm),
        with_kernels("adamw_update", fuzz_adamw_update),
        with_kernels("sum_squares",
                     [](Draw& d) {
                         return sum_squares(f32(d, {d.size(), d.size()}));
                     }),
    };
    return all;
}

}  // namespace toy::test
