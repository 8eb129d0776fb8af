#pragma once
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "tensor/graph.h"

namespace toy {

/// Reverse-mode differentiation over the tape of one graph: appends to the graph what computes gradients. Say what is
/// wanted, seed the gradient of a result, run back over the records.
class Backward {
 public:
    explicit Backward(Graph& graph) : graph_(graph) {}

    /// A parameter or any node whose gradient shall be there as a node of its own, after run: `gradient(of)`.
    void want(Tensor of);
    /// A parameter whose gradient is added into `sum`, f32 of its shape, in place, each part as soon as it is known.
    void want(Tensor of, Tensor sum);

    /// The gradient with which a run starts: of some scalar with respect to y, shaped like y.
    void seed(Tensor y, Tensor dy);

    /// The records first..last-1, numbered as nodes, will be computed again, as far as their gradients need them,
    /// instead of being kept: less memory for more time. Results that later records use are kept. To be called when all
    /// records that use them are there.
    void recompute(int32_t first, int32_t last);

    /// Goes back over the records, from the last seeded one to node number `down_to`. May be called again, with more
    /// records and seeds, for what lies below: gradients of nodes below wait.
    void run(int32_t down_to = 0);

    /// The gradient of something wanted without a sum; absent where nothing seeded depends on it.
    Tensor gradient(Tensor of);

    /// A part of a gradient: all of it, or a slice along one axis of ggml's order.
    struct Part {
        Tensor tensor;
        std::optional<size_t> axis;
        int64_t start = 0;
    };

 private:
    friend class Pullback;
    struct Segment {
        int32_t first, last;
        std::vector<bool> is_kept;
    };
    bool is_needed(int32_t node);
    void add(int32_t node, Part part);
    Tensor total(const Layout& like, std::vector<Part> parts);
    Tensor live(int32_t node);

    Graph& graph_;
    std::vector<bool> is_needed_;
    std::unordered_map<int32_t, Tensor> sums_;
    std::map<int32_t, std::vector<Part>> waiting_;
    std::map<int32_t, Tensor> results_;
    std::vector<Segment> segments_;
    std::unordered_map<int32_t, Tensor> again_;  // recomputed nodes
    std::unordered_map<int32_t, bool> is_wanted_;
};

/// What a vector-Jacobian rule works with.
class Pullback {
 public:
    Pullback(Backward& backward, int32_t node, Tensor dy) : backward_(backward), node_(node), dy_(dy) {}

    /// An operand, or absent; the result; the gradient of the result, any strides.
    Tensor in(int source) const;
    Tensor y() const;
    Tensor dy() const { return dy_; }

    /// Whether an operand's gradient is asked for. What is given without being wanted is ignored.
    bool wants(int source) const;
    /// Gives a contribution to an operand's gradient, shaped like the operand.
    void give(int source, Tensor gradient) const;
    /// The same summed over the axes along which the operand was repeated.
    void give_repeated(int source, Tensor gradient) const;
    /// For the slice of the operand that starts at `start` along an axis of ggml's order.
    void give_slice(int source, Tensor gradient, size_t axis, int64_t start) const;
    /// op(a)·op(b), a product without a temporary where it is added into a sum (see gemm).
    void give_product(int source, Tensor a, bool a_turned, Tensor b, bool b_turned) const;
    /// Rows of `gradient` added up at `ids` (see add_rows).
    void give_rows(int source, Tensor gradient, Tensor ids) const;

 private:
    int32_t number(int source) const;
    Tensor sum_of(int source) const;
    Backward& backward_;
    int32_t node_;
    Tensor dy_;
};

}  // namespace toy
