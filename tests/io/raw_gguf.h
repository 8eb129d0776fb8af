#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/metadata.h"

namespace toy {

/// The bytes of a GGUF file, written field by field, right or wrong; remembers where each length lies.
class RawGguf {
 public:
    std::string bytes;
    std::vector<size_t> lengths;  ///< positions of every u64 count and length

    template <class T>
    RawGguf& put(T value) {
        bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
        return *this;
    }
    RawGguf& length(uint64_t value) {
        lengths.push_back(bytes.size());
        return put(value);
    }
    RawGguf& text(std::string_view text) {
        length(text.size());
        bytes += text;
        return *this;
    }
    RawGguf& header(uint64_t tensors, uint64_t keys, uint32_t version = 3) {
        bytes += "GGUF";
        return put(version).length(tensors).length(keys);
    }
    RawGguf& key(std::string_view key, ValueType type) { return text(key).put(static_cast<uint32_t>(type)); }
    RawGguf& array(std::string_view name, ValueType element, uint64_t count) {
        return key(name, ValueType::array).put(static_cast<uint32_t>(element)).length(count);
    }
    RawGguf& alignment(uint32_t value) { return key("general.alignment", ValueType::u32).put(value); }
    RawGguf& tensor(std::string_view name, const std::vector<int64_t>& ne, int32_t type, uint64_t offset) {
        text(name).put(static_cast<uint32_t>(ne.size()));
        for (const int64_t n : ne) put(n);
        return put(type).put(offset);
    }
    RawGguf& zeros(size_t count) {
        bytes.append(count, '\0');
        return *this;
    }
    RawGguf& pad(size_t alignment = 32) { return zeros((alignment - bytes.size() % alignment) % alignment); }
};

}  // namespace toy
