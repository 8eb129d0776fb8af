#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace toy::test {

/// What a fake training does: a few numbers that change from step to step, events, and a checkpoint every few steps
/// with all that it needs to go on.
struct FakeTraining {
    int64_t steps = 24;
    int64_t checkpoint_every = 4;
    int64_t evaluate_every = 3;
    int keep = 2;
    size_t weights = 500;      ///< numbers
    int pause_us = 0;          ///< after each step
    std::string stop_at = "";  ///< "STEP": asks for a stop as a signal would
};

/// Trains in `folder` to the end: anew where it holds no run.json, else by resuming.
void train(const std::filesystem::path& folder, const FakeTraining& training = {});

/// Runs the action in a child process and returns how it ended: its exit code (1 for an exception), or −signal.
int in_child(const std::function<void()>& action);

/// All that a run left which must be the same however often it was killed: every file below state/ but events.offset,
/// the links' targets, and events.jsonl without its times.
std::map<std::string, std::string> lasting_files(const std::filesystem::path& folder);

}  // namespace toy::test
