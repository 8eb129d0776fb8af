#include "io/gguf_writer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <type_traits>
#include <utility>

#include "core/atomic_file.h"
#include "core/error.h"
#include "io/gguf_header.h"
#include "io/quote.h"

namespace toy {
namespace {

static_assert(std::endian::native == std::endian::little, "values are copied to the file as they lie in memory");

constexpr uint32_t k_version = 3;
constexpr std::string_view k_alignment_key = "general.alignment";

template <class T>
void append(std::string& out, T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

void append(std::string& out, std::string_view text) {
    append(out, static_cast<uint64_t>(text.size()));
    out.append(text);
}
void append(std::string& out, const std::string& text) { append(out, std::string_view(text)); }
void append(std::string& out, bool value) { append(out, static_cast<uint8_t>(value)); }

void append(std::string& out, const Array& array) {
    append(out, static_cast<uint32_t>(element_type_of(array)));
    append(out, static_cast<uint64_t>(size_of(array)));
    std::visit(
        [&](const auto& values) {
            using T = typename std::decay_t<decltype(values)>::value_type;
            for (size_t i = 0; i < values.size(); ++i) append(out, static_cast<const T&>(values[i]));
        },
        array);
}

void check_key(std::string_view key) {
    const bool fits = std::all_of(key.begin(), key.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
    });
    if (key.empty() || key.size() > k_gguf_max_key_bytes || !fits) {
        bad_input("key {} cannot be written: keys have 1 to {} of the characters a-z, 0-9, '_', '.' and '-'",
                  quote(key), k_gguf_max_key_bytes);
    }
}

void check_alignment(const Value& value) {
    const uint32_t* alignment = std::get_if<uint32_t>(&value);
    if (alignment == nullptr || !std::has_single_bit(*alignment)) {
        bad_input("key '{}' has to be a u32 and a power of two", k_alignment_key);
    }
}

/// The bytes of a tensor; throws where the shape is none or too large to address.
size_t checked_bytes(const std::string& name, DType type, const std::vector<int64_t>& ne) {
    if (ne.empty() || ne.size() > 4) bad_input("tensor {} has {} axes; 1 to 4 are possible", quote(name), ne.size());
    if (ne[0] % block_elements(type) != 0) {
        bad_input("tensor {} has rows of {} elements, not a multiple of the {} in a block of {}", quote(name), ne[0],
                  block_elements(type), toy::name(type));
    }
    int64_t bytes = static_cast<int64_t>(block_bytes(type));
    bool zero = false;
    for (size_t axis = 0; axis < ne.size(); ++axis) {
        const int64_t count = axis == 0 ? ne[0] / block_elements(type) : ne[axis];
        zero = zero || count == 0;
        if (count < 0 || __builtin_mul_overflow(bytes, std::max<int64_t>(count, 1), &bytes)) {
            bad_input("tensor {} cannot have the shape [{}]", quote(name), fmt::join(ne, ", "));
        }
    }
    return zero ? 0 : static_cast<size_t>(bytes);
}

size_t padding(uint64_t position, size_t alignment) { return (alignment - position % alignment) % alignment; }

void pad(AtomicFile& file, size_t alignment) {
    static constexpr std::string_view k_zeros("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 32);
    for (size_t left = padding(file.size(), alignment); left > 0;) {
        const size_t piece = std::min(left, k_zeros.size());
        file.write(k_zeros.substr(0, piece));
        left -= piece;
    }
}

}  // namespace

GgufWriter& GgufWriter::set(std::string key, Value value) {
    check_key(key);
    return copy(std::move(key), std::move(value));
}

GgufWriter& GgufWriter::copy(std::string key, Value value) {
    if (metadata_.has(key)) bad_input("key {} is set twice", quote(key));
    if (metadata_.entries().size() == k_gguf_max_keys) bad_input("a file can have at most {} keys", k_gguf_max_keys);
    if (key == k_alignment_key) check_alignment(value);
    metadata_.set(std::move(key), std::move(value));
    return *this;
}

GgufWriter::Entry& GgufWriter::reserve(std::string name, DType type, std::vector<int64_t> ne) {
    if (name.empty() || name.size() > k_gguf_max_name_bytes) {
        bad_input("tensor name {} has {} bytes; 1 to {} are allowed", quote(name), name.size(), k_gguf_max_name_bytes);
    }
    if (entries_.size() == k_gguf_max_tensors) bad_input("a file can have at most {} tensors", k_gguf_max_tensors);
    const size_t bytes = checked_bytes(name, type, ne);
    if (!names_.insert(name).second) bad_input("tensor {} is added twice", quote(name));
    return entries_.emplace_back(Entry{std::move(name), type, std::move(ne), bytes, {}});
}

GgufWriter& GgufWriter::add(std::string name, DType type, std::vector<int64_t> ne, std::span<const std::byte> bytes) {
    const size_t expected = checked_bytes(name, type, ne);
    if (bytes.size() != expected) {
        bad_input("tensor {} of shape [{}] takes {} bytes as {}, but {} were given", quote(name), fmt::join(ne, ", "),
                  expected, toy::name(type), bytes.size());
    }
    return add(std::move(name), type, std::move(ne), [bytes](const auto& write) { write(bytes); });
}

GgufWriter& GgufWriter::add(std::string name, DType type, std::vector<int64_t> ne, Source source) {
    reserve(std::move(name), type, std::move(ne)).source = std::move(source);
    return *this;
}

GgufWriter& GgufWriter::add_f32(std::string name, DType type, std::vector<int64_t> ne, std::span<const float> values) {
    const size_t expected = checked_bytes(name, DType::F32, ne);
    if (values.size_bytes() != expected) {
        bad_input("tensor {} of shape [{}] has {} elements, but {} were given", quote(name), fmt::join(ne, ", "),
                  expected / sizeof(float), values.size());
    }
    checked_bytes(name, type, ne);
    const auto owned = std::make_shared<const std::vector<uint8_t>>(values.empty() ? std::vector<uint8_t>()
                                                                                   : from_f32(type, values, ne[0]));
    return add(std::move(name), type, std::move(ne),
               [owned](const auto& write) { write(std::as_bytes(std::span(*owned))); });
}

size_t GgufWriter::alignment() const {
    const Value* value = metadata_.find(k_alignment_key);
    return value == nullptr ? k_gguf_default_alignment : std::get<uint32_t>(*value);
}

std::string GgufWriter::header(size_t alignment) const {
    std::string out = "GGUF";
    append(out, k_version);
    append(out, static_cast<uint64_t>(entries_.size()));
    append(out, static_cast<uint64_t>(metadata_.entries().size()));
    for (const auto& [key, value] : metadata_.entries()) {
        append(out, key);
        append(out, static_cast<uint32_t>(type_of(value)));
        std::visit([&](const auto& held) { append(out, held); }, value);
    }
    uint64_t offset = 0;
    for (const Entry& entry : entries_) {
        append(out, entry.name);
        append(out, static_cast<uint32_t>(entry.ne.size()));
        for (const int64_t n : entry.ne) append(out, n);
        append(out, static_cast<uint32_t>(entry.type));
        append(out, offset);
        offset += entry.bytes + padding(entry.bytes, alignment);
    }
    if (out.size() > k_gguf_max_header_bytes) {
        bad_input("the keys and tensor names take {} bytes; at most {} can be read again", out.size(),
                  k_gguf_max_header_bytes);
    }
    return out;
}

void GgufWriter::write(const std::filesystem::path& path) const {
    const size_t align = alignment();
    AtomicFile file(path);
    file.write(header(align));
    pad(file, align);
    for (const Entry& entry : entries_) {
        const uint64_t start = file.size();
        entry.source([&](std::span<const std::byte> bytes) { file.write(bytes); });
        if (file.size() - start != entry.bytes) {
            failure("{}: tensor {} takes {} bytes, but its source gave {}; nothing was changed", path.native(),
                    quote(entry.name), entry.bytes, file.size() - start);
        }
        pad(file, align);
    }
    file.commit();
}

}  // namespace toy
