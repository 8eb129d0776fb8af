#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "core/event_sink.h"
#include "core/progress.h"
#include "run/smoother.h"

namespace toy {

/// Shows how a training goes, from the events of its run: step, loss, smoothed loss, validation loss, learning rate,
/// gradient norm, tokens per second, time left. On a terminal one line that is redrawn, elsewhere a plain line every
/// few seconds. Notes and samples appear above it.
class TrainingProgress : public EventSink {
 public:
    explicit TrainingProgress(int64_t total_steps, Progress::Screen screen = Progress::standard_error());
    /// Leaves the last line standing.
    ~TrainingProgress() override;

    void event(std::string_view kind, std::optional<int64_t> step, Phase phase,
               const nlohmann::ordered_json& fields) override;
    /// Wipes the line, so that something else can be printed.
    void clear();

 private:
    void take_step(int64_t step, const nlohmann::ordered_json& fields);
    void show(bool is_last);
    std::string line() const;
    void say(const std::string& text);

    int64_t total_;
    Progress::Screen screen_;
    int64_t step_ = 0;
    int64_t first_step_ = 0;  // of this session
    bool has_step_ = false;
    double begin_ = 0;  // when the step before it ended
    double last_shown_ = -1e9;
    bool is_visible_ = false;
    bool is_new_ = false;  // whether the line says more than what was shown
    double loss_ = 0, lr_ = 0;
    std::optional<double> grad_norm_, validation_;
    Smoother smooth_, tokens_, wall_us_;
};

}  // namespace toy
