#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/event_sink.h"
#include "run/checkpoints.h"
#include "run/event_log.h"
#include "run/loss_plot.h"
#include "run/run_folder.h"
#include "run/run_lock.h"
#include "run/run_record.h"

namespace toy {

/// What run_start tells; fields as in docs/runs.md.
struct RunStart {
    Phase phase = Phase::train;
    nlohmann::ordered_json backend = {}, model = {}, config = {};
    std::string compare_to = {};
};

/// How a run ended.
struct RunEnd {
    enum class Reason { completed, interrupted, aborted, errored };
    Reason reason = Reason::completed;
    int exit_code = 0;
    std::string error = {};
    nlohmann::ordered_json quality_gate = nullptr;
};
std::string_view name(RunEnd::Reason reason);

/// The folder of one run while it is being written: record, events, checkpoints, plot. One process at a time has it.
class RunBundle : public EventSink {
 public:
    /// A new run. Throws Error where a file to be recorded cannot be read, and as make_run_folder does.
    static std::unique_ptr<RunBundle> create(const NewRun& place, const RunRecord& record);

    /// Goes on with a run: from its newest complete checkpoint, with events.jsonl cut back to where that was written,
    /// or from step 0 with no events where there is none. `changes` (an object) are laid over the configuration from
    /// now on. Throws Error{bad_input} where the folder holds no run, where another process is writing it, and where a
    /// file that it was trained on has changed or is gone.
    static std::unique_ptr<RunBundle> resume(const std::filesystem::path& folder, const std::vector<std::string>& argv,
                                             const nlohmann::ordered_json& changes = nlohmann::ordered_json::object());

    /// Writes run_end (reason aborted) where nobody did.
    ~RunBundle() override;

    const std::filesystem::path& folder() const { return folder_; }
    const std::string& id() const { return id_; }
    /// The whole run.json.
    const nlohmann::ordered_json& record() const { return record_; }
    /// The recorded configuration with the changes of every resume.
    nlohmann::ordered_json config() const;
    /// Where to go on; nothing for a run that begins at step 0.
    const std::optional<Checkpoint>& checkpoint() const { return checkpoint_; }
    /// What `resume` met and a user should know.
    const std::vector<std::string>& notes() const { return notes_; }
    /// Whether run_start is still to be written: a new run, or one resumed from step 0.
    bool is_fresh() const { return !is_started_; }

    /// Writes run_start. The first event.
    void start(const RunStart& start);
    void event(std::string_view kind, std::optional<int64_t> step, Phase phase,
               const nlohmann::ordered_json& fields) override;
    /// Writes the checkpoint of a step (Checkpoints::write), then loss.svg.
    void write_checkpoint(int64_t step, std::span<const CheckpointFile> files,
                          std::optional<int64_t> best = std::nullopt);
    /// After a resume: the step of the best checkpoint, as the trainer's own state tells it.
    void set_best(std::optional<int64_t> best) { checkpoints_.set_best(best); }
    /// Writes run_end with the last step's number and loss, then loss.svg.
    void end(const RunEnd& end);
    /// Runs `work` and writes run_end on every way out of it: as it returns, or `errored` with the text of what it
    /// throws, which is then thrown on.
    void run(const std::function<RunEnd()>& work);

 private:
    RunBundle(std::filesystem::path folder, std::unique_ptr<RunLock> lock, nlohmann::ordered_json record);
    void end_with_error(const std::string& text, int exit_code);
    void go_on(const std::vector<std::string>& argv, const nlohmann::ordered_json& changes);
    void cut_events(uint64_t size);
    void follow(std::string_view kind, std::optional<int64_t> step, Phase phase, const nlohmann::ordered_json& fields);
    void plot();

    std::filesystem::path folder_;
    std::string id_;
    std::unique_ptr<RunLock> lock_;
    nlohmann::ordered_json record_;
    Checkpoints checkpoints_;
    std::optional<Checkpoint> checkpoint_;
    std::unique_ptr<EventLog> events_;
    std::vector<std::string> notes_;
    bool is_started_ = false;
    bool is_ended_ = false;
    LossCurves losses_;
};

}  // namespace toy
