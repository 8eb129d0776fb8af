#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace toy {

/// The value types of GGUF, with the codes that files store.
enum class ValueType : uint32_t { u8 = 0, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };
std::string_view name(ValueType type);

/// An array of scalars or strings. (GGUF allows arrays of arrays; nothing uses them, and we refuse them.)
using Array = std::variant<std::vector<uint8_t>, std::vector<int8_t>, std::vector<uint16_t>, std::vector<int16_t>,
                           std::vector<uint32_t>, std::vector<int32_t>, std::vector<float>, std::vector<bool>,
                           std::vector<std::string>, std::vector<uint64_t>, std::vector<int64_t>, std::vector<double>>;
using Value = std::variant<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, float, bool, std::string, Array,
                           uint64_t, int64_t, double>;

ValueType type_of(const Value& value);
ValueType element_type_of(const Array& array);
size_t size_of(const Array& array);

/// The key/value part of a GGUF file, in the order of the file. The `find_` functions return nothing where the key is
/// absent and throw Error{bad_input} naming the key where its type does not fit (any integer type that holds the value
/// serves for integers, f32 or f64 for reals); the plain ones also throw where the key is absent.
class Metadata {
 public:
    /// Where the values come from, for error sentences: a path, or "metadata".
    explicit Metadata(std::string origin = "metadata") : origin_(std::move(origin)) {}
    /// Takes entries whose keys are all different.
    Metadata(std::string origin, std::vector<std::pair<std::string, Value>> entries)
        : origin_(std::move(origin)), entries_(std::move(entries)) {}

    const std::string& origin() const { return origin_; }
    const std::vector<std::pair<std::string, Value>>& entries() const { return entries_; }
    const Value* find(std::string_view key) const;
    bool has(std::string_view key) const { return find(key) != nullptr; }

    std::optional<int64_t> find_integer(std::string_view key) const;
    std::optional<double> find_real(std::string_view key) const;
    std::optional<bool> find_boolean(std::string_view key) const;
    const std::string* find_string(std::string_view key) const;
    const std::vector<std::string>* find_strings(std::string_view key) const;
    /// An array of any integer type, widened.
    std::optional<std::vector<int64_t>> find_integers(std::string_view key) const;
    const std::vector<float>* find_floats(std::string_view key) const;

    int64_t integer(std::string_view key) const;
    double real(std::string_view key) const;
    bool boolean(std::string_view key) const;
    const std::string& string(std::string_view key) const;
    const std::vector<std::string>& strings(std::string_view key) const;

    /// Adds the key, or replaces its value in place.
    void set(std::string key, Value value);
    void erase(std::string_view key);

 private:
    std::string origin_;
    std::vector<std::pair<std::string, Value>> entries_;
};

}  // namespace toy
