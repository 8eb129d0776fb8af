#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

struct ggml_backend_device;
struct ggml_backend_buffer_type;

namespace toy {

/// One ggml device, chosen at run time by name: "cpu", "cuda:0", "vulkan:1", … A cheap handle.
class Device {
 public:
    /// All devices of the ggml in this program, in ggml's order.
    static std::vector<Device> list();
    /// The device of that name ("cuda" is "cuda:0"). Throws Error{bad_input} that lists the devices where it is absent:
    /// there is no fallback to another.
    static Device open(std::string_view name);
    static Device cpu() { return open("cpu"); }

    std::string name() const;
    std::string description() const;
    struct Memory {
        size_t free, total;
    };
    Memory memory() const;
    /// Throws Error{failure} where `bytes` for `what` are more than all the memory of the device, before an allocation
    /// that the system may promise but cannot keep.
    void require_room(size_t bytes, std::string_view what) const;
    bool is_cpu() const;
    bool operator==(const Device&) const = default;

    ggml_backend_device* handle() const { return handle_; }
    ggml_backend_buffer_type* buffer_type() const;
    /// A function that the device's backend offers under that name, or null; cast to its ggml type.
    void* proc_address(const char* name) const;

 private:
    explicit Device(ggml_backend_device* handle) : handle_(handle) {}
    ggml_backend_device* handle_;
};

/// Revision of ggml and the instruction sets that its CPU backend was built with, for --version.
std::string ggml_description();

}  // namespace toy
