#include "run/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <ctime>

#include "core/atomic_file.h"
#include "core/error.h"

namespace toy {
namespace {

constexpr std::array<uint32_t, 256> make_crc_table() {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82F63B78u : 0u);
        table[i] = value;
    }
    return table;
}
constexpr std::array<uint32_t, 256> k_crc_table = make_crc_table();

template <class Number>
std::string little_endian(Number number) {
    std::string bytes;
    for (size_t i = 0; i < sizeof(Number); ++i) bytes += static_cast<char>((number >> (8 * i)) & 0xFF);
    return bytes;
}

// The parts of protobuf's wire format that an Event needs (protobuf.dev, "Encoding").
std::string varint(uint64_t number) {
    std::string bytes;
    for (; number >= 0x80; number >>= 7) bytes += static_cast<char>((number & 0x7F) | 0x80);
    return bytes + static_cast<char>(number);
}
std::string key(uint64_t field, uint64_t wire_type) { return varint(field << 3 | wire_type); }
std::string bytes_field(uint64_t field, std::string_view bytes) {
    return key(field, 2) + varint(bytes.size()) + std::string(bytes);
}
std::string double_field(uint64_t field, double number) {
    return key(field, 1) + little_endian(std::bit_cast<uint64_t>(number));
}
std::string float_field(uint64_t field, float number) {
    return key(field, 5) + little_endian(std::bit_cast<uint32_t>(number));
}
std::string whole_field(uint64_t field, int64_t number) {
    return key(field, 0) + varint(static_cast<uint64_t>(number));
}

// Event{1: wall_time, 2: step, 3: file_version, 5: Summary{1: Value{1: tag, 2: simple_value}}}
// (tensorflow/core/util/event.proto, tensorflow/core/framework/summary.proto).
std::string version_event(double wall_time) { return double_field(1, wall_time) + bytes_field(3, "brain.Event:2"); }
std::string scalar_event(double wall_time, int64_t step, std::string_view tag, double value) {
    const std::string one = bytes_field(1, tag) + float_field(2, static_cast<float>(value));
    return double_field(1, wall_time) + whole_field(2, step) + bytes_field(5, bytes_field(1, one));
}

// Seconds since 1970 of "2026-12-01T03:04:05Z"; 0 where the text is none.
int64_t unix_time(const std::string& iso) {
    std::tm time = {};
    const char* end = ::strptime(iso.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
    return end == nullptr ? 0 : static_cast<int64_t>(::timegm(&time));
}

std::string host_of(const RunHistory& run) {
    if (!run.start.is_object()) return "unknown";
    std::string host = run.start["host"]["name"];
    std::replace_if(
        host.begin(), host.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '.'; }, '_');
    return host;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
    uint32_t crc = ~0u;
    for (char c : bytes) crc = (crc >> 8) ^ k_crc_table[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
    return ~crc;
}

std::string tf_record(std::string_view bytes) {
    // The mask keeps a CRC that is stored beside its data from being its own CRC (tensorflow/core/lib/hash/crc32c.h).
    const auto masked = [](std::string_view data) { return std::rotr(crc32c(data), 15) + 0xA282EAD8u; };
    const std::string length = little_endian(static_cast<uint64_t>(bytes.size()));
    return length + little_endian(masked(length)) + std::string(bytes) + little_endian(masked(bytes));
}

std::string tensorboard_events(const RunHistory& run) {
    struct Entry {
        Scalar scalar;
        std::string_view tag;
    };
    std::vector<Entry> all;
    for (const auto& [tag, scalars] : run.scalars) {
        for (const Scalar& scalar : scalars) all.push_back({scalar, tag});
    }
    std::stable_sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.scalar.t < b.scalar.t; });
    const auto begin = static_cast<double>(unix_time(run.started_at));
    std::string file = tf_record(version_event(begin));
    for (const Entry& one : all) {
        file += tf_record(scalar_event(begin + one.scalar.t, one.scalar.step, one.tag, one.scalar.value));
    }
    return file;
}

std::filesystem::path export_tensorboard(const RunHistory& run, const std::filesystem::path& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder / run.id, error);
    if (error) failure("{}: cannot be made: {}", (folder / run.id).native(), error.message());
    const std::string name = fmt::format("events.out.tfevents.{}.{}", unix_time(run.started_at), host_of(run));
    AtomicFile file(folder / run.id / name);
    file.write(tensorboard_events(run));
    file.commit();
    return folder / run.id / name;
}

std::string csv_of(const RunHistory& run) {
    std::map<int64_t, std::map<std::string, double>> rows;
    for (const auto& [tag, scalars] : run.scalars) {
        for (const Scalar& scalar : scalars) {
            rows[scalar.step]["t"] = std::max(rows[scalar.step]["t"], scalar.t);
            rows[scalar.step][tag] = scalar.value;
        }
    }
    std::vector<std::string> columns = {"t"};
    for (const auto& [tag, scalars] : run.scalars) columns.push_back(tag);
    std::string text = "step";
    for (const std::string& column : columns) {
        // The name of an evaluation may hold anything (RFC 4180: quotes are doubled).
        std::string cell = column;
        for (size_t at = 0; (at = cell.find('"', at)) != std::string::npos; at += 2) cell.insert(at, "\"");
        text += column.find_first_of(",\"\n\r") == std::string::npos ? "," + cell : ",\"" + cell + "\"";
    }
    text += "\n";
    for (const auto& [step, values] : rows) {
        text += std::to_string(step);
        for (const std::string& column : columns) {
            const auto found = values.find(column);
            text += found == values.end() ? "," : fmt::format(",{}", found->second);
        }
        text += "\n";
    }
    return text;
}

}  // namespace toy
