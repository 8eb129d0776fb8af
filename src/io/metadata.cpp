#include "io/metadata.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "core/error.h"

namespace toy {
namespace {

template <class T>
constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <class T>
constexpr bool fits_int64(T value) {
    return std::in_range<int64_t>(value);
}

std::string describe(const Value& value) {
    if (const Array* array = std::get_if<Array>(&value)) {
        return fmt::format("an array of {}", name(element_type_of(*array)));
    }
    return std::string(name(type_of(value)));
}

[[noreturn]] void wrong_type(const Metadata& metadata, std::string_view key, const Value& value, const char* expected) {
    bad_input("{}: key '{}' holds {}, expected {}", metadata.origin(), key, describe(value), expected);
}

[[noreturn]] void too_large(const Metadata& metadata, std::string_view key) {
    bad_input("{}: key '{}' holds a number above {}", metadata.origin(), key, std::numeric_limits<int64_t>::max());
}

/// The T inside the value of that key, null where the key is absent; throws where it holds something else.
template <class T>
const T* find_as(const Metadata& metadata, std::string_view key, const char* expected) {
    const Value* value = metadata.find(key);
    if (value == nullptr) return nullptr;
    const T* held = std::get_if<T>(value);
    if (held == nullptr) wrong_type(metadata, key, *value, expected);
    return held;
}

template <class T>
const std::vector<T>* find_array_as(const Metadata& metadata, std::string_view key, const char* expected) {
    const Value* value = metadata.find(key);
    if (value == nullptr) return nullptr;
    const Array* array = std::get_if<Array>(value);
    const std::vector<T>* held = array == nullptr ? nullptr : std::get_if<std::vector<T>>(array);
    if (held == nullptr) wrong_type(metadata, key, *value, expected);
    return held;
}

template <class T>
T required(const Metadata& metadata, std::string_view key, const std::optional<T>& found) {
    if (!found) bad_input("{}: key '{}' is missing", metadata.origin(), key);
    return *found;
}

template <class T>
const T& required(const Metadata& metadata, std::string_view key, const T* found) {
    if (found == nullptr) bad_input("{}: key '{}' is missing", metadata.origin(), key);
    return *found;
}

}  // namespace

std::string_view name(ValueType type) {
    static constexpr std::array names = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                         "bool", "string", "array", "u64", "i64", "f64"};
    const auto code = static_cast<size_t>(type);
    return code < names.size() ? names[code] : "unknown";
}

// The alternatives of Value stand in the order of the codes; those of Array too, but that there is no array among them.
static_assert(std::variant_size_v<Value> == 13 && std::variant_size_v<Array> == 12);
ValueType type_of(const Value& value) { return static_cast<ValueType>(value.index()); }
ValueType element_type_of(const Array& array) {
    const size_t index = array.index();
    return static_cast<ValueType>(index < static_cast<size_t>(ValueType::array) ? index : index + 1);
}

size_t size_of(const Array& array) {
    return std::visit([](const auto& values) { return values.size(); }, array);
}

const Value* Metadata::find(std::string_view key) const {
    const auto found =
        std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry.first == key; });
    return found == entries_.end() ? nullptr : &found->second;
}

std::optional<int64_t> Metadata::find_integer(std::string_view key) const {
    const Value* value = find(key);
    if (value == nullptr) return std::nullopt;
    return std::visit(
        [&](const auto& held) -> int64_t {
            using T = std::decay_t<decltype(held)>;
            if constexpr (is_integer<T>) {
                if (!fits_int64(held)) too_large(*this, key);
                return static_cast<int64_t>(held);
            } else {
                wrong_type(*this, key, *value, "an integer");
            }
        },
        *value);
}

std::optional<double> Metadata::find_real(std::string_view key) const {
    const Value* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (const float* single = std::get_if<float>(value)) return *single;
    if (const double* twofold = std::get_if<double>(value)) return *twofold;
    wrong_type(*this, key, *value, "a real number (f32 or f64)");
}

std::optional<bool> Metadata::find_boolean(std::string_view key) const {
    const bool* held = find_as<bool>(*this, key, "a bool");
    return held == nullptr ? std::nullopt : std::optional(*held);
}

const std::string* Metadata::find_string(std::string_view key) const {
    return find_as<std::string>(*this, key, "a string");
}

const std::vector<std::string>* Metadata::find_strings(std::string_view key) const {
    return find_array_as<std::string>(*this, key, "an array of strings");
}

const std::vector<float>* Metadata::find_floats(std::string_view key) const {
    return find_array_as<float>(*this, key, "an array of f32");
}

std::optional<std::vector<int64_t>> Metadata::find_integers(std::string_view key) const {
    const Value* value = find(key);
    if (value == nullptr) return std::nullopt;
    const Array* array = std::get_if<Array>(value);
    if (array == nullptr) wrong_type(*this, key, *value, "an array of integers");
    return std::visit(
        [&](const auto& values) -> std::vector<int64_t> {
            using T = typename std::decay_t<decltype(values)>::value_type;
            if constexpr (is_integer<T>) {
                if (!std::all_of(values.begin(), values.end(), fits_int64<T>)) too_large(*this, key);
                return {values.begin(), values.end()};
            } else {
                wrong_type(*this, key, *value, "an array of integers");
            }
        },
        *array);
}

int64_t Metadata::integer(std::string_view key) const { return required(*this, key, find_integer(key)); }
double Metadata::real(std::string_view key) const { return required(*this, key, find_real(key)); }
bool Metadata::boolean(std::string_view key) const { return required(*this, key, find_boolean(key)); }
const std::string& Metadata::string(std::string_view key) const { return required(*this, key, find_string(key)); }
const std::vector<std::string>& Metadata::strings(std::string_view key) const {
    return required(*this, key, find_strings(key));
}

void Metadata::set(std::string key, Value value) {
    const auto found =
        std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry.first == key; });
    if (found != entries_.end()) {
        found->second = std::move(value);
    } else {
        entries_.emplace_back(std::move(key), std::move(value));
    }
}

void Metadata::erase(std::string_view key) {
    std::erase_if(entries_, [&](const auto& entry) { return entry.first == key; });
}

}  // namespace toy
