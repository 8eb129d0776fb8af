#include "text/charsmap.h"

#include <cstring>

#include "core/error.h"

namespace toy {
namespace {

constexpr std::string_view charsmap_key = "tokenizer.ggml.precompiled_charsmap";
constexpr uint32_t value_bit = 1u << 31;

uint32_t label(uint32_t unit) { return unit & (value_bit | 0xFF); }
bool has_value(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t offset(uint32_t unit) { return unit >> 10 << ((unit & 1u << 9) >> 6); }

/// The bytes of the array, as GGUF may store them.
std::string_view read_bytes(const Metadata& metadata) {
    const Value* value = metadata.find(charsmap_key);
    if (value == nullptr) return {};
    if (const Array* array = std::get_if<Array>(value)) {
        if (const auto* bytes = std::get_if<std::vector<uint8_t>>(array)) {
            return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
        }
        if (const auto* bytes = std::get_if<std::vector<int8_t>>(array)) {
            return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
        }
    }
    bad_input("{}: key '{}' must be an array of u8", metadata.origin(), charsmap_key);
}

}  // namespace

Charsmap::Charsmap(const Metadata& metadata) : origin_(metadata.origin()) {
    if (!metadata.has(charsmap_key)) return;
    const std::string_view bytes = read_bytes(metadata);
    uint32_t size = 0;
    if (bytes.size() < sizeof size) refuse("is too short for its size");
    std::memcpy(&size, bytes.data(), sizeof size);
    if (size % sizeof(uint32_t) != 0 || size > bytes.size() - sizeof size) refuse("has an array beyond its end");
    units_.resize(size / sizeof(uint32_t));
    if (size > 0) std::memcpy(units_.data(), bytes.data() + sizeof size, size);
    replacements_ = bytes.substr(sizeof size + size);
    if (!units_.empty() && (replacements_.empty() || replacements_.back() != '\0')) {
        refuse("ends within a replacement");
    }
}

void Charsmap::refuse(std::string_view reason) const { bad_input("{}: key '{}' {}", origin_, charsmap_key, reason); }

uint32_t Charsmap::unit(size_t index) const {
    if (index >= units_.size()) refuse(fmt::format("points to unit {} of {}", index, units_.size()));
    return units_[index];
}

std::optional<Charsmap::Match> Charsmap::match(std::string_view text) const {
    if (units_.empty()) return std::nullopt;
    std::optional<Match> longest;
    size_t node = offset(unit(0));
    for (size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<uint8_t>(text[i]);
        if (byte == 0) break;  // label 0 leads to values
        node ^= byte;
        const uint32_t child = unit(node);
        if (label(child) != byte) break;
        node ^= offset(child);
        if (!has_value(child)) continue;
        const size_t begin = unit(node) & ~value_bit;
        if (begin >= replacements_.size()) refuse(fmt::format("points to byte {} of its replacements", begin));
        longest = Match{i + 1, std::string_view(replacements_.c_str() + begin)};
    }
    return longest;
}

}  // namespace toy
