#include "tensor/device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ggml-backend.h>

#include <cctype>

#include "core/error.h"
#include "core/log.h"

namespace toy {
namespace {

// ggml's "CUDA0" is our "cuda:0"; "CPU" is "cpu".
std::string spelled_by_toy(std::string_view ggml_name) {
    std::string name;
    for (char c : ggml_name) {
        const bool first_digit =
            std::isdigit(static_cast<unsigned char>(c)) && !name.empty() && name.find(':') == std::string::npos;
        if (first_digit) name += ':';
        name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return name;
}

// ggml's errors and warnings take the way of ours; what else it says (much, in debug builds) is dropped.
void forward_log(ggml_log_level level, const char* text, void*) {
    std::string_view line = text;
    if (line.ends_with('\n')) line.remove_suffix(1);
    if (level == GGML_LOG_LEVEL_ERROR) logging::write(logging::Level::error, line);
    if (level == GGML_LOG_LEVEL_WARN) logging::write(logging::Level::warning, line);
}

}  // namespace

std::vector<Device> Device::list() {
    [[maybe_unused]] static const bool is_logging = [] {
        ggml_log_set(forward_log, nullptr);
        return true;
    }();
    std::vector<Device> devices;
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) devices.push_back(Device(ggml_backend_dev_get(i)));
    return devices;
}

Device Device::open(std::string_view wanted) {
    std::vector<std::string> names;
    for (const Device& device : list()) {
        names.push_back(device.name());
        if (names.back() == wanted || names.back() == std::string(wanted) + ":0") return device;
    }
    bad_input("there is no device '{}' here: choose from {}", wanted, fmt::join(names, ", "));
}

std::string Device::name() const { return spelled_by_toy(ggml_backend_dev_name(handle_)); }
std::string Device::description() const { return ggml_backend_dev_description(handle_); }

Device::Memory Device::memory() const {
    Memory memory{};
    ggml_backend_dev_memory(handle_, &memory.free, &memory.total);
    return memory;
}

void Device::require_room(size_t bytes, std::string_view what) const {
    const size_t total = memory().total;
    if (total != 0 && bytes > total) {
        failure("device {} has {} bytes in all, but {} need {}", name(), total, what, bytes);
    }
}

bool Device::is_cpu() const { return ggml_backend_dev_type(handle_) == GGML_BACKEND_DEVICE_TYPE_CPU; }
ggml_backend_buffer_type* Device::buffer_type() const { return ggml_backend_dev_buffer_type(handle_); }

void* Device::proc_address(const char* name) const {
    return ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(handle_), name);
}

std::string ggml_description() {
    std::string text = fmt::format("ggml {} ({})", ggml_version(), ggml_commit());
    const auto features =
        reinterpret_cast<ggml_backend_get_features_t>(Device::cpu().proc_address("ggml_backend_get_features"));
    if (features == nullptr) return text;
    std::vector<std::string> on;
    ggml_backend_reg_t reg = ggml_backend_dev_backend_reg(Device::cpu().handle());
    for (ggml_backend_feature* feature = features(reg); feature->name != nullptr; ++feature) {
        if (std::string_view(feature->value) != "0") on.push_back(feature->name);
    }
    return fmt::format("{}, cpu: {}", text, fmt::join(on, " "));
}

}  // namespace toy
