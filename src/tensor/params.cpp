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
    contexts_.push_back(ggml_init({waiting_.size() * ggml_tensor_overhead(), nullptr, /*no_alloc=*/true}));
    size_t needed = 0;
    for (Parameter* parameter : waiting_) {
        parameter->storage = new_storage(*parameter);
        needed = add_bytes(needed, parameter->layout);
    }
    waiting_.clear();
    device_.require_room(needed, "tensors");
    if (needed == 0) return;  // only tensors without elements
    ggml_backend_buffer* buffer = ggml_backend_alloc_ctx_tensors_from_buft(contexts_.back(), device_.buffer_type());
    if (buffer == nullptr) failure("device {} has no {} bytes free for tensors", device_.name(), needed);
    ggml_backend_buffer_clear(buffer, 0);
    buffers_.push_back(buffer);
    allocated_bytes_ += ggml_backend_buffer_get_size(buffer);
}

ggml_backend_buffer* Params::region_of(const std::shared_ptr<const MappedFile>& file) {
    for (const Region& region : regions_) {
        if (region.file == file) return region.buffer;
    }
    ggml_backend_dev_props props{};
    ggml_backend_dev_get_props(device_.handle(), &props);
    if (!device_.is_cpu() || !props.caps.buffer_from_host_ptr) return nullptr;
    // ggml takes a writable pointer; nothing writes through it, since parameters in it are read_only.
    void* base = const_cast<std::byte*>(file->bytes().data());
    const size_t size = file->bytes().size();
    ggml_backend_buffer* buffer = ggml_backend_dev_buffer_from_host_ptr(device_.handle(), base, size, size);
    if (buffer == nullptr) return nullptr;
    ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    regions_.push_back({file, buffer});
    return buffer;
}

Tensor Params::map(std::string name, const Layout& layout, const std::shared_ptr<const MappedFile>& file,
                   size_t offset) {
    const std::span<const std::byte> bytes = file->bytes();
    if (!layout.is_contiguous()) bad_input("tensor '{}': only packed tensors can be mapped", name);
    if (offset > bytes.size() || layout.bytes() > bytes.size() - offset) {
        bad_input("{}: tensor '{}' needs {} bytes at offset {}, but the file ends at {}", file->path().string(), name,
                  layout.bytes(), offset, bytes.size());
    }
    const bool aligned = offset % k_mapped_alignment == 0;
    ggml_backend_buffer* region = aligned && layout.bytes() > 0 ? region_of(file) : nullptr;
    if (region == nullptr) {
        if (!aligned) copied_for_alignment_.push_back(name);
        const Tensor copy = add(std::move(name), layout);
        allocate();
        if (layout.bytes() > 0) {
            ggml_backend_tensor_set(copy.parameter()->storage, bytes.data() + offset, 0, layout.bytes());
        }
        return copy;
    }
    Parameter& parameter = declare(std::move(name), layout);
    contexts_.push_back(ggml_init({ggml_tensor_overhead(), nullptr, /*no_alloc=*/true}));
    parameter.storage = new_storage(parameter);
    parameter.read_only = true;
    void* address = const_cast<std::byte*>(bytes.data() + offset);
    if (ggml_backend_tensor_alloc(region, parameter.storage, address) != GGML_STATUS_SUCCESS) {
        failure("{}: tensor '{}' cannot be mapped", file->path().string(), parameter.name);
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
