#include "text/jinja/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "io/quote.h"

namespace toy::jinja {
namespace {

using Kind = Value::Kind;
using Json = nlohmann::ordered_json;

// Equal keys have equal texts: numbers by value, whatever their type.
std::optional<std::string> text_of_key(const Value& key) {
    switch (key.kind()) {
        case Kind::none: return "n";
        case Kind::boolean:
        case Kind::integer: return fmt::format("i{}", *key.as_index());
        case Kind::real: {
            const double value = key.real();
            const bool is_whole =
                value >= -9e15 && value <= 9e15 && value == static_cast<double>(static_cast<int64_t>(value));
            return is_whole ? fmt::format("i{}", static_cast<int64_t>(value)) : fmt::format("r{}", value);
        }
        case Kind::text: return "t" + key.text();
        case Kind::sequence: {
            if (!key.is_sequence(Sequence::Flavour::tuple)) return {};
            std::string text = "(";
            for (const Value& item : key.sequence().items) {
                const auto part = text_of_key(item);
                if (!part) return {};
                text += fmt::format("{}:{}", part->size(), *part);
            }
            return text;
        }
        default: return {};
    }
}

}  // namespace

Run::~Run() {
    for (const auto& object : objects_) object->clear();
    for (const auto& scope : scopes_) scope->variables.clear();
}

void Run::keep(std::shared_ptr<Object> object) {
    take(256);
    objects_.push_back(std::move(object));
}

void Run::keep(std::shared_ptr<Scope> scope) {
    take(256);
    if (scopes_.empty() || scopes_.back() != scope) scopes_.push_back(std::move(scope));
}

void Run::take(size_t bytes) {
    if (bytes > limits_.text_bytes) fail("a text would have more than {} bytes", limits_.text_bytes);
    step(bytes);
    bytes_ += bytes;
    if (bytes_ > limits_.memory_bytes)
        fail("the template makes more than {} bytes of texts and lists", limits_.memory_bytes);
}

void Run::take_list(size_t count) {
    if (count > limits_.text_bytes / sizeof(Value)) fail("a list would have {} elements", count);
    take(count * sizeof(Value) + sizeof(Sequence));
}

std::optional<Value> Object::attribute(Run&, std::string_view) { return {}; }

Value Object::call(Run& run, const Arguments&) { run.fail("a {} cannot be called", type_name()); }

Value Value::undefined(std::string hint) {
    Value value;
    value.data_ = Undefined{std::make_shared<const std::string>(std::move(hint))};
    return value;
}

Value Value::none() {
    Value value;
    value.data_ = None{};
    return value;
}

Value Value::text(std::string bytes, bool is_safe) {
    Value value;
    value.data_ = Text{std::make_shared<const std::string>(std::move(bytes)), is_safe};
    return value;
}

bool Value::is_sequence(Sequence::Flavour flavour) const { return is(Kind::sequence) && sequence().flavour == flavour; }

std::string_view Value::hint() const {
    const auto& hint = std::get<Undefined>(data_).hint;
    return hint ? std::string_view(*hint) : "a value is undefined";
}

std::optional<int64_t> Value::as_index() const {
    if (is(Kind::boolean)) return boolean() ? 1 : 0;
    if (is(Kind::integer)) return integer();
    return {};
}

double Value::as_real() const { return is(Kind::real) ? real() : static_cast<double>(*as_index()); }

std::string_view Value::type_name() const {
    static constexpr std::string_view names[] = {"Undefined", "NoneType", "bool", "int", "float",
                                                 "str",       "",         "dict", ""};
    static constexpr std::string_view flavours[] = {"list",        "tuple",      "range",    "dict_keys",
                                                    "dict_values", "dict_items", "generator"};
    if (is(Kind::sequence)) return flavours[static_cast<size_t>(sequence().flavour)];
    if (is(Kind::object)) return object().type_name();
    return names[static_cast<size_t>(kind())];
}

int Value::depth() const {
    if (is(Kind::sequence)) return sequence().depth;
    if (is(Kind::dict)) return dict().depth();
    if (is(Kind::object)) return object().depth();
    return 0;
}

const Value* Dict::find(const Value& key) const {
    const auto text = text_of_key(key);
    if (!text) return nullptr;
    const auto found = index_.find(*text);
    return found == index_.end() ? nullptr : &entries_[found->second].second;
}

const Value* Dict::find(std::string_view key) const {
    const auto found = index_.find("t" + std::string(key));
    return found == index_.end() ? nullptr : &entries_[found->second].second;
}

void Dict::set(Run& run, Value key, Value value) {
    auto text = text_of_key(key);
    if (!text) run.fail("a value of type {} cannot be the key of a dict", key.type_name());
    run.take(text->size() + 4 * sizeof(Value));
    depth_ = std::max({depth_, key.depth() + 1, value.depth() + 1});
    const auto [at, is_new] = index_.emplace(std::move(*text), entries_.size());
    if (is_new) {
        entries_.emplace_back(std::move(key), std::move(value));
    } else {
        entries_[at->second].second = std::move(value);
    }
}

const Value* Scope::find(std::string_view name) const {
    for (const Scope* scope = this; scope; scope = scope->parent.get()) {
        const auto found = scope->variables.find(name);
        if (found != scope->variables.end()) return &found->second;
    }
    return nullptr;
}

Value make_text(Run& run, std::string bytes, bool is_safe) {
    run.take(bytes.size() + sizeof(std::string));
    return Value::text(std::move(bytes), is_safe);
}

Value make_sequence(Run& run, List items, Sequence::Flavour flavour) {
    run.take_list(items.size());
    int depth = 0;
    for (const Value& item : items) depth = std::max(depth, item.depth() + 1);
    if (depth > run.limits().nesting) run.fail("more than {} lists and dicts inside each other", run.limits().nesting);
    return std::make_shared<const Sequence>(Sequence{flavour, std::move(items), depth});
}

Value make_dict(Run& run, Dict dict) {
    if (dict.depth() > run.limits().nesting) {
        run.fail("more than {} lists and dicts inside each other", run.limits().nesting);
    }
    return std::make_shared<const Dict>(std::move(dict));
}

namespace {

Value from_json_at(Run& run, const Json& json, int depth) {
    if (depth > run.limits().nesting)
        run.fail("the values given to the template nest deeper than {} levels", depth - 1);
    switch (json.type()) {
        case Json::value_t::boolean: return json.get<bool>();
        case Json::value_t::number_integer: return json.get<int64_t>();
        case Json::value_t::number_unsigned: {
            const auto value = json.get<uint64_t>();
            if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
                run.fail("the integer {} is beyond 64 bits", value);
            }
            return static_cast<int64_t>(value);
        }
        case Json::value_t::number_float: return json.get<double>();
        case Json::value_t::string: return make_text(run, json.get<std::string>());
        case Json::value_t::array: {
            List items;
            items.reserve(json.size());
            for (const Json& item : json) items.push_back(from_json_at(run, item, depth + 1));
            return make_sequence(run, std::move(items));
        }
        case Json::value_t::object: {
            Dict dict;
            for (const auto& [key, item] : json.items()) {
                dict.set(run, make_text(run, key), from_json_at(run, item, depth + 1));
            }
            return make_dict(run, std::move(dict));
        }
        default: return Value::none();
    }
}

}  // namespace

Value from_json(Run& run, const Json& json) { return from_json_at(run, json, 0); }

}  // namespace toy::jinja
