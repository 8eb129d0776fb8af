#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "realized_graph.h"
#include "tensor/params.h"
#include "tensor/runner.h"
#include "tensor/tensor.h"

namespace toy::capi {

/// The Runner of a device, shared by all sessions of the process.
std::shared_ptr<Runner> shared_runner(const Device& device);

/// What an older program calls a session: persistent tensors (one Params), a tape that operators append to before it is
/// known which results are wanted, and two graphs that are parts of that tape.
class Session : public std::enable_shared_from_this<Session> {
 public:
    enum class Which { a = 0, b = 1 };
    static constexpr size_t k_scratch_cells = size_t{4} << 20;

    explicit Session(std::shared_ptr<Runner> runner);

    const Device& device() const { return runner_->device(); }
    /// Held by the call that uses this session (handles.h).
    std::mutex calls;

    // ---- tensors and their handles ----

    void* add_input(const Layout& layout);
    void* add_persistent(const Layout& layout);
    void* add_mapped(const Layout& layout, size_t offset);
    /// Memory of `size` bytes at `base` for the mapped tensors that follow.
    void attach(const void* base, size_t size);
    void finalize() { params_.allocate(); }

    /// The handle of a parameter or of a node of the tape; the same one every time.
    void* handle_of(Tensor tensor);
    /// A node of the tape for either.
    Tensor on_tape(Tensor tensor);
    void forget_handles() noexcept;

    /// The name that the program gave, or "".
    const std::string& name_of(Tensor tensor) const;
    void set_name(Tensor tensor, std::string name) { names_[key_of(tensor)] = std::move(name); }
    /// For error sentences: "'x' (f32 [2, 64])".
    std::string label(Tensor tensor) const;

    // ---- graphs ----

    void set_capacity(size_t nodes) { capacity_ = nodes; }
    /// Throws Error where the tape is full.
    void require_room() const;
    void want(Tensor tensor) { graph(Which::a).want(on_tape(tensor)); }
    void want_result(Tensor tensor);
    void realize(Which which, Tensor result);
    void compute(Which which);
    void select(Which which);
    /// The operations of the selected graph.
    std::vector<int32_t> operations();
    Graph& tape() { return *tape_; }
    void reset();

    // ---- values ----

    /// Throws Error where the host cannot write the tensor.
    void require_writable(Tensor tensor) const;
    /// Bytes of the tensor's type from byte `offset` on.
    void write(Tensor tensor, std::span<const std::byte> bytes, size_t offset);
    /// Where the tensor's values can be read now.
    Tensor readable(Tensor tensor);

    /// Made on first use, with zeros.
    std::span<uint32_t> scratch();

 private:
    using Key = const void*;  // a Parameter, or a Node of the tape
    Key key_of(Tensor tensor) const;
    RealizedGraph& graph(Which which) { return graphs_[static_cast<size_t>(which)]; }
    RealizedGraph::Fill filler();
    void* remember(Key key, Tensor tensor);
    std::string next_name(const char* kind);

    std::shared_ptr<Runner> runner_;
    Params params_;
    std::unique_ptr<Graph> tape_;
    std::array<RealizedGraph, 2> graphs_;
    Which selected_ = Which::a;
    size_t capacity_ = 65536;

    std::span<const std::byte> attached_;
    std::shared_ptr<const void> attached_owner_;

    std::unordered_map<Key, void*> handles_;
    std::unordered_map<Key, std::string> names_;
    int64_t named_ = 0;
    /// Values of inputs written before any graph held them, by node of the tape.
    std::unordered_map<int32_t, std::vector<std::byte>> early_values_;
    std::vector<uint32_t> scratch_;
};

}  // namespace toy::capi
