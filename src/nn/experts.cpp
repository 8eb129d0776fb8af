#include "nn/experts.h"

#include "tensor/graph.h"

namespace toy {
namespace {

struct Choice {
    Tensor ids;      ///< i32 [T, U]
    Tensor weights;  ///< [T, U]
};

Choice route(Operand x, const Experts& e) {
    const Routing& r = e.routing;
    const Tensor scores = linear(e.ffn_gate_inp, x);  // [T, E]
    const int64_t tokens = scores.dim(0), count = scores.dim(1);
    const Tensor gates = r.gate == Routing::Gate::softmax   ? softmax(scores)
                         : r.gate == Routing::Gate::sigmoid ? sigmoid(scores)
                                                            : scores;  // [T, E]
    const Tensor ranked = argsort(e.exp_probs_b ? gates + e.exp_probs_b : gates, true);
    const Tensor ids = slice(ranked, -1, 0, r.used);  // [T, U]
    Tensor weights = reshape(get_rows(reshape(gates, {tokens, count, 1}), ids), {tokens, r.used});
    if (r.gate == Routing::Gate::softmax_of_chosen) weights = softmax(weights);
    if (r.is_normalised) weights = weights / sum_rows(weights);
    return {named(ids, "ffn_moe_ids"), named(weights * r.scale, "ffn_moe_weights")};
}

// The sum over the chosen experts: [T, U, D] -> [T, D].
Tensor sum_of_chosen(Tensor y) {
    const int64_t tokens = y.dim(0), used = y.dim(1), width = y.dim(2);
    Tensor sum = slice(y, 1, 0, 1);  // [T, 1, D]
    for (int64_t i = 1; i < used; ++i) sum = sum + slice(y, 1, i, 1);
    return reshape(contiguous(sum), {tokens, width});
}

}  // namespace

Tensor experts(Operand x, const Experts& e) {
    const Scope scope(x.tensor, "experts");
    const auto [ids, weights] = route(x, e);
    const int64_t tokens = x.tensor.dim(0), width = x.tensor.dim(1);
    const Tensor one = reshape(x, {tokens, 1, width});
    const Tensor gate = linear_id(e.ffn_gate_exps, one, ids);                         // [T, U, F]
    const Tensor up = linear_id(e.ffn_up_exps, one, ids);                             // [T, U, F]
    const Tensor y = linear_id(e.ffn_down_exps, gated(e.activation, gate, up), ids);  // [T, U, D]
    const Tensor weighted = y * reshape(weights, {tokens, e.routing.used, 1});        // [T, U, D]
    Tensor sum = sum_of_chosen(weighted);                                             // [T, D]
    if (!e.shared.ffn_up) return named(sum, "ffn_moe_out");
    Tensor shared = feed_forward(x, e.shared);
    if (e.ffn_gate_inp_shexp) shared = shared * sigmoid(linear(e.ffn_gate_inp_shexp, x));  // [T, D]·[T, 1]
    return named(sum + shared, "ffn_moe_out");
}

}  // namespace toy
