#pragma once
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/event_sink.h"

namespace toy {

/// An event as it was read. Numbers that JSON has no word for are numbers again.
struct Event {
    std::string kind;
    double t = 0;
    std::optional<int64_t> step;
    Phase phase = Phase::none;
    nlohmann::ordered_json fields;  ///< the whole object
};

/// Reads an events.jsonl from its beginning, also one that is still growing or was cut in the middle. Lines that are no
/// event of the schema are skipped and counted, and so are events of unknown kinds; unknown fields are left alone.
class EventReader {
 public:
    /// Throws Error{bad_input} where the file cannot be opened.
    explicit EventReader(const std::filesystem::path& path);
    ~EventReader();
    EventReader(const EventReader&) = delete;
    EventReader& operator=(const EventReader&) = delete;

    /// The next event, or nothing where the file holds no further whole line now; ask again once it has grown.
    std::optional<Event> next();

    size_t bad_lines() const { return bad_lines_; }
    size_t unknown_kinds() const { return unknown_kinds_; }
    /// Whether the file goes on behind the last whole line.
    bool has_half_line() const { return begin_ < pending_.size() || is_skipping_; }
    /// Where the last line that was read ends in the file.
    uint64_t offset() const { return offset_; }

 private:
    bool read_more();
    std::optional<std::string> next_line();
    std::optional<Event> parse(const std::string& line);

    std::filesystem::path path_;
    int descriptor_ = -1;
    std::string pending_;       // what was read of the file and not yet dropped
    size_t begin_ = 0;          // of the line in it that comes next
    size_t searched_ = 0;       // where to look on for its end
    bool is_skipping_ = false;  // inside a line that is too long to be an event
    size_t bad_lines_ = 0;
    size_t unknown_kinds_ = 0;
    uint64_t offset_ = 0;
};

}  // namespace toy
