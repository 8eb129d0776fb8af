#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace toy {

/// A file mapped read-only into memory. While any is mapped, a SIGBUS inside a mapped region (the file shrank, or its
/// disk failed) ends the process with one sentence and exit code 1 instead of a crash.
class MappedFile {
 public:
    /// Throws Error{bad_input} where the path is missing or no regular file, Error{failure} where mapping fails.
    static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    const std::filesystem::path& path() const { return path_; }
    /// The whole file; the first byte lies on a page boundary. Empty for an empty file.
    std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
    MappedFile() = default;
    std::filesystem::path path_;
    const std::byte* data_ = nullptr;
    size_t size_ = 0;
};

}  // namespace toy
