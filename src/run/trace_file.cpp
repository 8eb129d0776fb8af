#include "run/trace_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/log.h"

namespace toy {
namespace {

constexpr size_t k_gathered_bytes = size_t{1} << 16;
constexpr std::string_view k_begin = "[", k_end = "\n]\n";

std::string as_json(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

double microseconds(TraceSink::Clock::duration duration) {
    return std::chrono::duration<double, std::micro>(duration).count();
}

}  // namespace

TraceFile::TraceFile(const std::filesystem::path& path)
    : path_(path), begin_(Clock::now()), end_(static_cast<int64_t>(k_begin.size())) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor_ < 0) failure("{}: cannot be written: {}", path_.native(), std::strerror(errno));
    const std::string text = std::string(k_begin) + std::string(k_end);
    if (::pwrite(descriptor_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
        const int cause = errno;
        ::close(descriptor_);
        failure("{}: cannot be written: {}", path_.native(), std::strerror(cause));
    }
}

TraceFile::~TraceFile() {
    try {
        flush();
    } catch (const Error& error) {
        logging::warn("{}", error.what());
    }
    ::close(descriptor_);
}

void TraceFile::span(std::string_view name, std::string_view category, Clock::time_point begin, Clock::time_point end) {
    const std::string head =
        fmt::format("{{\"name\":{},\"cat\":{},\"ph\":\"X\",\"ts\":{:.3f},\"dur\":{:.3f}", as_json(name),
                    as_json(category), microseconds(begin - begin_), microseconds(end - begin));
    const std::lock_guard lock(mutex_);
    const int thread =
        threads_.try_emplace(std::this_thread::get_id(), static_cast<int>(threads_.size()) + 1).first->second;
    gathered_ += fmt::format(",\n{},\"pid\":{},\"tid\":{}}}", head, ::getpid(), thread);
    if (gathered_.size() >= k_gathered_bytes) write_gathered();
}

void TraceFile::flush() {
    const std::lock_guard lock(mutex_);
    write_gathered();
}

void TraceFile::write_gathered() {
    if (gathered_.empty()) return;
    if (is_empty_) gathered_.erase(0, 1);  // no comma before the first
    const std::string text = gathered_ + std::string(k_end);
    const ssize_t count = ::pwrite(descriptor_, text.data(), text.size(), end_);
    if (count != static_cast<ssize_t>(text.size())) {
        const int cause = count < 0 ? errno : ENOSPC;
        // Back to the last state that is whole; what gathered is dropped, or it would grow without end.
        if (::ftruncate(descriptor_, end_) == 0) {
            [[maybe_unused]] const ssize_t closed = ::pwrite(descriptor_, k_end.data(), k_end.size(), end_);
        }
        gathered_.clear();
        failure("{}: cannot be written: {}", path_.native(), std::strerror(cause));
    }
    end_ += static_cast<int64_t>(gathered_.size());
    is_empty_ = false;
    gathered_.clear();
}

}  // namespace toy
