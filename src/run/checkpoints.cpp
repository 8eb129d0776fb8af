#include "run/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/atomic_file.h"
#include "core/durable.h"
#include "core/error.h"
#include "core/sha256.h"
#include "io/quote.h"

namespace toy {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view k_checksums = "checksums.json", k_events_offset = "events.offset";
// Folders that are being written, deleted or replaced; none of them can be taken for a checkpoint.
constexpr std::string_view k_writing = ".writing-", k_removing = ".removing-", k_replaced = ".replaced-";

void write_text(const fs::path& path, std::string_view text) {
    AtomicFile file(path);
    file.write(text);
    file.commit();
}

std::string read_text(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(stream), {});
    if (!stream.is_open() || stream.bad()) bad_input("{}: cannot be read", path.native());
    return text;
}

template <class Number>
std::optional<Number> to_number(std::string_view digits) {
    Number number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool is_canonical = !digits.empty() && digits[0] != '-' && (digits[0] != '0' || digits.size() == 1);
    if (error != std::errc() || end != digits.data() + digits.size() || !is_canonical) return std::nullopt;
    return number;
}

// N of step_N.
std::optional<int64_t> step_of(const fs::path& name) {
    const std::string text = name.filename().native();
    return text.starts_with("step_") ? to_number<int64_t>(std::string_view(text).substr(5)) : std::nullopt;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
    std::vector<fs::path> entries;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) entries.push_back(entry.path());
    std::sort(entries.begin(), entries.end());
    return entries;
}

// A file, a folder with what is in it, or a link; what is absent is gone already.
void remove_quietly(const fs::path& path) {
    std::error_code ignored;
    fs::remove_all(path, ignored);
}

bool is_there(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(fs::symlink_status(path, ignored));
}

void make_folder(const fs::path& folder) {
    std::error_code error;
    fs::create_directory(folder, error);
    if (error) failure("{}: cannot be made: {}", folder.native(), error.message());
}

uint64_t read_events_offset(const fs::path& path) {
    const std::string text = read_text(path);
    const auto offset = to_number<uint64_t>(std::string_view(text).substr(0, text.find('\n')));
    if (!offset || text != fmt::format("{}\n", *offset)) bad_input("{}: is damaged", path.native());
    return *offset;
}

}  // namespace

std::vector<int64_t> checkpoint_steps(const fs::path& run_folder) {
    std::vector<int64_t> steps;
    for (const fs::path& entry : entries_of(run_folder / "state")) {
        if (const auto step = step_of(entry)) steps.push_back(*step);
    }
    std::sort(steps.begin(), steps.end());
    return steps;
}

Checkpoint verified_checkpoint(const fs::path& run_folder, int64_t step) {
    Checkpoint checkpoint{step, run_folder / "state" / fmt::format("step_{}", step), 0};
    const fs::path sums = checkpoint.folder / k_checksums;
    const Json recorded = Json::parse(read_text(sums), nullptr, false);
    const auto is_sum = [](const Json& sum) {
        return sum.is_object() && sum.contains("sha256") && sum["sha256"].is_string() && sum.contains("size") &&
               sum["size"].is_number_unsigned();
    };
    if (!recorded.is_object() || !std::all_of(recorded.begin(), recorded.end(), is_sum)) {
        bad_input("{}: is damaged", sums.native());
    }
    for (const auto& [file, sum] : recorded.items()) {
        const fs::path path = checkpoint.folder / file;
        if (fs::path(file).filename() != file) bad_input("{}: names {}, which is no file", sums.native(), quote(file));
        if (sum_of_file(path) != FileSum{sum["sha256"], sum["size"]}) {
            bad_input("{}: differs from its checksum", path.native());
        }
    }
    checkpoint.events_size = read_events_offset(checkpoint.folder / k_events_offset);
    return checkpoint;
}

Checkpoints::Checkpoints(fs::path run_folder, int keep, std::string weights)
    : run_(std::move(run_folder)),
      state_(run_ / "state"),
      links_(run_ / "weights"),
      weights_(std::move(weights)),
      keep_(std::max(keep, 1)) {
    make_folder(state_);
    make_folder(links_);
}

fs::path Checkpoints::folder_of(int64_t step) const { return state_ / fmt::format("step_{}", step); }

fs::path Checkpoints::weights_of(int64_t step) const { return folder_of(step) / weights_; }

void Checkpoints::write(int64_t step, uint64_t events_size, std::span<const CheckpointFile> files,
                        std::optional<int64_t> best) {
    const fs::path fresh = state_ / fmt::format("{}step_{}", k_writing, step);
    try {
        fill(fresh, events_size, files);
        put_in_place(fresh, step);
    } catch (const Error& error) {
        remove_quietly(fresh);
        const std::vector<int64_t> steps = checkpoint_steps(run_);
        failure("the checkpoint of step {} was not written ({}); {}", step, error.what(),
                steps.empty() ? "the run has none" : fmt::format("the last one is that of step {}", steps.back()));
    }
    link_latest(step);
    set_best(best);
    remove_old();
}

void Checkpoints::fill(const fs::path& folder, uint64_t events_size, std::span<const CheckpointFile> files) {
    remove_quietly(folder);
    make_folder(folder);
    Json sums = Json::object();
    for (const CheckpointFile& file : files) {
        const fs::path path = folder / file.name;
        file.write(path);
        flush_to_disk(path);
        const FileSum sum = sum_of_file(path);
        sums[file.name] = {{"sha256", sum.sha256}, {"size", sum.size}};
    }
    write_text(folder / k_events_offset, fmt::format("{}\n", events_size));
    write_text(folder / k_checksums, sums.dump(2) + "\n");
    flush_to_disk(folder);
}

void Checkpoints::put_in_place(const fs::path& fresh, int64_t step) {
    const fs::path target = folder_of(step);
    const fs::path replaced = state_ / fmt::format("{}step_{}", k_replaced, step);
    // A rename cannot replace a folder that holds something, so an older one of the same step steps aside; recover()
    // brings it back where a process dies before the next line but one.
    if (is_there(target)) rename_durably(target, replaced);
    rename_durably(fresh, target);
    remove_quietly(replaced);
}

void Checkpoints::link_latest(int64_t step) {
    if (!is_there(weights_of(step))) return;
    const std::string name = fmt::format("step_{}.gguf", step);
    link_atomically(fs::path("..") / "state" / folder_of(step).filename() / weights_, links_ / name);
    link_atomically(name, links_ / "latest");
}

void Checkpoints::set_best(std::optional<int64_t> best) {
    best_ = best;
    if (best_ && is_there(weights_of(*best_))) {
        link_atomically(fmt::format("step_{}.gguf", *best_), links_ / "best");
    } else {
        remove_quietly(links_ / "best");
    }
}

void Checkpoints::remove(int64_t step) {
    const fs::path removing = state_ / fmt::format("{}step_{}", k_removing, step);
    remove_quietly(removing);
    rename_durably(folder_of(step), removing);  // from here on nobody takes it for a checkpoint
    remove_quietly(links_ / fmt::format("step_{}.gguf", step));
    remove_quietly(removing);
}

void Checkpoints::remove_old() {
    std::vector<int64_t> steps = checkpoint_steps(run_);
    steps.resize(steps.size() - std::min(steps.size(), static_cast<size_t>(keep_)));
    for (int64_t step : steps) {
        if (step != best_) remove(step);
    }
}

void Checkpoints::remove_leftovers() {
    for (const fs::path& folder : {run_, state_, links_}) {
        for (const fs::path& entry : entries_of(folder)) {
            const std::string name = entry.filename().native();
            const fs::path original = folder / name.substr(std::min(name.size(), k_replaced.size()));
            if (name.starts_with(k_replaced) && !is_there(original)) rename_durably(entry, original);
            for (std::string_view prefix : {k_writing, k_removing, k_replaced, std::string_view(".toy-")}) {
                if (name.starts_with(prefix)) remove_quietly(entry);
            }
        }
    }
}

void Checkpoints::put_aside(int64_t step, const std::string& why, std::vector<std::string>& notes) {
    const fs::path aside = state_ / fmt::format("damaged_step_{}", step);
    notes.push_back(
        fmt::format("the checkpoint of step {} is passed over and put aside as {} ({})", step, aside.native(), why));
    remove_quietly(aside);
    rename_durably(folder_of(step), aside);
}

std::optional<Checkpoint> Checkpoints::recover(std::vector<std::string>& notes) {
    remove_leftovers();
    std::vector<int64_t> steps = checkpoint_steps(run_);
    std::optional<Checkpoint> newest;
    for (; !steps.empty() && !newest; steps.pop_back()) {
        try {
            newest = verified_checkpoint(run_, steps.back());
        } catch (const Error& error) {
            put_aside(steps.back(), error.what(), notes);
        }
    }
    for (const fs::path& entry : entries_of(links_)) {
        std::error_code ignored;
        if (!fs::exists(entry, ignored)) remove_quietly(entry);  // a link to what is gone
    }
    if (newest) link_latest(newest->step);  // a process may have died between a checkpoint and its links
    return newest;
}

}  // namespace toy
