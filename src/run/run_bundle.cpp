#include "run/run_bundle.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "core/error.h"
#include "core/log.h"
#include "run/event_reader.h"
#include "run/event_schema.h"
#include "run/provenance.h"

namespace toy {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// The length that cuts a file of lines to at most `size` bytes of whole lines.
uint64_t whole_lines(const fs::path& path, uint64_t size) {
    std::ifstream stream(path, std::ios::binary);
    for (; size > 0; --size) {
        stream.seekg(static_cast<std::streamoff>(size) - 1);
        if (stream.get() == '\n') return size;
        stream.clear();
    }
    return 0;
}

}  // namespace

std::string_view name(RunEnd::Reason reason) {
    switch (reason) {
        case RunEnd::Reason::completed: return "completed";
        case RunEnd::Reason::interrupted: return "interrupted";
        case RunEnd::Reason::aborted: return "aborted";
        case RunEnd::Reason::errored: return "errored";
    }
    return "";
}

std::unique_ptr<RunBundle> RunBundle::create(const NewRun& place, const RunRecord& record) {
    Json facts = make_run_json(record);  // before the folder: a file that is missing leaves nothing behind
    const fs::path folder = make_run_folder(place);
    auto lock = std::make_unique<RunLock>(folder);
    if (fs::exists(folder / "run.json")) bad_input("{}: another process has begun a run here", folder.native());
    facts["run_id"] = run_id_of(folder);
    std::unique_ptr<RunBundle> bundle(new RunBundle(folder, std::move(lock), std::move(facts)));
    write_run_json(folder, bundle->record_);
    bundle->events_ = std::make_unique<EventLog>(folder / "events.jsonl");
    return bundle;
}

std::unique_ptr<RunBundle> RunBundle::resume(const fs::path& folder, const std::vector<std::string>& argv,
                                             const Json& changes) {
    Json record = read_run_json(folder);
    auto lock = std::make_unique<RunLock>(folder);
    for (const auto& [kind, files] : record["files"].items()) check_files(files);
    std::unique_ptr<RunBundle> bundle(new RunBundle(folder, std::move(lock), std::move(record)));
    bundle->go_on(argv, changes);
    return bundle;
}

RunBundle::RunBundle(fs::path folder, std::unique_ptr<RunLock> lock, Json record)
    : folder_(std::move(folder)),
      id_(run_id_of(folder_)),
      lock_(std::move(lock)),
      record_(std::move(record)),
      checkpoints_(folder_, record_["checkpoints"]["keep"], record_["checkpoints"]["weights"]) {
    losses_.run_id = id_;
}

RunBundle::~RunBundle() {
    if (is_started_ && !is_ended_) end_with_error("", 1);
}

void RunBundle::go_on(const std::vector<std::string>& argv, const Json& changes) {
    checkpoint_ = checkpoints_.recover(notes_);
    cut_events(checkpoint_ ? checkpoint_->events_size : 0);
    if (record_["toolchain"] != toolchain_facts()) {
        notes_.push_back(
            "this toy, its ggml or their build is not the one that began the run: the bytes of what follows may "
            "differ");
    }
    // Who resumed, and when, is no event: the events of a resumed run are those of one that never stopped.
    record_["resumes"].push_back({{"at", iso_time()},
                                  {"argv", argv},
                                  {"from_step", checkpoint_ ? checkpoint_->step : 0},
                                  {"toolchain", toolchain_facts()},
                                  {"changes", changes}});
    write_run_json(folder_, record_);
}

void RunBundle::cut_events(uint64_t size) {
    const fs::path path = folder_ / "events.jsonl";
    std::error_code error;
    const uint64_t there = fs::exists(path, error) ? fs::file_size(path, error) : 0;
    const uint64_t kept = whole_lines(path, std::min(size, there));
    if (kept != size) {
        notes_.push_back(
            fmt::format("{}: holds only {} of the {} bytes that the checkpoint counts on", path.native(), kept, size));
    }
    if (there > kept) fs::resize_file(path, kept, error);
    if (error) failure("{}: cannot be cut to {} bytes: {}", path.native(), kept, error.message());
    double last_t = 0;
    if (kept > 0) {
        EventReader reader(path);
        while (const auto event = reader.next()) {
            last_t = std::max(last_t, event->t);
            is_started_ = is_started_ || event->kind == "run_start";
            follow(event->kind, event->step, event->phase, event->fields);
        }
    }
    events_ = std::make_unique<EventLog>(path, kept, last_t);
}

Json RunBundle::config() const {
    Json config = record_["config"];
    for (const Json& resume : record_["resumes"]) config.update(resume["changes"]);
    return config;
}

void RunBundle::start(const RunStart& start) {
    Json fields = {{"schema", k_event_schema},
                   {"started_at", iso_time()},
                   {"run_id", id_},
                   {"host", record_["host"]},
                   {"backend", start.backend}};
    if (record_["git"].is_object()) fields["git"] = record_["git"];
    fields["model"] = start.model;
    fields["config"] = start.config;
    if (!start.compare_to.empty()) fields["compare_to"] = start.compare_to;
    event("run_start", std::nullopt, start.phase, fields);
    is_started_ = true;
}

void RunBundle::event(std::string_view kind, std::optional<int64_t> step, Phase phase, const Json& fields) {
    events_->event(kind, step, phase, fields);
    follow(kind, step, phase, fields);
}

// What the end of the run and its plot have to know of the events before.
void RunBundle::follow(std::string_view kind, std::optional<int64_t> step, Phase phase, const Json& fields) {
    if (!step) return;
    const auto x = static_cast<double>(*step);
    if (kind == "step" && phase == Phase::train) losses_.train.push_back({x, fields["loss"].get<double>()});
    if (kind != "eval" || phase == Phase::serve) return;
    losses_.evaluations[fields["name"].get<std::string>()].push_back({x, fields["loss"].get<double>()});
}

void RunBundle::write_checkpoint(int64_t step, std::span<const CheckpointFile> files, std::optional<int64_t> best) {
    checkpoints_.write(step, events_->flush(), files, best);
    plot();
}

void RunBundle::end(const RunEnd& end) {
    is_ended_ = true;
    Json fields = {{"ended_at", iso_time()}, {"reason", name(end.reason)}};
    if (!end.error.empty()) fields["error"] = end.error;
    fields["final_step"] = losses_.train.empty() ? 0 : std::llround(losses_.train.back().x);
    if (!losses_.train.empty()) fields["final_loss"] = losses_.train.back().y;
    if (!end.quality_gate.is_null()) fields["quality_gate"] = end.quality_gate;
    fields["exit_code"] = end.exit_code;
    event("run_end", std::nullopt, Phase::none, fields);
    events_->flush();
    plot();
}

// The error itself is what the user has to hear of; that the disk refuses the last line too adds nothing to it.
void RunBundle::end_with_error(const std::string& text, int exit_code) {
    const RunEnd::Reason reason = text.empty() ? RunEnd::Reason::aborted : RunEnd::Reason::errored;
    try {
        end({.reason = reason, .exit_code = exit_code, .error = text});
    } catch (const std::exception&) {
        is_ended_ = true;
    }
}

void RunBundle::run(const std::function<RunEnd()>& work) {
    try {
        end(work());
    } catch (const Error& error) {
        if (!is_ended_) end_with_error(error.what(), error.kind() == Error::Kind::bad_input ? 2 : 1);
        throw;
    } catch (const std::bad_alloc&) {
        if (!is_ended_) end_with_error("there is not enough memory", 1);
        throw;
    } catch (const std::exception& error) {
        if (!is_ended_) end_with_error(error.what(), 1);
        throw;
    }
}

// A picture beside the numbers: where it cannot be drawn, the run goes on.
void RunBundle::plot() {
    try {
        write_loss_plot(folder_ / "loss.svg", losses_);
    } catch (const Error& error) {
        logging::warn("{}", error.what());
    }
}

}  // namespace toy
