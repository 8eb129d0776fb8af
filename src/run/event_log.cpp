#include "run/event_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "run/event_schema.h"

namespace toy {

using Json = nlohmann::ordered_json;

double EventLog::steady_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

EventLog::EventLog(std::filesystem::path path, uint64_t size, double last_t, Clock clock)
    : path_(std::move(path)), size_(size), last_t_(last_t), clock_(std::move(clock)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) failure("{}: cannot be written: {}", path_.native(), std::strerror(errno));
    const auto length = static_cast<off_t>(size_);
    if (::ftruncate(descriptor_, length) != 0 || ::lseek(descriptor_, length, SEEK_SET) != length) {
        const int cause = errno;
        ::close(descriptor_);
        failure("{}: cannot be cut to {} bytes: {}", path_.native(), size_, std::strerror(cause));
    }
    begin_ = clock_() - last_t_;
}

EventLog::~EventLog() { ::close(descriptor_); }

double EventLog::seconds() const { return clock_() - begin_; }

void EventLog::event(std::string_view kind, std::optional<int64_t> step, Phase phase, const Json& fields) {
    const EventKind* known = find_event_kind(kind, phase);
    if (known == nullptr) {
        failure("a fault of toy: there is no event of kind '{}' in phase '{}'", kind, name(phase));
    }
    const std::lock_guard lock(mutex_);
    last_t_ = std::max(last_t_, std::round(seconds() * 1e6) / 1e6);
    Json line = {{"kind", kind}, {"t", last_t_}};
    if (step) line["step"] = *step;
    if (phase != Phase::none) line["phase"] = name(phase);
    if (fields.is_object()) {
        for (const auto& [key, value] : fields.items()) {
            if (line.contains(key)) failure("a fault of toy: {} event: {} is no field of its own", kind, key);
            line[key] = value;
        }
    }
    const std::string fault = fault_of(*known, line, true);
    if (!fault.empty()) failure("a fault of toy: {} event: {}", kind, fault);
    append(to_json_line(line) + "\n");
}

void EventLog::append(std::string_view line) {
    std::string_view rest = line;
    while (!rest.empty()) {
        const ssize_t count = ::write(descriptor_, rest.data(), rest.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) {
            const int cause = errno;
            // What a full disk took of this line goes, so that the file ends with a whole one.
            if (::ftruncate(descriptor_, static_cast<off_t>(size_)) == 0) {
                ::lseek(descriptor_, static_cast<off_t>(size_), SEEK_SET);
            }
            failure("{}: cannot be written: {}", path_.native(), std::strerror(cause));
        }
        rest.remove_prefix(static_cast<size_t>(count));
    }
    size_ += line.size();
}

uint64_t EventLog::flush() {
    const std::lock_guard lock(mutex_);
    struct stat status = {};
    if (::fsync(descriptor_) != 0 || ::fstat(descriptor_, &status) != 0) {
        failure("{}: cannot be flushed to the disk: {}", path_.native(), std::strerror(errno));
    }
    if (status.st_nlink == 0) failure("{}: was deleted while the run was writing it", path_.native());
    return size_;
}

}  // namespace toy
