#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <string>

#include "core/error.h"
#include "core/log.h"
#include "handles.h"
#include "last_error.h"
#include "session.h"
#include "tinynn.h"

using namespace toy;
using namespace toy::capi;

namespace {

// The kinds of the older interface, as our devices are named ("MTL" is what ggml calls Metal).
constexpr const char* k_kinds[] = {"cpu", "cuda", "mtl"};

std::string device_name(int kind, int device) {
    if (kind < 0 || kind >= static_cast<int>(std::size(k_kinds))) {
        bad_input("there is no device kind {}: choose 0 (CPU), 1 (CUDA) or 2 (Metal)", kind);
    }
    if (device < 0) bad_input("there is no device {}", device);
    return kind == 0 && device == 0 ? "cpu" : fmt::format("{}:{}", k_kinds[kind], device);
}

void warn_once(const std::string& text) {
    static std::mutex mutex;
    static std::set<std::string> said;
    const std::scoped_lock lock(mutex);
    if (said.insert(text).second) logging::warn("{}", text);
}

// The older library's quiet fallback, with a warning: an absent device means the CPU.
Device device_or_cpu(const char* function, const std::string& wanted) {
    try {
        return Device::open(wanted);
    } catch (const Error& error) {
        const std::string text = fmt::format("{}; the session computes on the CPU", error.what());
        set_last_error(function, text.c_str());
        warn_once(text);
        return Device::cpu();
    }
}

void* new_session(const char* function, int kind, int device) {
    return answer(function, static_cast<void*>(nullptr), [&] {
        const Device chosen = device_or_cpu(function, device_name(kind, device));
        return add_handle(std::make_shared<Session>(shared_runner(chosen)));
    });
}

// Our "cuda:0" is ggml's "CUDA0".
std::string ggml_name(const std::string& device) {
    std::string name;
    for (char c : device) {
        if (c != ':') name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    return name;
}

}  // namespace

void* tnn_session_new(int kind) { return new_session(__func__, kind, 0); }
void* tnn_session_new_on(int kind, int device) { return new_session(__func__, kind, device); }

int tnn_cuda_get_device_count(void) {
    return answer(__func__, 0, [] {
        const std::vector<Device> devices = Device::list();
        const auto is_cuda = [](const Device& device) { return device.name().starts_with("cuda:"); };
        return static_cast<int>(std::count_if(devices.begin(), devices.end(), is_cuda));
    });
}

void tnn_session_free(void* session) {
    status(__func__, [&] {
        const SessionInUse in_use(session);
        in_use->forget_handles();
        remove_handle(session);
    });
}

const char* tnn_backend_name(void* session) {
    return answer(__func__, "", [&] { return kept_text(ggml_name(SessionInUse(session)->device().name())); });
}

int tnn_session_set_graph_capacity(void* session, int nodes) {
    return status(__func__, [&] {
        const SessionInUse in_use(session);
        if (nodes < 1) bad_input("a graph of {} nodes holds nothing", nodes);
        in_use->set_capacity(static_cast<size_t>(nodes));
    });
}
