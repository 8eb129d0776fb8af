#pragma once
#include <chrono>
#include <string_view>

namespace toy {

/// Takes how long parts of a program took. run/trace_file.h writes them as a Chrome trace.
class TraceSink {
 public:
    using Clock = std::chrono::steady_clock;
    virtual ~TraceSink() = default;
    /// Something that took from `begin` to `end`, on the calling thread. Safe from any thread.
    virtual void span(std::string_view name, std::string_view category, Clock::time_point begin,
                      Clock::time_point end) = 0;
};

/// Times its own life and reports it; without a sink it does nothing, not even look at the clock. The texts must
/// outlive it.
class TraceSpan {
 public:
    TraceSpan(TraceSink* sink, std::string_view name, std::string_view category)
        : sink_(sink), name_(name), category_(category) {
        if (sink_ != nullptr) begin_ = TraceSink::Clock::now();
    }
    ~TraceSpan() {
        if (sink_ != nullptr) sink_->span(name_, category_, begin_, TraceSink::Clock::now());
    }
    TraceSpan(const TraceSpan&) = delete;
    TraceSpan& operator=(const TraceSpan&) = delete;

 private:
    TraceSink* sink_;
    std::string_view name_, category_;
    TraceSink::Clock::time_point begin_;
};

}  // namespace toy
