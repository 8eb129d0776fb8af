#pragma once
#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/mapped_file.h"
#include "tensor/device.h"
#include "tensor/layout.h"
#include "tensor/tensor.h"

struct ggml_backend_buffer;
struct ggml_context;
struct ggml_tensor;

namespace toy {

/// A named tensor that outlives graphs.
struct Parameter {
    std::string name;
    Layout layout;
    bool read_only = false;          ///< lies in a mapped file: no graph may write it
    ggml_tensor* storage = nullptr;  ///< null until allocated or mapped
    bool is_rewritten = false;       ///< a graph writes it
    int64_t index_limit = 0;         ///< where graphs use its values as row indices: they must lie in [0, index_limit)
};

/// Named tensors that outlive graphs: weights, adapters, moments, caches, constants. Declare, allocate, then write; a
/// Params that is only declared serves for tracing. Handles stay valid as long as the Params.
class Params {
 public:
    explicit Params(Device device) : device_(device) {}
    ~Params();
    Params(const Params&) = delete;
    Params& operator=(const Params&) = delete;

    /// Declares a tensor. Throws Error where the name is taken.
    Tensor add(std::string name, const Layout& layout);
    /// Gives memory, zeroed, to all tensors declared since the last call. Throws Error{failure} naming the size needed.
    void allocate();

    /// A tensor inside a mapped file, read-only and without a copy where the device computes in host memory and the
    /// bytes are 32-byte aligned; otherwise copied once into the device's memory. Throws Error where the bytes do not
    /// lie in the file.
    Tensor map(std::string name, const Layout& layout, const std::shared_ptr<const MappedFile>& file, size_t offset);

    /// The same inside other host memory, which `owner` keeps (null where the caller keeps it) as long as this Params.
    Tensor map(std::string name, const Layout& layout, std::span<const std::byte> memory, size_t offset,
               const std::shared_ptr<const void>& owner);

    /// The tensor of that name, or an absent one.
    Tensor find(std::string_view name) const;
    /// The tensor of that name; throws Error naming it where there is none.
    Tensor get(std::string_view name) const;

    const Device& device() const { return device_; }
    const std::deque<Parameter>& all() const { return parameters_; }
    /// Bytes in memory of our own, and bytes that are mapped.
    size_t allocated_bytes() const { return allocated_bytes_; }
    size_t mapped_bytes() const { return mapped_bytes_; }
    /// Names of mapped tensors that had to be copied because they are not 32-byte aligned.
    const std::vector<std::string>& copied_for_alignment() const { return copied_for_alignment_; }

 private:
    struct Region {  // a mapped file, or other memory that is not ours, as one ggml buffer
        std::span<const std::byte> memory;
        std::shared_ptr<const void> owner;
        ggml_backend_buffer* buffer;
    };
    Parameter& declare(std::string name, const Layout& layout);
    ggml_tensor* new_storage(const Parameter& parameter);
    ggml_backend_buffer* region_of(std::span<const std::byte> memory, const std::shared_ptr<const void>& owner);

    Device device_;
    std::deque<Parameter> parameters_;
    std::unordered_map<std::string_view, Parameter*> by_name_;
    std::vector<Parameter*> waiting_;  // declared, not allocated
    std::vector<ggml_context*> contexts_;
    std::vector<ggml_backend_buffer*> buffers_;
    std::vector<Region> regions_;
    std::vector<std::string> copied_for_alignment_;
    size_t allocated_bytes_ = 0;
    size_t mapped_bytes_ = 0;
};

}  // namespace toy
