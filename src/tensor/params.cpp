#include "tensor/params.h"

#include <fmt/format.h>
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

#include "core/error.h"

namespace toy {
namespace {

// ggml's CPU kernels load whole vectors from the start of a tensor.
constexpr size_t k_mapped_alignment = 32;

}  // namespace

Params::~Params() {
    for (ggml_backend_buffer* buffer : buffers_) ggml_backend_buffer_free(buffer);
    for (const Region& region : regions_) ggml_backend_buffer_free(region.buffer);
    for (ggml_context* context : contexts_) ggml_free(context);
}

Parameter& Params::declare(std::string name, const Layout& layout) {
    if (by_name_.contains(name)) bad_input("there is already a tensor named '{}'", name);
    parameters_.push_back({std::move(name), layout, false, nullptr});
    Parameter& parameter = parameters_.back();
    by_name_.emplace(parameter.name, &parameter);
    return parameter;
}

Tensor Params::add(std::string name, const Layout& layout) {
    Parameter& parameter = declare(std::move(name), layout);
    waiting_.push_back(&parameter);
    return Tensor(&parameter);
}

ggml_tensor* Params::new_storage(const Parameter& parameter) {
    ggml_tensor* tensor = ggml_new_tensor(contexts_.back(), static_cast<ggml_type>(parameter.layout.type),
                                          parameter.layout.rank, parameter.layout.ne.data());
    ggml_set_name(tensor, parameter.name.c_str());
    return tensor;
}

void Params::allocate() {
    if (waiting_.empty()) return;
    size_t needed = 0;
    for (const Parameter* parameter : waiting_) needed = add_bytes(needed, parameter->layout);
    device_.require_room(needed, "tensors");
    contexts_.push_back(ggml_init({waiting_.size() * ggml_tensor_overhead(), nullptr, /*no_alloc=*/true}));
    for (Parameter* parameter : waiting_) parameter->storage = new_storage(*parameter);
    if (needed > 0) {  // else only tensors without elements
        ggml_backend_buffer* buffer = ggml_backend_alloc_ctx_tensors_from_buft(contexts_.back(), device_.buffer_type());
        if (buffer == nullptr) {
            for (Parameter* parameter : waiting_) parameter->storage = nullptr;
            failure("device {} has no {} bytes free for tensors", device_.name(), needed);
        }
        ggml_backend_buffer_clear(buffer, 0);
        buffers_.push_back(buffer);
        allocated_bytes_ += ggml_backend_buffer_get_size(buffer);
    }
    waiting_.clear();
}

ggml_backend_buffer* Params::region_of(std::span<const std::byte> memory, const std::shared_ptr<const void>& owner) {
    for (const Region& region : regions_) {
        if (region.memory.data() == memory.data() && region.memory.size() == memory.size()) return region.buffer;
    }
    ggml_backend_dev_props props{};
    ggml_backend_dev_get_props(device_.handle(), &props);
    if (!device_.is_cpu() || !props.caps.buffer_from_host_ptr) return nullptr;
    // ggml takes a writable pointer; nothing writes through it, since parameters in it are read_only.
    void* base = const_cast<std::byte*>(memory.data());
    const size_t size = memory.size();
    ggml_backend_buffer* buffer = ggml_backend_dev_buffer_from_host_ptr(device_.handle(), base, size, size);
    if (buffer == nullptr) return nullptr;
    ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    regions_.push_back({memory, owner, buffer});
    return buffer;
}

Tensor Params::map(std::string name, const Layout& layout, const std::shared_ptr<const MappedFile>& file,
                   size_t offset) {
    try {
        return map(std::move(name), layout, file->bytes(), offset, file);
    } catch (const Error& error) {
        throw Error(error.kind(), fmt::format("{}: {}", file->path().string(), error.what()));
    }
}

Tensor Params::map(std::string name, const Layout& layout, std::span<const std::byte> memory, size_t offset,
                   const std::shared_ptr<const void>& owner) {
    if (!layout.is_contiguous()) bad_input("tensor '{}': only packed tensors can be mapped", name);
    if (offset > memory.size() || layout.bytes() > memory.size() - offset) {
        bad_input("tensor '{}' needs {} bytes at offset {}, but the mapped memory ends at {}", name, layout.bytes(),
                  offset, memory.size());
    }
    // ggml takes memory only from an aligned address on.
    const bool aligned =
        reinterpret_cast<uintptr_t>(memory.data()) % k_mapped_alignment == 0 && offset % k_mapped_alignment == 0;
    ggml_backend_buffer* region = aligned && layout.bytes() > 0 ? region_of(memory, owner) : nullptr;
    if (region == nullptr) {
        if (!aligned) copied_for_alignment_.push_back(name);
        const Tensor copy = add(std::move(name), layout);
        allocate();
        if (layout.bytes() > 0) {
            ggml_backend_tensor_set(copy.parameter()->storage, memory.data() + offset, 0, layout.bytes());
        }
        return copy;
    }
    Parameter& parameter = declare(std::move(name), layout);
    contexts_.push_back(ggml_init({ggml_tensor_overhead(), nullptr, /*no_alloc=*/true}));
    parameter.storage = new_storage(parameter);
    parameter.read_only = true;
    void* address = const_cast<std::byte*>(memory.data() + offset);
    if (ggml_backend_tensor_alloc(region, parameter.storage, address) != GGML_STATUS_SUCCESS) {
        failure("tensor '{}' cannot be mapped", parameter.name);
    }
    mapped_bytes_ += layout.bytes();
    return Tensor(&parameter);
}

Tensor Params::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? Tensor() : Tensor(found->second);
}

Tensor Params::get(std::string_view name) const {
    const Tensor tensor = find(name);
    if (!tensor) bad_input("there is no tensor named '{}'", name);
    return tensor;
}

}  // namespace toy
