#include "core/durable.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/error.h"

namespace toy {
namespace {

std::filesystem::path folder_of(const std::filesystem::path& path) {
    return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace

void flush_to_disk(const std::filesystem::path& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) failure("{}: cannot be flushed to the disk: {}", path.native(), std::strerror(errno));
    const bool failed = ::fsync(descriptor) != 0 && errno != EINVAL;
    const int cause = errno;
    ::close(descriptor);
    if (failed) failure("{}: cannot be flushed to the disk: {}", path.native(), std::strerror(cause));
}

void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to) {
    if (std::rename(from.c_str(), to.c_str()) != 0) {
        failure("{}: cannot be renamed to {}: {}", from.native(), to.filename().native(), std::strerror(errno));
    }
    flush_to_disk(folder_of(to));
    if (folder_of(from) != folder_of(to)) flush_to_disk(folder_of(from));
}

void link_atomically(const std::filesystem::path& target, const std::filesystem::path& link) {
    // Only the process that holds the folder writes links there, so its number is enough to make the name its own.
    const std::filesystem::path fresh = folder_of(link) / fmt::format(".toy-{}.link", ::getpid());
    ::unlink(fresh.c_str());
    if (::symlink(target.c_str(), fresh.c_str()) != 0) {
        failure("{}: cannot be made: {}", link.native(), std::strerror(errno));
    }
    if (std::rename(fresh.c_str(), link.c_str()) != 0) {
        const int cause = errno;
        ::unlink(fresh.c_str());
        failure("{}: cannot be replaced: {}", link.native(), std::strerror(cause));
    }
    flush_to_disk(folder_of(link));
}

}  // namespace toy
