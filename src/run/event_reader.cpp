#include "run/event_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "run/event_schema.h"

namespace toy {
namespace {

using Json = nlohmann::ordered_json;
constexpr size_t k_piece = size_t{1} << 16;
// A tap's Gram matrix over 1,024 tokens takes 20 MB. What goes on for longer without a line break is no event log.
constexpr size_t k_longest_line = size_t{64} << 20;

}  // namespace

EventReader::EventReader(const std::filesystem::path& path) : path_(path) {
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) bad_input("{}: cannot be opened: {}", path.native(), std::strerror(errno));
}

EventReader::~EventReader() { ::close(descriptor_); }

// Reads on behind what is pending; false at the end of the file.
bool EventReader::read_more() {
    pending_.erase(0, begin_);
    searched_ -= begin_;
    begin_ = 0;
    if (pending_.size() > k_longest_line) {
        if (!is_skipping_) ++bad_lines_;
        is_skipping_ = true;
    }
    if (is_skipping_) {
        offset_ += pending_.size();
        pending_.clear();
        searched_ = 0;
    }
    const size_t before = pending_.size();
    pending_.resize(before + k_piece);
    ssize_t count = 0;
    do {
        count = ::read(descriptor_, pending_.data() + before, k_piece);
    } while (count < 0 && errno == EINTR);
    const int cause = errno;
    pending_.resize(before + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0) bad_input("{}: cannot be read: {}", path_.native(), std::strerror(cause));
    return count > 0;
}

std::optional<std::string> EventReader::next_line() {
    for (;;) {
        const size_t end = pending_.find('\n', searched_);
        if (end == std::string::npos) {
            searched_ = pending_.size();
            if (!read_more()) return std::nullopt;
            continue;
        }
        std::string line = pending_.substr(begin_, end - begin_);
        begin_ = searched_ = end + 1;
        offset_ += line.size() + 1;
        if (!std::exchange(is_skipping_, false)) return line;
    }
}

std::optional<Event> EventReader::parse(const std::string& line) {
    Json json = Json::parse(line, nullptr, false);
    const auto is = [&](const char* key, auto test) { return json.contains(key) && (json[key].*test)(); };
    if (!json.is_object() || !is("kind", &Json::is_string) || !is("t", &Json::is_number)) {
        ++bad_lines_;
        return std::nullopt;
    }
    Event event;
    event.kind = json["kind"];
    event.t = json["t"];
    if (json.contains("phase")) {
        const auto phase = json["phase"].is_string() ? find_phase(json["phase"].get<std::string>()) : std::nullopt;
        if (!phase) {
            ++bad_lines_;
            return std::nullopt;
        }
        event.phase = *phase;
    }
    const EventKind* kind = find_event_kind(event.kind, event.phase);
    if (kind == nullptr) {
        ++unknown_kinds_;
        return std::nullopt;
    }
    if (!fault_of(*kind, json, false).empty()) {
        ++bad_lines_;
        return std::nullopt;
    }
    if (json.contains("step")) event.step = json["step"].get<int64_t>();
    restore_numbers(*kind, json);
    event.fields = std::move(json);
    return event;
}

std::optional<Event> EventReader::next() {
    while (const auto line = next_line()) {
        if (auto event = parse(*line)) return event;
    }
    return std::nullopt;
}

}  // namespace toy
