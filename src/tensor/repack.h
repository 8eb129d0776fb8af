#pragma once
#include <cstddef>
#include <unordered_map>
#include <vector>

#include "tensor/device.h"
#include "tensor/tensor.h"

struct ggml_backend_buffer;
struct ggml_context;
struct ggml_tensor;

namespace toy {

/// Second, derived copies of matrices and stacks of experts in the layouts that ggml's CPU kernels like best
/// (CPU_REPACK: rows interleaved). Owned by an inference plan: `matmul` and `matmul_id` read them in a Graph that is
/// allocated with them; everything else reads the original.
class RepackedWeights {
 public:
    explicit RepackedWeights(const Device& device) : device_(device) {}
    ~RepackedWeights();
    RepackedWeights(const RepackedWeights&) = delete;
    RepackedWeights& operator=(const RepackedWeights&) = delete;

    /// Copies those of `weights` whose type and shape the device has such a layout for; `threads` copy at once.
    void add(const std::vector<Tensor>& weights, int threads);

    /// The repacked twin of `original`, or null.
    ggml_tensor* find(const ggml_tensor* original) const;
    size_t bytes() const { return bytes_; }
    size_t count() const { return twins_.size(); }

 private:
    Device device_;
    std::unordered_map<const ggml_tensor*, ggml_tensor*> twins_;
    std::vector<ggml_context*> contexts_;
    std::vector<ggml_backend_buffer*> buffers_;
    size_t bytes_ = 0;
};

}  // namespace toy
