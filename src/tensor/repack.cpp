#include "tensor/repack.h"

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "core/error.h"
#include "tensor/params.h"

namespace toy {
namespace {

// The device's extra buffer types are asked, one after the other, whether they have a layout for this matrix, or for
// this stack of experts: they answer by a product of it with a vector of the usual type.
bool takes(const Device& device, ggml_backend_buffer_type_t type, const Layout& layout) {
    ggml_context* context = ggml_init({8 * ggml_tensor_overhead(), nullptr, /*no_alloc=*/true});
    ggml_tensor* weight = ggml_new_tensor(context, static_cast<ggml_type>(layout.type), layout.rank, layout.ne.data());
    ggml_tensor* x = ggml_new_tensor_2d(context, GGML_TYPE_F32, layout.ne[0], 1);
    ggml_tensor* ids = ggml_new_tensor_1d(context, GGML_TYPE_I32, 1);
    ggml_tensor* product =
        layout.ne[2] > 1 ? ggml_mul_mat_id(context, weight, x, ids) : ggml_mul_mat(context, weight, x);
    ggml_backend_buffer_t probe = ggml_backend_buft_alloc_buffer(type, 0);
    weight->buffer = probe;
    const bool answer = ggml_backend_dev_supports_op(device.handle(), product);
    ggml_backend_buffer_free(probe);
    ggml_free(context);
    return answer;
}

}  // namespace

RepackedWeights::~RepackedWeights() {
    for (ggml_backend_buffer* buffer : buffers_) ggml_backend_buffer_free(buffer);
    for (ggml_context* context : contexts_) ggml_free(context);
}

ggml_tensor* RepackedWeights::find(const ggml_tensor* original) const {
    const auto found = twins_.find(original);
    return found == twins_.end() ? nullptr : found->second;
}

void RepackedWeights::add(const std::vector<Tensor>& weights, int threads) {
    const auto list_types =
        reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(device_.proc_address("ggml_backend_dev_get_extra_bufts"));
    if (list_types == nullptr) return;
    std::vector<std::pair<ggml_tensor*, ggml_tensor*>> copies;
    for (ggml_backend_buffer_type_t* type = list_types(device_.handle()); type != nullptr && *type != nullptr; ++type) {
        std::vector<const Tensor*> chosen;
        for (const Tensor& weight : weights) {
            const Layout& layout = weight.layout();
            if (layout.ne[3] != 1 || find(weight.storage()) != nullptr) continue;
            const auto is_same = [&](const Tensor* other) { return *other == weight; };
            if (std::any_of(chosen.begin(), chosen.end(), is_same)) continue;
            if (takes(device_, *type, layout)) chosen.push_back(&weight);
        }
        if (chosen.empty()) continue;
        contexts_.push_back(ggml_init({chosen.size() * ggml_tensor_overhead(), nullptr, /*no_alloc=*/true}));
        for (const Tensor* weight : chosen) {
            ggml_tensor* twin = ggml_dup_tensor(contexts_.back(), weight->storage());
            ggml_set_name(twin, weight->name().c_str());
            twins_.emplace(weight->storage(), twin);
            copies.emplace_back(weight->storage(), twin);
        }
        ggml_backend_buffer* buffer = ggml_backend_alloc_ctx_tensors_from_buft(contexts_.back(), *type);
        if (buffer == nullptr) failure("not enough memory free to repack {} weights", chosen.size());
        ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
        buffers_.push_back(buffer);
        bytes_ += ggml_backend_buffer_get_size(buffer);
    }
    std::atomic<size_t> next{0};
    const auto work = [&] {
        for (size_t i = next++; i < copies.size(); i = next++) {
            const auto& [original, twin] = copies[i];
            ggml_backend_tensor_set(twin, original->data, 0, ggml_nbytes(original));
        }
    };
    std::vector<std::jthread> helpers;
    for (int i = 1; i < threads; ++i) helpers.emplace_back(work);
    work();
}

}  // namespace toy
