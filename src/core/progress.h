#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace toy {

/// A span of time as "3:07" or "1:02:33".
std::string clock_text(double seconds);

/// One line on a terminal that shows how far a long task is: a bar, the share that is done, and the time that is left
/// at the mean speed so far. It appears only when a task has taken a second and only on a terminal, is redrawn at most
/// ten times a second, and is wiped when the object goes. Not thread-safe.
class Progress {
 public:
    /// Where it draws; tests put their own terminal and clock here.
    struct Screen {
        bool is_terminal = false;
        int columns = 80;
        std::function<void(std::string_view)> write;
        std::function<double()> seconds;  ///< a clock that never goes back
    };
    /// Standard error, and the time since the program started.
    static Screen standard_error();

    /// `total` in any unit (tokens, files, bytes).
    Progress(std::string label, int64_t total, Screen screen = standard_error());
    ~Progress() { clear(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// `done` of `total`; cheap enough to call after every item.
    void show(int64_t done);
    /// What is being done now, from the next `show` on.
    void set_label(std::string label) { label_ = std::move(label); }
    /// Wipes the line, so that something else can be printed; the next `show` may draw it again.
    void clear();

 private:
    std::string line(int64_t done, double elapsed) const;

    std::string label_;
    int64_t total_;
    Screen screen_;
    double begin_;
    double last_drawn_;
    bool is_visible_ = false;
};

}  // namespace toy
