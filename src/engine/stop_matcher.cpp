#include "engine/stop_matcher.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace toy {

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
    for (const std::string& stop : stops_) {
        if (stop.empty()) bad_input("a stop string must not be empty");
    }
}

std::string StopMatcher::push(std::string_view piece) {
    if (stopped_) return {};
    held_ += piece;
    // The earliest match ends the text; of two that begin together the one listed first.
    size_t at = std::string::npos;
    for (const std::string& stop : stops_) {
        const size_t found = held_.find(stop);
        if (found < at) {
            at = found;
            found_ = stop;
        }
    }
    if (at != std::string::npos) {
        stopped_ = true;
        std::string shown = held_.substr(0, at);
        held_.clear();
        return shown;
    }
    // Hold back the longest end of the text that begins a stop string.
    size_t hold = 0;
    for (const std::string& stop : stops_) {
        for (size_t n = std::min(stop.size() - 1, held_.size()); n > hold; --n) {
            if (std::string_view(held_).substr(held_.size() - n) == std::string_view(stop).substr(0, n)) hold = n;
        }
    }
    std::string shown = held_.substr(0, held_.size() - hold);
    held_.erase(0, held_.size() - hold);
    return shown;
}

std::string StopMatcher::finish() { return std::exchange(held_, {}); }

}  // namespace toy
