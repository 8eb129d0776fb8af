#pragma once
#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace toy::logging {

enum class Level { error, warning, info, debug };

/// Messages below this level are dropped; the start value is `warning`.
void set_level(Level level);

/// One line on stderr, as "toy: warning: …". Standard output belongs to results alone. Safe from any thread.
void write(Level level, std::string_view message);

template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
    write(Level::warning, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
    write(Level::info, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace toy::logging
