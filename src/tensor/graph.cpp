#include "tensor/graph.h"

#include <fmt/format.h>
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

#include "core/error.h"
#include "tensor/params.h"
#include "tensor/transfer.h"

namespace toy {
namespace {

// " at file.cpp:12", or nothing for a use without a place, as through the C interface.
std::string place(const std::source_location& where) {
    if (where.line() == 0) return "";
    const std::string_view path = where.file_name();
    const size_t slash = path.rfind('/');
    return fmt::format(" at {}:{}", slash == std::string_view::npos ? path : path.substr(slash + 1), where.line());
}

Graph& graph_of(const Tensor& tensor, std::string_view scope) {
    if (tensor.graph() == nullptr) failure("the scope '{}' needs a tensor of a graph", scope);
    return *tensor.graph();
}

}  // namespace

const Layout& Tensor::layout() const {
    if (parameter_ != nullptr) return parameter_->layout;
    if (graph_ == nullptr) failure("an absent tensor was used");
    return graph_->nodes()[static_cast<size_t>(node_)].layout;
}

const std::string& Tensor::name() const {
    if (parameter_ != nullptr) return parameter_->name;
    if (graph_ == nullptr) failure("an absent tensor was used");
    return graph_->nodes()[static_cast<size_t>(node_)].name;
}

ggml_tensor* Tensor::storage() const {
    if (parameter_ != nullptr) return parameter_->storage;
    return graph_ == nullptr ? nullptr : graph_->nodes()[static_cast<size_t>(node_)].lowered;
}

Graph::~Graph() {
    if (allocator_ != nullptr) ggml_gallocr_free(allocator_);
    if (input_buffer_ != nullptr) ggml_backend_buffer_free(input_buffer_);
    if (context_ != nullptr) ggml_free(context_);
    if (input_context_ != nullptr) ggml_free(input_context_);
}

Tensor Graph::input(std::string name, DType type, std::initializer_list<int64_t> dims) {
    return input(std::move(name), packed(type, dims));
}

Tensor Graph::input(std::string name, const Layout& layout) {
    if (is_allocated()) failure("input '{}': the graph is allocated and grows no more", name);
    Node node;
    node.kind = Node::Kind::input;
    node.layout = layout;
    nodes_.push_back(std::move(node));
    const Tensor tensor(this, static_cast<int32_t>(nodes_.size()) - 1);
    return this->name(tensor, std::move(name));
}

Tensor Graph::leaf(Tensor parameter) { return Tensor(this, import(parameter)); }

int32_t Graph::import(const Tensor& tensor) {
    if (!tensor) return -1;
    if (tensor.graph() == this) return tensor.node();
    if (tensor.graph() != nullptr) failure("operands belong to different graphs");
    const auto [entry, is_new] = leaves_.try_emplace(tensor.parameter(), static_cast<int32_t>(nodes_.size()));
    if (is_new) {
        Node node;
        node.kind = Node::Kind::parameter;
        node.layout = tensor.layout();
        node.name = tensor.name();
        node.parameter = tensor.parameter();
        nodes_.push_back(std::move(node));
    }
    return entry->second;
}

Tensor Graph::append(std::shared_ptr<const Op> op, std::initializer_list<Tensor> sources, std::source_location where) {
    return append(std::move(op), std::span(sources.begin(), sources.size()), where);
}

Tensor Graph::append(std::shared_ptr<const Op> op, std::span<const Tensor> sources, std::source_location where) {
    if (is_allocated()) failure("{}: the graph is allocated and grows no more", op->name());
    Node node;
    std::vector<Layout> layouts;
    for (const Tensor& source : sources) {
        node.sources.push_back(import(source));
        // An absent operand has no axes: rank 0 tells a shape rule so.
        layouts.push_back(source ? source.layout() : Layout{DType::F32, 0, {0, 0, 0, 0}, {}});
    }
    try {
        for (size_t i = 0; i < sources.size(); ++i) {
            if (!sources[i] && !op->takes_absent(static_cast<int>(i))) bad_input("operand {} is absent", i + 1);
            if (sources[i] && layouts[i].elements() == 0)
                bad_input("operand {} has no elements: {}", i + 1, describe_shape(layouts[i]));
        }
        node.layout = op->infer(layouts);
        node.op = std::move(op);
        const int alias = node.op->aliases();
        if (alias >= 0) node.base = base_of(node.sources[static_cast<size_t>(alias)]);
        note_writes(node);
        note_indices(node, layouts);
    } catch (const Error& error) {
        const std::string_view name = node.op ? node.op->name() : op->name();
        throw Error(error.kind(), fmt::format("{}{}{}{}: {}", name, place(where), scope_.empty() ? "" : " in ", scope_,
                                              error.what()));
    }
    node.scope = scope_;
    node.where = where;
    nodes_.push_back(std::move(node));
    return Tensor(this, static_cast<int32_t>(nodes_.size()) - 1);
}

int32_t Graph::base_of(int32_t node) const {
    const int32_t base = nodes_[static_cast<size_t>(node)].base;
    return base >= 0 ? base : node;
}

Graph::Part Graph::part(std::span<const Tensor> wanted) const {
    std::vector<bool> is_needed(nodes_.size());
    for (const Tensor& tensor : wanted) is_needed[static_cast<size_t>(tensor.node())] = true;
    for (size_t i = nodes_.size(); i-- > 0;) {
        if (!is_needed[i]) continue;
        for (int32_t source : nodes_[i].sources) {
            if (source >= 0) is_needed[static_cast<size_t>(source)] = true;
        }
    }
    Part part{std::make_unique<Graph>(), std::vector<int32_t>(nodes_.size(), -1)};
    for (size_t i = 0; i < nodes_.size(); ++i) {
        if (is_needed[i]) part.node_of[i] = part.graph->adopt(nodes_[i], part.node_of).node();
    }
    return part;
}

Tensor Graph::adopt(const Node& node, const std::vector<int32_t>& number_of) {
    Tensor copy;
    if (node.kind == Node::Kind::input) {
        copy = input(node.name, node.layout);
    } else if (node.kind == Node::Kind::parameter) {
        copy = leaf(Tensor(node.parameter));
    } else {
        std::vector<Tensor> sources;
        for (int32_t source : node.sources) {
            sources.push_back(source < 0 ? Tensor() : Tensor(this, number_of[static_cast<size_t>(source)]));
        }
        scope_ = node.scope;
        copy = append(node.op, sources, node.where);
        scope_.clear();
        if (!node.name.empty()) name(copy, node.name);
    }
    nodes_[static_cast<size_t>(copy.node())].is_output = node.is_output;
    return copy;
}

void Graph::note_writes(const Node& node) {
    for (size_t i = 0; i < node.sources.size(); ++i) {
        if (node.sources[i] < 0 || !node.op->writes(static_cast<int>(i))) continue;
        Node& base = nodes_[static_cast<size_t>(base_of(node.sources[i]))];
        if (base.parameter != nullptr && base.parameter->read_only) {
            bad_input("'{}' lies in a mapped file and cannot be written; copy it first", base.name);
        }
        if (base.index_limit != 0) bad_input("'{}' holds row indices, which a graph cannot write", base.name);
        base.is_rewritten = true;
        if (base.parameter != nullptr) base.parameter->is_rewritten = true;
    }
}

void Graph::note_indices(const Node& node, std::span<const Layout> layouts) {
    const Op::IndexUse use = node.op->indices(layouts);
    if (use.source < 0) return;
    if (use.limit < 1) bad_input("there are no rows to choose from");
    limit_indices(node.sources[static_cast<size_t>(use.source)], use.limit);
}

// Follows indices to where their values come from.
void Graph::limit_indices(int32_t index, int64_t limit) {
    std::vector<int32_t> waiting{index};
    while (!waiting.empty()) {
        Node& node = nodes_[static_cast<size_t>(waiting.back())];
        waiting.pop_back();
        if (node.is_rewritten || (node.parameter != nullptr && node.parameter->is_rewritten)) {
            bad_input("row indices cannot come from '{}', into which a graph writes", node.name);
        }
        if (node.kind != Node::Kind::operation) {
            node.index_limit = node.index_limit == 0 ? limit : std::min(node.index_limit, limit);
            if (node.parameter != nullptr) node.parameter->index_limit = node.index_limit;
            continue;
        }
        std::vector<Layout> layouts;
        for (int32_t source : node.sources) {
            layouts.push_back(source < 0 ? Layout{} : nodes_[static_cast<size_t>(source)].layout);
        }
        if (const auto bound = node.op->index_bound(layouts)) {
            if (*bound > limit)
                bad_input("{} gives indices up to {}, but there are {} rows", node.op->name(), *bound - 1, limit);
            continue;
        }
        const int chooser = node.op->indices(layouts).source;
        for (size_t i = 0; i < node.sources.size(); ++i) {
            const bool is_integer = layouts[i].type == DType::I32 || layouts[i].type == DType::I64;
            if (is_integer && static_cast<int>(i) != chooser) waiting.push_back(node.sources[i]);
        }
    }
}

// Values that parameters held before a graph made them indices.
void Graph::check_index_parameters() const {
    for (size_t i = 0; i < nodes_.size(); ++i) {
        const Node& node = nodes_[i];
        if (node.parameter != nullptr && node.index_limit != 0) check_indices(Tensor(node.parameter));
    }
}

Tensor Graph::name(Tensor tensor, std::string name) {
    if (name.empty()) failure("a node needs a name of at least one character");
    const int32_t node = import(tensor);
    if (node < 0) failure("an absent tensor cannot be named '{}'", name);
    const auto [entry, is_new] = names_.try_emplace(name, node);
    if (!is_new) failure("the graph already has a node named '{}'", name);
    nodes_[static_cast<size_t>(node)].name = std::move(name);
    return tensor;
}

Tensor named(Tensor tensor, std::string_view name) {
    Graph& graph = *tensor.graph();
    if (!graph.node(tensor).name.empty()) return tensor;
    const std::string_view outer = std::string_view(graph.scope_).substr(0, graph.scope_.find('/'));
    std::string full = outer.empty() ? std::string(name) : fmt::format("{}.{}", outer, name);
    return graph.find(full) ? tensor : graph.name(tensor, std::move(full));
}

Tensor named_after(Tensor tensor, Tensor weight) {
    constexpr std::string_view k_suffix = ".weight";
    Graph& graph = *tensor.graph();
    const std::string_view name = weight.name();
    if (!name.ends_with(k_suffix) || !graph.node(tensor).name.empty()) return tensor;
    std::string full(name.substr(0, name.size() - k_suffix.size()));
    return graph.find(full) ? tensor : graph.name(tensor, std::move(full));
}

void Graph::output(Tensor tensor) {
    if (is_allocated()) failure("outputs are chosen before the graph is allocated");
    const int32_t node = import(tensor);
    if (node < 0) failure("an absent tensor cannot be an output");
    nodes_[static_cast<size_t>(node)].is_output = true;
}

const Node& Graph::node(Tensor tensor) const {
    if (tensor.parameter() == nullptr) return nodes_[static_cast<size_t>(tensor.node())];
    const auto found = leaves_.find(tensor.parameter());
    if (found == leaves_.end()) failure("'{}' is not used in this graph", tensor.name());
    return nodes_[static_cast<size_t>(found->second)];
}

Tensor Graph::find(std::string_view name) const {
    const auto found = names_.find(std::string(name));
    return found == names_.end() ? Tensor() : Tensor(const_cast<Graph*>(this), found->second);
}

void Graph::allocate_inputs() {
    size_t count = 0;
    size_t bytes = 0;
    for (const Node& node : nodes_) {
        if (node.kind != Node::Kind::input) continue;
        ++count;
        bytes = add_bytes(bytes, node.layout);
    }
    if (count == 0) return;
    device_->require_room(bytes, "inputs");
    input_context_ = ggml_init({count * ggml_tensor_overhead(), nullptr, /*no_alloc=*/true});
    for (Node& node : nodes_) {
        if (node.kind != Node::Kind::input) continue;
        node.lowered = ggml_new_tensor(input_context_, static_cast<ggml_type>(node.layout.type), node.layout.rank,
                                       node.layout.ne.data());
        ggml_set_name(node.lowered, node.name.c_str());
    }
    if (bytes == 0) return;
    input_buffer_ = ggml_backend_alloc_ctx_tensors_from_buft(input_context_, device_->buffer_type());
    if (input_buffer_ == nullptr) failure("device {} has no {} bytes free for inputs", device_->name(), bytes);
    ggml_backend_buffer_clear(input_buffer_, 0);
}

void Graph::lower(Node& node, const Lowering& lowering) {
    std::vector<ggml_tensor*> sources;
    for (int32_t source : node.sources) {
        sources.push_back(source < 0 ? nullptr : nodes_[static_cast<size_t>(source)].lowered);
    }
    node.lowered = node.op->lower(lowering, sources);
    for (size_t i = 0; i < 4; ++i) {
        // A view has our strides: they count those that nothing uses, of axes of length 1, as packed.
        if (node.op->aliases() >= 0) node.lowered->nb[i] = node.layout.nb[i];
        if (node.lowered->ne[i] != node.layout.ne[i] || node.lowered->nb[i] != node.layout.nb[i]) {
            failure("{}: ggml made another layout than {}", node.op->name(), node.layout.describe());
        }
    }
    if (!node.name.empty()) ggml_set_name(node.lowered, node.name.c_str());
    if (node.is_output) {
        ggml_set_output(node.lowered);
        if (node.lowered->view_src != nullptr) ggml_set_output(node.lowered->view_src);
    }
    if (!ggml_backend_dev_supports_op(lowering.device.handle(), node.lowered)) {
        bad_input("device {} has no {} for {}{}", lowering.device.name(), node.op->name(), node.layout.describe(),
                  place(node.where));
    }
    ggml_build_forward_expand(cgraph_, node.lowered);
}

void Graph::allocate(const Device& device, const RepackedWeights* repacked) {
    if (is_allocated()) failure("the graph is allocated already");
    device_ = std::make_unique<Device>(device);
    check_index_parameters();
    allocate_inputs();
    size_t count = 1;
    size_t most_bytes = 0;
    for (const Node& node : nodes_) {
        if (node.kind != Node::Kind::operation) continue;
        count += static_cast<size_t>(node.op->lowered_nodes());
        most_bytes = add_bytes(most_bytes, node.layout);
    }
    // ggml keeps leaves and nodes in arrays of one size.
    const size_t graph_size = count + nodes_.size();
    context_ = ggml_init({count * ggml_tensor_overhead() + ggml_graph_overhead_custom(graph_size, false), nullptr,
                          /*no_alloc=*/true});
    cgraph_ = ggml_new_graph_custom(context_, graph_size, false);
    const Lowering lowering{context_, device, repacked, has_kernels_ && device.is_cpu()};
    for (Node& node : nodes_) {
        if (node.kind == Node::Kind::parameter) {
            node.lowered = node.parameter->storage;
            if (node.lowered == nullptr) failure("tensor '{}' is declared but not allocated", node.name);
        } else if (node.kind == Node::Kind::operation) {
            lower(node, lowering);
        }
    }
    allocator_ = ggml_gallocr_new(device.buffer_type());
    if (!ggml_gallocr_alloc_graph(allocator_, cgraph_)) {
        failure("device {} has not enough memory free for the graph", device.name());
    }
}

size_t Graph::arena_bytes() const { return allocator_ == nullptr ? 0 : ggml_gallocr_get_buffer_size(allocator_, 0); }
size_t Graph::input_bytes() const { return input_buffer_ == nullptr ? 0 : ggml_backend_buffer_get_size(input_buffer_); }

Scope::Scope(Tensor in_graph, std::string_view name) : Scope(graph_of(in_graph, name), name) {}

Scope::Scope(Graph& graph, std::string_view name) : graph_(graph), outer_length_(graph.scope_.size()) {
    if (!graph.scope_.empty()) graph.scope_ += '/';
    graph.scope_ += name;
}

}  // namespace toy
