#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace toy {

/// One file of a checkpoint. `write` makes it at the path that it is given, in any way, and throws where it cannot; it
/// may leave nothing there that depends on the clock, the machine or the path.
struct CheckpointFile {
    std::string name;
    std::function<void(const std::filesystem::path& path)> write;
};

/// A complete checkpoint on disk.
struct Checkpoint {
    int64_t step = 0;
    std::filesystem::path folder;
    uint64_t events_size = 0;  ///< bytes of events.jsonl that were written before it
};

/// The checkpoints of one run: `state/step_N/`, each with its files, `checksums.json` (SHA-256 and size of each file)
/// and `events.offset`. A folder appears under that name only when all of it is on the disk, and gets another name
/// before anything of it is deleted, so that a process that dies at any moment leaves no half checkpoint. `weights/`
/// holds links to the weights of each: `step_N.gguf`, `latest`, and `best`.
/// Only the process that holds the run's lock may make one of these objects.
class Checkpoints {
 public:
    /// The last `keep` checkpoints stay (at least 1), and the best one whatever its age. `weights` is the name of the
    /// file that the links point to.
    Checkpoints(std::filesystem::path run_folder, int keep, std::string weights = "weights.gguf");

    /// Writes the checkpoint of a step; another of the same step is replaced. `best` is the step of the best checkpoint
    /// so far, which may be this one; it is kept and linked. Then older ones go. Throws Error{failure} with one
    /// sentence where the disk refuses; what was there before is still there then.
    void write(int64_t step, uint64_t events_size, std::span<const CheckpointFile> files,
               std::optional<int64_t> best = std::nullopt);

    /// Makes ready to go on from what a process left that may have died at any moment: removes temporary folders,
    /// finds the newest complete checkpoint (its files are read and compared with their checksums), puts damaged newer
    /// ones aside as `state/damaged_step_N`, and makes the links right. Nothing where no checkpoint is complete. Every
    /// step over something damaged adds a sentence to `notes`.
    std::optional<Checkpoint> recover(std::vector<std::string>& notes);

    /// After `recover`: makes `weights/best` point to that step, or removes it.
    void set_best(std::optional<int64_t> best);

 private:
    std::filesystem::path folder_of(int64_t step) const;
    std::filesystem::path weights_of(int64_t step) const;
    void fill(const std::filesystem::path& folder, uint64_t events_size, std::span<const CheckpointFile> files);
    void put_in_place(const std::filesystem::path& fresh, int64_t step);
    void remove(int64_t step);
    void remove_old();
    void link_latest(int64_t step);
    void remove_leftovers();
    void put_aside(int64_t step, const std::string& why, std::vector<std::string>& notes);

    std::filesystem::path run_;
    std::filesystem::path state_;
    std::filesystem::path links_;
    std::string weights_;
    int keep_;
    std::optional<int64_t> best_;
};

/// The steps that have a folder under a checkpoint's name, in ascending order.
std::vector<int64_t> checkpoint_steps(const std::filesystem::path& run_folder);

/// Reads the checkpoint of a step and compares every file with its checksum. Throws Error{bad_input} that names what
/// is damaged.
Checkpoint verified_checkpoint(const std::filesystem::path& run_folder, int64_t step);

}  // namespace toy
