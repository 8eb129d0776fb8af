#include "realized_graph.h"

#include <algorithm>

#include "core/error.h"

namespace toy::capi {
namespace {

size_t memory_of(const Graph& graph, int32_t node) {
    const int32_t base = graph.nodes()[static_cast<size_t>(node)].base;
    return static_cast<size_t>(base >= 0 ? base : node);
}

}  // namespace

void RealizedGraph::want(Tensor tape_node) {
    if (std::find(wanted_.begin(), wanted_.end(), tape_node) != wanted_.end()) return;
    wanted_.push_back(tape_node);
    is_stale_ = true;
}

void RealizedGraph::realize(Tensor result, Graph& tape, const Device& device, const Fill& fill) {
    std::vector<Tensor> wanted;
    if (built_.graph == nullptr) wanted = wanted_;
    wanted.push_back(result);
    build(wanted, tape, device, fill);
    wanted_ = std::move(wanted);
}

void RealizedGraph::refresh(Graph& tape, const Device& device, const Fill& fill) {
    if (!is_wanted()) failure("no graph is realized yet");
    if (is_stale_) build(wanted_, tape, device, fill);
}

void RealizedGraph::build(const std::vector<Tensor>& wanted, Graph& tape, const Device& device, const Fill& fill) {
    Graph::Part made = tape.part(wanted);
    made.graph->allocate(device);
    const std::deque<Node>& nodes = tape.nodes();
    for (size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].kind != Node::Kind::input || made.node_of[i] < 0) continue;
        fill(Tensor(made.graph.get(), made.node_of[i]), Tensor(&tape, static_cast<int32_t>(i)));
    }
    built_ = std::move(made);
    is_stale_ = false;
    has_run_ = false;
    const std::deque<Node>& mine = built_.graph->nodes();
    is_kept_.assign(mine.size(), false);
    for (size_t i = 0; i < mine.size(); ++i) {
        const bool is_kept = mine[i].kind != Node::Kind::operation || mine[i].is_output;
        if (is_kept) is_kept_[memory_of(*built_.graph, static_cast<int32_t>(i))] = true;
    }
}

void RealizedGraph::run(Runner& runner) {
    runner.run(*built_.graph);
    has_run_ = true;
}

Tensor RealizedGraph::find(Tensor tape_node) const {
    const auto i = static_cast<size_t>(tape_node.node());
    if (i >= built_.node_of.size() || built_.node_of[i] < 0) return {};
    return Tensor(built_.graph.get(), built_.node_of[i]);
}

bool RealizedGraph::keeps(Tensor node) const { return is_kept_[memory_of(*built_.graph, node.node())]; }

std::vector<int32_t> RealizedGraph::operations() const {
    std::vector<int32_t> found;
    for (size_t i = 0; i < built_.node_of.size(); ++i) {
        if (built_.node_of[i] < 0) continue;
        const Node& node = built_.graph->nodes()[static_cast<size_t>(built_.node_of[i])];
        if (node.kind == Node::Kind::operation) found.push_back(static_cast<int32_t>(i));
    }
    return found;
}

}  // namespace toy::capi
