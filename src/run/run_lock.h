#pragma once
#include <filesystem>

namespace toy {

/// Held while a process writes a run, so that a second one cannot. The system drops it when the process ends, however
/// it ends; the file `lock` stays and means nothing by itself.
class RunLock {
 public:
    /// Throws Error{bad_input} where another process holds it (with its number), Error{failure} where the file cannot
    /// be written.
    explicit RunLock(const std::filesystem::path& run_folder);
    ~RunLock();
    RunLock(const RunLock&) = delete;
    RunLock& operator=(const RunLock&) = delete;

    /// Whether a process holds the run's lock now. Looking takes nothing away from a process that wants it.
    static bool is_held(const std::filesystem::path& run_folder);

 private:
    int descriptor_ = -1;
};

}  // namespace toy
