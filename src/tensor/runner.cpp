#include "tensor/runner.h"

#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "core/error.h"

namespace toy {
namespace {

constexpr int k_most_threads = 512;  // GGML_MAX_N_THREADS

template <class Function>
Function* proc(const Device& device, const char* name) {
    void* address = device.proc_address(name);
    if (address == nullptr) failure("the ggml backend of device {} has no {}", device.name(), name);
    return reinterpret_cast<Function*>(address);
}

// The nodes `from`..`to` of a graph as a graph of their own; they keep their memory.
ggml_cgraph* part_of(ggml_context* context, ggml_cgraph* graph, int from, int to) {
    ggml_cgraph* part = ggml_new_graph_custom(context, static_cast<size_t>(to - from + 1), false);
    for (int i = from; i <= to; ++i) ggml_graph_add_node(part, ggml_graph_node(graph, i));
    return part;
}

}  // namespace

int default_threads() {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
    std::set<std::string> cores;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &allowed)) continue;
        std::ifstream siblings("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
        std::string line;
        cores.insert(std::getline(siblings, line) ? line : std::to_string(cpu));
    }
    return std::clamp(static_cast<int>(cores.size()), 1, k_most_threads);
}

Runner::Runner(const Device& device, int threads) : device_(device), threads_(threads) {
    if (threads < 1 || threads > k_most_threads) bad_input("{} threads: choose 1 to {}", threads, k_most_threads);
    backend_ = ggml_backend_dev_init(device.handle(), nullptr);
    if (backend_ == nullptr) failure("device {} does not start", device.name());
    if (!device.is_cpu()) return;
    ggml_threadpool_params params = ggml_threadpool_params_default(threads);
    pool_ = proc<decltype(ggml_threadpool_new)>(device, "ggml_threadpool_new")(&params);
    if (pool_ == nullptr) failure("the system gives no {} threads", threads);
    proc<decltype(ggml_backend_cpu_set_threadpool)>(device, "ggml_backend_cpu_set_threadpool")(backend_, pool_);
    proc<void(ggml_backend_t, int)>(device, "ggml_backend_set_n_threads")(backend_, threads);
}

Runner::~Runner() {
    if (backend_ != nullptr) ggml_backend_free(backend_);
    if (pool_ != nullptr) proc<decltype(ggml_threadpool_free)>(device_, "ggml_threadpool_free")(pool_);
}

void Runner::compute(ggml_cgraph* graph) {
    const ggml_status status = ggml_backend_graph_compute(backend_, graph);
    if (status == GGML_STATUS_ALLOC_FAILED) failure("device {} has not enough memory free to compute", device_.name());
    if (status != GGML_STATUS_SUCCESS) failure("device {} failed while computing", device_.name());
}

void Runner::run(Graph& graph, const std::vector<Tap>& taps) {
    if (!graph.is_allocated()) failure("a graph must be allocated before it runs");
    if (!(graph.device() == device_)) {
        failure("the graph lies on device {}, the runner on {}", graph.device().name(), device_.name());
    }
    const std::scoped_lock lock(computing_);
    if (taps.empty()) {
        compute(graph.cgraph());
    } else {
        run_with_taps(graph, taps);
    }
}

void Runner::run_with_taps(Graph& graph, const std::vector<Tap>& taps) {
    ggml_cgraph* whole = graph.cgraph();
    const int count = ggml_graph_n_nodes(whole);
    int done = -1;
    for (int i = 0; i < count; ++i) {
        const ggml_tensor* node = ggml_graph_node(whole, i);
        const auto is_here = [&](const Tap& tap) { return tap.tensor.storage() == node; };
        const bool tapped = std::any_of(taps.begin(), taps.end(), is_here);
        if (!tapped && i + 1 < count) continue;
        const size_t size = static_cast<size_t>(i - done);
        ggml_context* context = ggml_init({ggml_graph_overhead_custom(size, false), nullptr, /*no_alloc=*/true});
        compute(part_of(context, whole, done + 1, i));
        ggml_free(context);
        done = i;
        for (const Tap& tap : taps) {
            if (is_here(tap)) tap.see(tap.tensor);
        }
    }
}

}  // namespace toy
