#include "core/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace toy {
namespace {

constexpr size_t k_buffer_bytes = size_t{1} << 18;  // small writes gather up to this before a system call

std::filesystem::path folder_of(const std::filesystem::path& target) {
    return target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
}

/// A fresh name beside the target. It does not contain the target's name, which may already be as long as names can be.
std::filesystem::path temporary_beside(const std::filesystem::path& target) {
    static std::atomic<unsigned> counter{0};
    return folder_of(target) / fmt::format(".toy-{}-{}.tmp", ::getpid(), counter++);
}

/// A rename over a folder fails late and over a device (`/dev/null`, `/dev/stdout`) would replace it.
void check_target(const std::filesystem::path& target) {
    if (!target.has_filename()) bad_input("{}: is not a file name to write to", target.native());
    std::error_code error;
    const auto status = std::filesystem::status(target, error);
    if (std::filesystem::is_directory(status)) bad_input("{}: is a folder; name a file to write", target.native());
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
        bad_input("{}: is not a regular file, so it cannot be replaced; name another", target.native());
    }
    const std::filesystem::path folder = folder_of(target);
    if (!std::filesystem::is_directory(folder, error)) {
        bad_input("{}: cannot be written: the folder {} does not exist", target.native(), folder.native());
    }
}

/// Makes the rename itself durable. Some file systems cannot flush a folder and say EINVAL; there is no more to do
/// there.
void sync_folder(const std::filesystem::path& target) {
    const int folder = ::open(folder_of(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    const bool failed = ::fsync(folder) != 0 && errno != EINVAL;
    const int cause = errno;
    ::close(folder);
    if (failed) failure("{}: its folder cannot be flushed to the disk: {}", target.native(), std::strerror(cause));
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path target) : target_(std::move(target)) {
    check_target(target_);
    do {
        temporary_ = temporary_beside(target_);  // taken only by the remains of a killed process with our number
        descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (descriptor_ < 0 && errno == EEXIST);
    if (descriptor_ < 0) failure("{}: cannot be written: {}", target_.native(), std::strerror(errno));
    buffer_.reserve(k_buffer_bytes);
}

AtomicFile::~AtomicFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
    size_ += bytes.size();
    if (buffer_.size() + bytes.size() > k_buffer_bytes) flush();
    if (bytes.size() >= k_buffer_bytes) {
        write_through(bytes);
    } else {
        buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    }
}

void AtomicFile::flush() {
    write_through(buffer_);
    buffer_.clear();
}

void AtomicFile::write_through(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) failure("{}: cannot be written: {}; nothing was changed", target_.native(), std::strerror(errno));
        bytes = bytes.subspan(static_cast<size_t>(done));
    }
}

void AtomicFile::commit() {
    flush();
    if (::fsync(descriptor_) != 0) {
        failure("{}: cannot be flushed to the disk: {}; nothing was changed", target_.native(), std::strerror(errno));
    }
    if (::close(std::exchange(descriptor_, -1)) != 0) {
        failure("{}: cannot be written: {}; nothing was changed", target_.native(), std::strerror(errno));
    }
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
        failure("{}: cannot be replaced: {}; nothing was changed", target_.native(), std::strerror(errno));
    }
    temporary_.clear();
    sync_folder(target_);
}

}  // namespace toy
