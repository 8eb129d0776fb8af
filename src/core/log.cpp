#include "core/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace toy::logging {
namespace {

spdlog::logger& logger() {
    static const std::shared_ptr<spdlog::logger> instance = [] {
        auto made = std::make_shared<spdlog::logger>("toy", std::make_shared<spdlog::sinks::stderr_sink_mt>());
        made->set_pattern("toy: %l: %v");
        made->set_level(spdlog::level::warn);
        return made;
    }();
    return *instance;
}

spdlog::level::level_enum to_spdlog(Level level) {
    switch (level) {
        case Level::error: return spdlog::level::err;
        case Level::warning: return spdlog::level::warn;
        case Level::info: return spdlog::level::info;
        case Level::debug: return spdlog::level::debug;
    }
    return spdlog::level::off;
}

}  // namespace

void set_level(Level level) { logger().set_level(to_spdlog(level)); }
void write(Level level, std::string_view message) { logger().log(to_spdlog(level), message); }

}  // namespace toy::logging
