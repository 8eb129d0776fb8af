#pragma once
#include <filesystem>
#include <functional>
#include <mutex>

#include "core/event_sink.h"

namespace toy {

/// Writes events.jsonl: one JSON object for each event, on a line of its own, which is in the file when `event`
/// returns, so that the file can be read while it grows. `t` is the time since the run began in seconds; it never goes
/// back, and after a resume it goes on from the last event that was kept. Safe from any thread. Errors: Error{failure}
/// where the disk refuses (the file then still ends with a whole line), and where an event does not fit the schema,
/// which is a fault of toy.
class EventLog : public EventSink {
 public:
    /// Seconds by a clock that never goes back.
    using Clock = std::function<double()>;
    static double steady_seconds();

    /// Begins the file anew, or with `size` bytes of what is there; the rest is cut off. `last_t` is the time of the
    /// last event that stays.
    explicit EventLog(std::filesystem::path path, uint64_t size = 0, double last_t = 0, Clock clock = steady_seconds);
    ~EventLog() override;
    EventLog(const EventLog&) = delete;
    EventLog& operator=(const EventLog&) = delete;

    void event(std::string_view kind, std::optional<int64_t> step, Phase phase,
               const nlohmann::ordered_json& fields) override;
    /// Flushes the file to the disk and returns its length. Throws Error{failure} also where the file was deleted.
    uint64_t flush();
    double seconds() const;

 private:
    void append(std::string_view line);
    std::filesystem::path path_;
    int descriptor_ = -1;
    uint64_t size_;
    double begin_;
    double last_t_;
    Clock clock_;
    std::mutex mutex_;
};

}  // namespace toy
