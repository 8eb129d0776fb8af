#pragma once
#include <deque>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tensor/device.h"
#include "tensor/op.h"
#include "tensor/tensor.h"

struct ggml_backend_buffer;
struct ggml_cgraph;
struct ggml_context;
struct ggml_gallocr;
struct ggml_tensor;

namespace toy {

/// One record of the tape, or a leaf of the graph.
struct Node {
    enum class Kind { input, parameter, operation };
    Kind kind = Kind::operation;
    Layout layout;
    std::string name;              ///< unique within the graph when given; may be empty
    std::string scope;             ///< "blk.3/attention"
    std::shared_ptr<const Op> op;  ///< operations only
    std::vector<int32_t> sources;  ///< node numbers; absent optional sources are -1
    std::source_location where;
    Parameter* parameter = nullptr;  ///< parameters only
    int32_t base = -1;               ///< the node whose memory this one shares, at the end of the chain of views
    bool is_output = false;
    int64_t index_limit = 0;         ///< leaves that serve as row indices: values must lie in [0, index_limit)
    bool is_rewritten = false;       ///< an operation writes into it
    ggml_tensor* lowered = nullptr;  ///< after allocate()
};

/// A computation over Params: first a tape that operators append to, then, after `allocate`, an allocated ggml graph
/// that a Runner runs any number of times. Inputs change between runs; topology does not. A graph that is only traced
/// is never allocated and needs no weights, buffers or device. Several graphs share Params.
class Graph {
 public:
    Graph() = default;
    ~Graph();
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    /// A tensor that the host writes before runs; it lies outside the arena, so an upload survives any number of runs.
    Tensor input(std::string name, DType type, std::initializer_list<int64_t> dims);
    Tensor input(std::string name, const Layout& layout);
    /// A parameter as a node of this graph, for graphs whose operands are all parameters.
    Tensor leaf(Tensor parameter);
    /// Appends an operation. `sources` may hold absent tensors where the operator allows it. Throws the operator's
    /// Error, with its name and the line of use, where shapes do not fit or a read-only parameter would be written.
    Tensor append(std::shared_ptr<const Op> op, std::initializer_list<Tensor> sources, std::source_location where);
    Tensor append(std::shared_ptr<const Op> op, std::span<const Tensor> sources, std::source_location where);

    /// The part of a tape that some results need.
    struct Part {
        std::unique_ptr<Graph> graph;
        std::vector<int32_t> node_of;  ///< by node number in the whole tape: the node number in `graph`, or -1
    };
    /// The nodes that `wanted` depend on, in the same order, as a graph of its own: inputs of its own, the operations
    /// and parameters shared. For callers that learn only after tracing which results they want. Outputs stay outputs;
    /// a write that nothing wanted depends on is left out unless it is in `wanted` itself.
    Part part(std::span<const Tensor> wanted) const;

    /// Gives a node a name by which it is found, tapped and shown. Throws Error where the name is taken.
    Tensor name(Tensor tensor, std::string name);
    /// Whether layers may use operators that do several steps at once and so hide what lies between (flash attention,
    /// swiglu). To be chosen before the first operation; on by default.
    void set_fusing(bool is_fusing) { is_fusing_ = is_fusing; }
    bool is_fusing() const { return is_fusing_; }

    /// Whether operators that have a CPU kernel of ours beside ggml's use it: dense products, norms and the like, as
    /// training wants them. To be chosen before allocate(); off by default.
    void set_kernels(bool has_kernels) { has_kernels_ = has_kernels; }

    /// Keeps a node's values readable after a run.
    void output(Tensor tensor);

    /// Lowers the tape in program order and allocates it. Afterwards the graph can run and grow no more. Throws Error
    /// where the device lacks an operation or memory.
    void allocate(const Device& device, const RepackedWeights* repacked = nullptr);
    bool is_allocated() const { return cgraph_ != nullptr; }

    /// Bytes of the arena and of the inputs.
    size_t arena_bytes() const;
    size_t input_bytes() const;

    const std::deque<Node>& nodes() const { return nodes_; }
    const Node& node(Tensor tensor) const;
    /// The node of that name, or an absent tensor.
    Tensor find(std::string_view name) const;
    ggml_cgraph* cgraph() const { return cgraph_; }
    const Device& device() const { return *device_; }

 private:
    friend class Backward;
    friend class Scope;
    friend Tensor named(Tensor tensor, std::string_view name);
    int32_t import(const Tensor& tensor);
    int32_t base_of(int32_t node) const;
    void note_writes(const Node& node);
    void note_indices(const Node& node, std::span<const Layout> layouts);
    void limit_indices(int32_t index, int64_t limit);
    void check_index_parameters() const;
    Tensor adopt(const Node& node, const std::vector<int32_t>& number_of);
    void allocate_inputs();
    void lower(Node& node, const Lowering& lowering);

    std::deque<Node> nodes_;
    std::unordered_map<const Parameter*, int32_t> leaves_;
    std::unordered_map<std::string, int32_t> names_;
    std::string scope_;
    bool is_fusing_ = true;
    bool has_kernels_ = false;
    std::unique_ptr<Device> device_;
    ggml_context* input_context_ = nullptr;
    ggml_backend_buffer* input_buffer_ = nullptr;
    ggml_context* context_ = nullptr;
    ggml_cgraph* cgraph_ = nullptr;
    ggml_gallocr* allocator_ = nullptr;
};

/// Names a step of a layer so that it can be tapped: inside the scope "blk.3/attention", "scores" becomes
/// "blk.3.scores". A node that has a name keeps it, and a name that is taken stays where it is. Returns the tensor.
Tensor named(Tensor tensor, std::string_view name);
/// The same after the weight that made it: the product with "blk.3.attn_q.weight" becomes "blk.3.attn_q".
Tensor named_after(Tensor tensor, Tensor weight);

/// Operations recorded while a Scope lives carry its path: Scope s(x, "attention") inside "blk.3" gives
/// "blk.3/attention".
class Scope {
 public:
    Scope(Tensor in_graph, std::string_view name);
    Scope(Graph& graph, std::string_view name);
    ~Scope() { graph_.scope_.resize(outer_length_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

 private:
    Graph& graph_;
    size_t outer_length_;
};

}  // namespace toy
