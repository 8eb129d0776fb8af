#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "tensor/graph.h"
#include "tensor/runner.h"

namespace toy::capi {

/// One of a session's two graphs: the part of the session's tape that some results need, allocated.
class RealizedGraph {
 public:
    /// Gives every input its values: gets the input of a new graph and the one of the tape, while `find` still answers
    /// for the old graph.
    using Fill = std::function<void(Tensor input, Tensor tape_input)>;

    /// Asks for a node of the tape; the next `refresh` builds the graph with it.
    void want(Tensor tape_node);
    /// Builds the graph for `result` and, where it had no memory yet, for all that was asked for before.
    void realize(Tensor result, Graph& tape, const Device& device, const Fill& fill);
    /// Builds the graph where it does not hold all that is wanted. Throws Error where nothing is.
    void refresh(Graph& tape, const Device& device, const Fill& fill);
    bool is_wanted() const { return !wanted_.empty(); }
    void run(Runner& runner);

    /// The node that stands here for a node of the tape, or an absent tensor.
    Tensor find(Tensor tape_node) const;
    bool has_run() const { return has_run_; }
    /// Whether a node's values outlast a run: inputs, parameters, outputs and views of these.
    bool keeps(Tensor node) const;

    /// The nodes of the tape that are operations of this graph, in the order in which they run.
    std::vector<int32_t> operations() const;

 private:
    void build(const std::vector<Tensor>& wanted, Graph& tape, const Device& device, const Fill& fill);

    std::vector<Tensor> wanted_;  // of the tape
    Graph::Part built_;
    bool is_stale_ = false;
    bool has_run_ = false;
    std::vector<bool> is_kept_;  // by node that owns memory
};

}  // namespace toy::capi
