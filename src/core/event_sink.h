#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

namespace toy {

/// What a run was doing when an event happened.
enum class Phase { none, train, eval, decode, serve };

/// Takes what happens in a run: a step, an evaluation, a sample. Who computes reports here and knows nothing of files;
/// `run/` has the sinks that write. Kinds, and the fields that each of them takes, stand in run/event_schema.cpp and
/// docs/runs.md.
class EventSink {
 public:
    virtual ~EventSink() = default;
    /// `fields` is an object of the kind's own fields; `kind`, time, step and phase do not belong in it. Numbers may be
    /// NaN or infinite.
    virtual void event(std::string_view kind, std::optional<int64_t> step, Phase phase,
                       const nlohmann::ordered_json& fields) = 0;
};

/// Passes each event to several sinks, in the order in which they were added.
class EventSinks : public EventSink {
 public:
    /// `sink` must outlive this object.
    void add(EventSink& sink) { sinks_.push_back(&sink); }
    void event(std::string_view kind, std::optional<int64_t> step, Phase phase,
               const nlohmann::ordered_json& fields) override {
        for (EventSink* sink : sinks_) sink->event(kind, step, phase, fields);
    }

 private:
    std::vector<EventSink*> sinks_;
};

}  // namespace toy
