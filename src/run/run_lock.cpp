#include "run/run_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace toy {
namespace {

struct flock whole_file(short type) {
    struct flock lock = {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    return lock;
}

// What the holder wrote into the file: its process number.
std::string holder(int descriptor) {
    char text[32] = {};
    const ssize_t count = ::pread(descriptor, text, sizeof text - 1, 0);
    const std::string_view digits(text, static_cast<size_t>(count > 0 ? count : 0));
    return std::string(digits.substr(0, digits.find_first_not_of("0123456789")));
}

}  // namespace

// Locks of the open file description (F_OFD_*): they hold between threads too, are not lost when something else in the
// process closes the file, and can be asked about without taking them.
RunLock::RunLock(const std::filesystem::path& run_folder) {
    const std::filesystem::path path = run_folder / "lock";
    descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) failure("{}: cannot be written: {}", path.native(), std::strerror(errno));
    struct flock lock = whole_file(F_WRLCK);
    if (::fcntl(descriptor_, F_OFD_SETLK, &lock) != 0) {
        const int cause = errno;
        const std::string process = holder(descriptor_);
        ::close(descriptor_);
        if (cause != EAGAIN && cause != EACCES)
            failure("{}: cannot be locked: {}", path.native(), std::strerror(cause));
        bad_input("{}: process {} is writing this run; wait for its end, or stop it", run_folder.native(), process);
    }
    const std::string number = fmt::format("{}\n", ::getpid());
    if (::ftruncate(descriptor_, 0) != 0 || ::pwrite(descriptor_, number.data(), number.size(), 0) < 0) {
        const int cause = errno;
        ::close(descriptor_);
        failure("{}: cannot be written: {}", path.native(), std::strerror(cause));
    }
}

RunLock::~RunLock() { ::close(descriptor_); }

bool RunLock::is_held(const std::filesystem::path& run_folder) {
    const int descriptor = ::open((run_folder / "lock").c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return false;
    struct flock lock = whole_file(F_RDLCK);
    const bool is_held = ::fcntl(descriptor, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    ::close(descriptor);
    return is_held;
}

}  // namespace toy
