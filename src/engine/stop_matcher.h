#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace toy {

/// Finds stop strings in a text that arrives in pieces, across their borders. Text that may still become a stop string
/// is held back; a stop string and what follows it never come out.
class StopMatcher {
 public:
    /// Throws Error{bad_input} for an empty stop string.
    explicit StopMatcher(std::vector<std::string> stops);

    /// What of the text so far can be shown, and has not been shown before.
    std::string push(std::string_view piece);
    /// What is still held back, at the end of a text that did not stop.
    std::string finish();
    bool has_stopped() const { return stopped_; }
    /// The stop string that was found; empty before.
    const std::string& found() const { return found_; }

 private:
    std::vector<std::string> stops_;
    std::string held_;
    std::string found_;
    bool stopped_ = false;
};

}  // namespace toy
