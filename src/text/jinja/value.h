#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/run.h"

namespace toy::jinja {

class Value;
using List = std::vector<Value>;
class Dict;

/// Anything that has elements in an order. The flavours differ as Python's types do: views have a length and no index,
/// generators have neither, are always true, and can be read once.
struct Sequence {
    enum class Flavour : uint8_t { list, tuple, range, keys, values, items, generator };
    Flavour flavour = Flavour::list;
    std::vector<Value> items;
    int depth = 0;                  ///< of values inside each other
    mutable bool is_spent = false;  ///< a generator that was read
    std::string note = {};          ///< how a range prints; what reading a generator gives that cannot be read
};

/// What a call is given.
struct Arguments;

/// A value with behaviour: a macro, a function, a namespace, a loop.
class Object {
 public:
    virtual ~Object() = default;
    /// Python's name of the type, for sentences.
    virtual std::string_view type_name() const = 0;
    /// The attribute of that name, if there is one.
    virtual std::optional<Value> attribute(Run& run, std::string_view name);
    virtual bool is_callable() const { return false; }
    /// Only where is_callable().
    virtual Value call(Run& run, const Arguments& arguments);
    /// Drops the values inside.
    virtual void clear() {}
    /// How deep values inside each other reach.
    virtual int depth() const { return 0; }
};

/// A value of the template language: Python's, as far as templates see them. Immutable but for what an Object holds;
/// cheap to copy.
class Value {
 public:
    enum class Kind : uint8_t { undefined, none, boolean, integer, real, text, sequence, dict, object };

    /// An undefined value; the hint says what was asked for, in the sentence that using it gives.
    struct Undefined {
        std::shared_ptr<const std::string> hint;
    };
    struct None {};
    /// UTF-8. `is_safe`: went through the filter `safe`, so that + escapes what it is joined with (Markup).
    struct Text {
        std::shared_ptr<const std::string> bytes;
        bool is_safe = false;
    };

    Value() = default;
    Value(bool value) : data_(value) {}
    Value(int64_t value) : data_(value) {}
    Value(double value) : data_(value) {}
    Value(std::shared_ptr<const Sequence> value) : data_(std::move(value)) {}
    Value(std::shared_ptr<const Dict> value) : data_(std::move(value)) {}
    Value(std::shared_ptr<Object> value) : data_(std::move(value)) {}
    static Value undefined(std::string hint);
    static Value none();
    /// A text whose memory has been counted, or is that of the source.
    static Value text(std::string bytes, bool is_safe = false);

    Kind kind() const { return static_cast<Kind>(data_.index()); }
    bool is(Kind kind) const { return this->kind() == kind; }
    bool is_undefined() const { return is(Kind::undefined); }
    bool is_none() const { return is(Kind::none); }
    bool is_text() const { return is(Kind::text); }
    bool is_number() const { return is(Kind::boolean) || is(Kind::integer) || is(Kind::real); }
    bool is_sequence(Sequence::Flavour flavour) const;

    // Preconditions: the kind.
    bool boolean() const { return std::get<bool>(data_); }
    int64_t integer() const { return std::get<int64_t>(data_); }
    double real() const { return std::get<double>(data_); }
    const std::string& text() const { return *std::get<Text>(data_).bytes; }
    bool is_safe() const { return is_text() && std::get<Text>(data_).is_safe; }
    const Sequence& sequence() const { return *std::get<std::shared_ptr<const Sequence>>(data_); }
    const Dict& dict() const { return *std::get<std::shared_ptr<const Dict>>(data_); }
    Object& object() const { return *std::get<std::shared_ptr<Object>>(data_); }
    std::string_view hint() const;

    /// A boolean or integer as an integer, as Python counts; nothing for other kinds.
    std::optional<int64_t> as_index() const;
    /// Any number as a double. Precondition: is_number().
    double as_real() const;
    /// Python's name of the type: str, int, NoneType, …
    std::string_view type_name() const;
    int depth() const;

 private:
    std::variant<Undefined, None, bool, int64_t, double, Text, std::shared_ptr<const Sequence>,
                 std::shared_ptr<const Dict>, std::shared_ptr<Object>>
        data_;
};

/// Keys and values in the order of their making.
class Dict {
 public:
    using Entry = std::pair<Value, Value>;
    const std::vector<Entry>& entries() const { return entries_; }
    /// The value of a key, or null; 1, 1.0 and true are one key, as in Python. Keys that cannot be one are in no Dict.
    const Value* find(const Value& key) const;
    const Value* find(std::string_view key) const;
    /// Adds, or replaces the value where the key is known. Throws where the key cannot be one (a list).
    void set(Run& run, Value key, Value value);
    int depth() const { return depth_; }

 private:
    std::vector<Entry> entries_;
    std::unordered_map<std::string, size_t> index_;
    int depth_ = 0;
};

struct Arguments {
    List positional;
    std::vector<std::pair<std::string, Value>> named;
};

/// The variables of one block; a name is looked for in it, then in its parents.
struct Scope {
    std::shared_ptr<Scope> parent;
    std::map<std::string, Value, std::less<>> variables;

    const Value* find(std::string_view name) const;
};

/// A text, counted.
Value make_text(Run& run, std::string bytes, bool is_safe = false);
/// A list or the like, counted. Throws where values nest too deeply.
Value make_sequence(Run& run, List items, Sequence::Flavour flavour = Sequence::Flavour::list);
Value make_dict(Run& run, Dict dict);
/// JSON as values, strings as they are. Throws where it nests too deeply or has an integer beyond 64 bits.
Value from_json(Run& run, const nlohmann::ordered_json& json);

}  // namespace toy::jinja
