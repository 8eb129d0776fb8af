#pragma once
#include <cstdint>
#include <source_location>
#include <string>

#include "tensor/layout.h"

struct ggml_tensor;

namespace toy {

class Graph;
struct Parameter;

/// A cheap handle to a node of a Graph, or to a tensor in Params, or to nothing (an absent optional part). Activations
/// know their Graph, so operators need no further argument; parameters join the graph of what they are combined with.
class Tensor {
 public:
    Tensor() = default;
    Tensor(Graph* graph, int32_t node) : graph_(graph), node_(node) {}
    explicit Tensor(Parameter* parameter) : parameter_(parameter) {}

    explicit operator bool() const { return graph_ != nullptr || parameter_ != nullptr; }
    bool operator==(const Tensor&) const = default;

    const Layout& layout() const;
    DType dtype() const { return layout().type; }
    int rank() const { return layout().rank; }
    /// Length of axis i, row-major; negative counts from the end.
    int64_t dim(int i) const { return layout().dim(i); }
    const std::string& name() const;

    Graph* graph() const { return graph_; }
    int32_t node() const { return node_; }
    Parameter* parameter() const { return parameter_; }
    /// Where the values live, or null before they live anywhere.
    ggml_tensor* storage() const;

 private:
    Graph* graph_ = nullptr;
    Parameter* parameter_ = nullptr;
    int32_t node_ = -1;
};

/// The first operand of an operator: a Tensor that also notes where in the source it was used, for error sentences and
/// for reading the tape. Converts implicitly; never needs to be written.
struct Operand {
    Tensor tensor;
    std::source_location where;
    Operand(Tensor t, std::source_location at = std::source_location::current()) : tensor(t), where(at) {}
};

}  // namespace toy
