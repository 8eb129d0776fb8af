#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "tensor/graph.h"

struct ggml_backend;
struct ggml_threadpool;

namespace toy {

/// CPU cores that this process may use, hyper-threads of one core counted once.
int default_threads();

/// Called after the tapped node has been computed, while its values are there; see tensor/transfer.h to read them.
struct Tap {
    Tensor tensor;
    std::function<void(Tensor)> see;
};

/// One backend with one persistent thread pool: `run` is the only place that computes. One computation runs at a time;
/// a second thread that calls `run` waits.
class Runner {
 public:
    /// Throws Error where the device cannot start or `threads` is not in 1..512.
    explicit Runner(const Device& device, int threads = default_threads());
    ~Runner();
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;

    /// Runs an allocated graph and returns when its outputs are there. Taps do not change the graph: the run stops
    /// after each tapped node, then goes on.
    void run(Graph& graph, const std::vector<Tap>& taps = {});

    const Device& device() const { return device_; }
    int threads() const { return threads_; }

 private:
    void compute(ggml_cgraph* graph);
    void run_with_taps(Graph& graph, const std::vector<Tap>& taps);

    Device device_;
    int threads_;
    ggml_backend* backend_ = nullptr;
    ggml_threadpool* pool_ = nullptr;
    std::mutex computing_;
};

}  // namespace toy
