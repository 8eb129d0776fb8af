#include "io/gguf_header.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <unordered_set>

#include "core/error.h"
#include "io/quote.h"

namespace toy {
namespace {

static_assert(std::endian::native == std::endian::little, "values are copied from the file as they lie there");

// The least that one entry takes: a length, a key of one byte, a type, a value; and a length, a name of one byte, the
// number of axes, no axis, a type, an offset.
constexpr uint64_t k_min_key_entry = 8 + 1 + 4 + 1;
constexpr uint64_t k_min_tensor_entry = 8 + 1 + 4 + 4 + 8;

/// Reads forward through the header and knows where it is. `what` says in errors what was being read.
class Cursor {
 public:
    Cursor(std::span<const std::byte> file, const std::string& path)
        : bytes_(file.first(std::min<uint64_t>(file.size(), k_gguf_max_header_bytes))),
          cut_(bytes_.size() < file.size()),
          path_(path) {}

    uint64_t at() const { return at_; }
    uint64_t left() const { return bytes_.size() - at_; }
    const std::string& path() const { return path_; }

    template <class What>
    std::span<const std::byte> take(uint64_t count, const What& what) {
        if (count > left()) too_short(count, what());
        const auto taken = bytes_.subspan(at_, count);
        at_ += count;
        return taken;
    }

    template <class T, class What>
    T scalar(const What& what) {
        T value;
        std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
        return value;
    }

    template <class What>
    std::string_view text(const What& what) {
        const auto length = scalar<uint64_t>(what);
        const auto bytes = take(length, what);
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }

    [[noreturn]] void too_short(uint64_t count, const std::string& what) const {
        if (cut_) {
            bad_input("{}: {} at byte {} takes {} bytes, but a header may take {} in all", path_, what, at_, count,
                      k_gguf_max_header_bytes);
        }
        bad_input("{}: {} at byte {} takes {} bytes, but the file has only {} left; it is incomplete or damaged", path_,
                  what, at_, count, left());
    }

 private:
    std::span<const std::byte> bytes_;
    bool cut_;
    const std::string& path_;
    uint64_t at_ = 0;
};

auto constant(const char* what) {
    return [what] { return std::string(what); };
}

uint32_t read_version(Cursor& cursor) {
    const auto magic = cursor.take(4, constant("the magic number"));
    const std::string_view text(reinterpret_cast<const char*>(magic.data()), magic.size());
    if (text != "GGUF") {
        bad_input("{}: is not a GGUF file: it starts with {} instead of 'GGUF'", cursor.path(), quote(text));
    }
    const auto version = cursor.scalar<uint32_t>(constant("the version"));
    if (version == 2 || version == 3) return version;
    if (version == 1) bad_input("{}: is GGUF version 1, which was withdrawn; convert the model again", cursor.path());
    if ((version & 0xffff) == 0 && version != 0) {
        bad_input("{}: is a big-endian GGUF file; convert it with gguf-py's gguf_convert_endian.py", cursor.path());
    }
    bad_input("{}: has GGUF version {}; versions 2 and 3 can be read", cursor.path(), version);
}

/// A count of entries, refused where the rest of the file could not hold so many.
uint64_t read_count(Cursor& cursor, const char* what, uint64_t least_bytes, uint64_t limit) {
    const uint64_t at = cursor.at();
    const auto count = cursor.scalar<uint64_t>(constant(what));
    if (count > limit) bad_input("{}: {} at byte {} is {}; at most {} are read", cursor.path(), what, at, count, limit);
    if (count > cursor.left() / least_bytes) {
        bad_input("{}: {} at byte {} is {}, more than its {} remaining bytes can hold", cursor.path(), what, at, count,
                  cursor.left());
    }
    return count;
}

// ---- keys and values ----

template <class T, class What>
Array read_scalars(Cursor& cursor, uint64_t count, const What& what) {
    constexpr uint64_t size = sizeof(T);  // a bool takes one byte in the file
    if (count > std::numeric_limits<uint64_t>::max() / size)
        cursor.too_short(std::numeric_limits<uint64_t>::max(), what());
    const auto bytes = cursor.take(count * size, what);
    std::vector<T> values(count);
    if constexpr (std::is_same_v<T, bool>) {
        for (uint64_t i = 0; i < count; ++i) values[i] = bytes[i] != std::byte{0};
    } else if (count > 0) {
        std::memcpy(values.data(), bytes.data(), bytes.size());
    }
    return values;
}

template <class What>
Array read_strings(Cursor& cursor, uint64_t count, const What& what) {
    // Each string takes at least its length: no more is allocated than the file pays for.
    if (count > cursor.left() / sizeof(uint64_t)) {
        bad_input("{}: {} at byte {} has {} strings, more than the {} remaining bytes can hold", cursor.path(), what(),
                  cursor.at(), count, cursor.left());
    }
    std::vector<std::string> values;
    values.reserve(count);
    for (uint64_t i = 0; i < count; ++i) values.emplace_back(cursor.text(what));
    return values;
}

template <class What>
Array read_array(Cursor& cursor, const What& what) {
    const uint64_t at = cursor.at();
    const auto code = cursor.scalar<uint32_t>(what);
    const auto count = cursor.scalar<uint64_t>(what);
    switch (static_cast<ValueType>(code)) {
        case ValueType::u8: return read_scalars<uint8_t>(cursor, count, what);
        case ValueType::i8: return read_scalars<int8_t>(cursor, count, what);
        case ValueType::u16: return read_scalars<uint16_t>(cursor, count, what);
        case ValueType::i16: return read_scalars<int16_t>(cursor, count, what);
        case ValueType::u32: return read_scalars<uint32_t>(cursor, count, what);
        case ValueType::i32: return read_scalars<int32_t>(cursor, count, what);
        case ValueType::f32: return read_scalars<float>(cursor, count, what);
        case ValueType::boolean: return read_scalars<bool>(cursor, count, what);
        case ValueType::string: return read_strings(cursor, count, what);
        case ValueType::u64: return read_scalars<uint64_t>(cursor, count, what);
        case ValueType::i64: return read_scalars<int64_t>(cursor, count, what);
        case ValueType::f64: return read_scalars<double>(cursor, count, what);
        case ValueType::array: bad_input("{}: {} is an array of arrays, which no model uses", cursor.path(), what());
    }
    bad_input("{}: {} has the unknown element type {} at byte {}", cursor.path(), what(), code, at);
}

template <class What>
Value read_value(Cursor& cursor, const What& what) {
    const uint64_t at = cursor.at();
    const auto code = cursor.scalar<uint32_t>(what);
    switch (static_cast<ValueType>(code)) {
        case ValueType::u8: return cursor.scalar<uint8_t>(what);
        case ValueType::i8: return cursor.scalar<int8_t>(what);
        case ValueType::u16: return cursor.scalar<uint16_t>(what);
        case ValueType::i16: return cursor.scalar<int16_t>(what);
        case ValueType::u32: return cursor.scalar<uint32_t>(what);
        case ValueType::i32: return cursor.scalar<int32_t>(what);
        case ValueType::f32: return cursor.scalar<float>(what);
        case ValueType::boolean: return cursor.scalar<uint8_t>(what) != 0;
        case ValueType::string: return std::string(cursor.text(what));
        case ValueType::array: return read_array(cursor, what);
        case ValueType::u64: return cursor.scalar<uint64_t>(what);
        case ValueType::i64: return cursor.scalar<int64_t>(what);
        case ValueType::f64: return cursor.scalar<double>(what);
    }
    bad_input("{}: {} has the unknown value type {} at byte {}", cursor.path(), what(), code, at);
}

Metadata read_metadata(Cursor& cursor, uint64_t count) {
    std::vector<std::pair<std::string, Value>> entries;
    std::unordered_set<std::string_view> seen;  // views into the mapped file
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t at = cursor.at();
        const auto number = [&] { return fmt::format("key number {}", i + 1); };
        const auto key = cursor.text(number);
        if (key.empty()) bad_input("{}: key number {} at byte {} is empty", cursor.path(), i + 1, at);
        if (key.size() > k_gguf_max_key_bytes) {
            bad_input("{}: key number {} at byte {} has {} bytes; at most {} are allowed", cursor.path(), i + 1, at,
                      key.size(), k_gguf_max_key_bytes);
        }
        if (!seen.insert(key).second) bad_input("{}: key {} occurs twice", cursor.path(), quote(key));
        Value value = read_value(cursor, [&] { return fmt::format("the value of key {}", quote(key)); });
        entries.emplace_back(key, std::move(value));
    }
    return Metadata(cursor.path(), std::move(entries));
}

/// `general.alignment`: a u32 and a power of two, or the default where it is absent.
size_t alignment_of(const Metadata& metadata) {
    const Value* value = metadata.find("general.alignment");
    if (value == nullptr) return k_gguf_default_alignment;
    const uint32_t* alignment = std::get_if<uint32_t>(value);
    if (alignment == nullptr) {
        bad_input("{}: key 'general.alignment' holds {}, expected u32", metadata.origin(), name(type_of(*value)));
    }
    if (!std::has_single_bit(*alignment)) {
        bad_input("{}: key 'general.alignment' is {}, not a power of two", metadata.origin(), *alignment);
    }
    return *alignment;
}

// ---- the tensor list ----

/// The tensor's size in bytes, or nothing where its elements or bytes do not fit 63 bits. Zero dimensions count as one
/// in the first check, so that no product of some axes alone can overflow later either.
std::optional<uint64_t> checked_bytes(const GgufTensor& tensor) {
    int64_t product = 1;
    for (const int64_t n : tensor.ne) {
        if (__builtin_mul_overflow(product, std::max<int64_t>(n, 1), &product)) return std::nullopt;
    }
    const int64_t blocks = tensor.elements() / block_elements(tensor.type);
    int64_t bytes = 0;
    if (__builtin_mul_overflow(blocks, static_cast<int64_t>(block_bytes(tensor.type)), &bytes)) return std::nullopt;
    return static_cast<uint64_t>(bytes);
}

template <class What>
void read_shape(Cursor& cursor, GgufTensor& tensor, const What& what) {
    const auto axes = cursor.scalar<uint32_t>(what);
    if (axes > tensor.ne.size()) {
        bad_input("{}: {} has {} axes; at most {} are possible", cursor.path(), what(), axes, tensor.ne.size());
    }
    tensor.rank = std::max(1, static_cast<int>(axes));  // no axis at all is a scalar: one axis of one element
    tensor.ne = {1, 1, 1, 1};
    for (uint32_t axis = 0; axis < axes; ++axis) {
        const auto n = cursor.scalar<uint64_t>(what);
        if (n > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
            bad_input("{}: {} has a negative or far too large axis {} ({})", cursor.path(), what(), axis, n);
        }
        tensor.ne[axis] = static_cast<int64_t>(n);
    }
}

GgufTensor read_tensor(Cursor& cursor, uint64_t number) {
    const uint64_t at = cursor.at();
    const auto text = cursor.text([&] { return fmt::format("the name of tensor number {}", number); });
    if (text.empty() || text.size() > k_gguf_max_name_bytes) {
        bad_input("{}: the name of tensor number {} at byte {} has {} bytes; 1 to {} are allowed", cursor.path(),
                  number, at, text.size(), k_gguf_max_name_bytes);
    }
    const auto what = [&] { return fmt::format("tensor {}", quote(text)); };
    GgufTensor tensor = {};
    tensor.name = text;
    read_shape(cursor, tensor, what);
    const auto code = cursor.scalar<uint32_t>(what);
    const auto type = dtype_from_code(code);
    if (!type) bad_input("{}: {} has the unknown or withdrawn type {}", cursor.path(), what(), code);
    tensor.type = *type;
    if (tensor.ne[0] % block_elements(*type) != 0) {
        bad_input("{}: {} has rows of {} elements, not a multiple of the {} in a block of {}", cursor.path(), what(),
                  tensor.ne[0], block_elements(*type), name(*type));
    }
    tensor.offset = cursor.scalar<uint64_t>(what);
    return tensor;
}

uint64_t padded(uint64_t size, uint64_t alignment) { return (size + alignment - 1) & ~(alignment - 1); }

/// Tensors lie one after the other in the order of the list, each padded to the alignment. llama.cpp demands this too;
/// it makes misaligned, overlapping and backward offsets impossible.
void check_offset(const GgufTensor& tensor, uint64_t expected, const GgufHeader& header, const std::string& path) {
    if (tensor.offset == expected) return;
    const char* reason = "there is a gap before it";
    if (tensor.offset % header.alignment != 0) {
        reason = "it is not aligned";
    } else if (tensor.offset < expected) {
        reason = "it overlaps another tensor";
    }
    bad_input("{}: tensor {} has offset {} in the data, expected {} (alignment {}): {}", path, quote(tensor.name),
              tensor.offset, expected, header.alignment, reason);
}

void read_tensors(Cursor& cursor, uint64_t count, GgufHeader& header) {
    for (uint64_t i = 0; i < count; ++i) {
        GgufTensor tensor = read_tensor(cursor, i + 1);
        const auto bytes = checked_bytes(tensor);
        if (!bytes) {
            bad_input("{}: tensor {} of shape [{}] is too large to address", cursor.path(), quote(tensor.name),
                      fmt::join(tensor.ne, ", "));
        }
        check_offset(tensor, header.data_bytes, header, cursor.path());
        // Below 2^63 + 2^31: no overflow. The sum is kept below 2^63 for the next round.
        const uint64_t end = padded(*bytes, header.alignment);
        if (end > std::numeric_limits<int64_t>::max() - header.data_bytes) {
            bad_input("{}: tensor {} ends beyond 2^63 bytes", cursor.path(), quote(tensor.name));
        }
        header.data_bytes += end;
        header.tensors.push_back(std::move(tensor));
    }
}

}  // namespace

GgufHeader parse_gguf_header(std::span<const std::byte> file, const std::string& path) {
    Cursor cursor(file, path);
    GgufHeader header;
    header.version = read_version(cursor);
    const uint64_t tensors = read_count(cursor, "the number of tensors", k_min_tensor_entry, k_gguf_max_tensors);
    const uint64_t keys = read_count(cursor, "the number of keys", k_min_key_entry, k_gguf_max_keys);
    header.metadata = read_metadata(cursor, keys);
    header.alignment = alignment_of(header.metadata);
    read_tensors(cursor, tensors, header);
    header.data_begin = tensors == 0 ? cursor.at() : padded(cursor.at(), header.alignment);
    return header;
}

}  // namespace toy
