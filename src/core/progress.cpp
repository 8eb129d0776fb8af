#include "core/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace toy {
namespace {

constexpr double k_quiet_seconds = 1.0;
constexpr double k_seconds_between_draws = 0.1;
constexpr int k_widest_bar = 30;
// "\r", then "erase to the end of the line" (ECMA-48).
constexpr std::string_view k_wipe = "\r\x1b[K";

void write_to_stderr(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
        if (written <= 0) return;  // a progress bar is not worth an error
        text.remove_prefix(static_cast<size_t>(written));
    }
}

}  // namespace

std::string clock_text(double seconds) {
    const auto whole = std::llround(std::clamp(seconds, 0.0, 359999.0));
    if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
    return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

Progress::Screen Progress::standard_error() {
    Screen screen;
    screen.is_terminal = ::isatty(STDERR_FILENO) == 1;
    winsize size = {};
    if (screen.is_terminal && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        screen.columns = size.ws_col;
    }
    screen.write = write_to_stderr;
    screen.seconds = [] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    };
    return screen;
}

Progress::Progress(std::string label, int64_t total, Screen screen)
    : label_(std::move(label)), total_(std::max<int64_t>(total, 1)), screen_(std::move(screen)) {
    begin_ = screen_.seconds();
    last_drawn_ = begin_ + k_quiet_seconds - k_seconds_between_draws;
}

void Progress::show(int64_t done) {
    if (!screen_.is_terminal) return;
    const double now = screen_.seconds();
    if (now - last_drawn_ < k_seconds_between_draws) return;
    last_drawn_ = now;
    is_visible_ = true;
    screen_.write(std::string(k_wipe) + line(std::clamp<int64_t>(done, 0, total_), now - begin_));
}

void Progress::clear() {
    if (is_visible_) screen_.write(k_wipe);
    is_visible_ = false;
}

std::string Progress::line(int64_t done, double elapsed) const {
    const double share = static_cast<double>(done) / static_cast<double>(total_);
    const std::string left = done > 0 ? clock_text(elapsed / share - elapsed) : "?";
    const std::string figures = fmt::format(" {:3.0f} %  {} left", 100 * share, left);
    // One column stays free: a terminal may wrap after the last one.
    const int room = screen_.columns - 1 - static_cast<int>(label_.size() + figures.size()) - 3;
    std::string text = label_;
    if (const int bar = std::min(room, k_widest_bar); bar > 0) {
        const auto full = static_cast<size_t>(share * bar);
        text += fmt::format(" [{}{}]", std::string(full, '='), std::string(static_cast<size_t>(bar) - full, ' '));
    }
    return (text + figures).substr(0, static_cast<size_t>(std::max(screen_.columns - 1, 0)));
}

}  // namespace toy
