#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace toy {

/// A file that appears whole or not at all: bytes go to a temporary name in the target's folder, and `commit` renames
/// it over the target. Without `commit` (an error, an early return) the target stays as it was and nothing is left.
/// Errors: Error{bad_input} where the target cannot be a file (its folder is missing, it is a folder or a device),
/// Error{failure} where the disk refuses (full, read-only, broken).
class AtomicFile {
 public:
    explicit AtomicFile(std::filesystem::path target);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    void write(std::span<const std::byte> bytes);
    void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
    /// Bytes written so far.
    uint64_t size() const { return size_; }
    /// Flushes to the disk (fsync of the file, rename, fsync of the folder). Nothing may be written afterwards.
    void commit();

 private:
    void flush();
    void write_through(std::span<const std::byte> bytes);
    std::filesystem::path target_;
    std::filesystem::path temporary_;
    int descriptor_ = -1;
    uint64_t size_ = 0;
    std::vector<std::byte> buffer_;
};

}  // namespace toy
