#pragma once
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "core/trace_sink.h"

namespace toy {

/// Writes spans as a Chrome trace (an array of complete events), which chrome://tracing and ui.perfetto.dev open. The
/// file is valid JSON at any moment: each write puts new events, and the end of the array, over the old end. Events
/// gather for a while first, so what happened just before a kill is lost.
class TraceFile : public TraceSink {
 public:
    /// Begins the file anew. Throws Error{failure} where it cannot be written.
    explicit TraceFile(const std::filesystem::path& path);
    /// Writes what is left; a disk that refuses then is a warning.
    ~TraceFile() override;
    TraceFile(const TraceFile&) = delete;
    TraceFile& operator=(const TraceFile&) = delete;

    void span(std::string_view name, std::string_view category, Clock::time_point begin,
              Clock::time_point end) override;
    /// Writes what has gathered. Throws Error{failure} where the disk refuses.
    void flush();

 private:
    void write_gathered();
    std::filesystem::path path_;
    int descriptor_ = -1;
    Clock::time_point begin_;
    std::mutex mutex_;
    std::string gathered_;
    bool is_empty_ = true;
    int64_t end_;  // of the events in the file, where the end of the array stands
    std::unordered_map<std::thread::id, int> threads_;
};

}  // namespace toy
