#include "cli/version.h"

#include <fmt/format.h>

#include "tensor/device.h"

namespace toy::cli {
namespace {

#if defined(__clang__)
constexpr std::string_view k_compiler = "clang " __clang_version__;
#else
constexpr std::string_view k_compiler = "g++ " __VERSION__;
#endif

}  // namespace

std::string_view version() { return TOY_VERSION; }

std::string build_description() { return fmt::format("{}, {}", k_compiler, TOY_BUILD_FLAGS); }

std::string version_text() {
    return fmt::format("toy {}\n{}\nbuilt with {}\n", version(), ggml_description(), build_description());
}

}  // namespace toy::cli
