#include "text/jinja/methods.h"

#include <algorithm>

#include "text/jinja/method_tables.h"
#include "text/jinja/operators.h"
#include "text/jinja/parameters.h"

namespace toy::jinja {
namespace {

using Kind = Value::Kind;
using Flavour = Sequence::Flavour;

// A method together with the value that it is of.
class BoundMethod : public Object {
 public:
    BoundMethod(Value self, Function function) : self_(std::move(self)), function_(function) {}
    std::string_view type_name() const override { return "method"; }
    bool is_callable() const override { return true; }
    Value call(Run& run, const Arguments& arguments) override { return function_(run, self_, arguments); }
    int depth() const override { return self_.depth() + 1; }

 private:
    Value self_;
    Function function_;
};

Value dict_keys(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "keys", arguments, {});
    return make_sequence(run, elements(run, self), Flavour::keys);
}

Value dict_values(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "values", arguments, {});
    List items;
    for (const auto& entry : self.dict().entries()) items.push_back(entry.second);
    return make_sequence(run, std::move(items), Flavour::values);
}

Value dict_items(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "items", arguments, {});
    List items;
    for (const auto& [key, value] : self.dict().entries()) {
        items.push_back(make_sequence(run, {key, value}, Flavour::tuple));
    }
    return make_sequence(run, std::move(items), Flavour::items);
}

Value dict_get(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "get", arguments, {"key", "default"}, 1);
    const Value* found = self.dict().find(given.value(0));
    if (found) return *found;
    return given.find(1) ? given.value(1) : Value::none();
}

Value copy_of(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "copy", arguments, {});
    return self;  // nothing changes in place
}

Value list_index(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "index", arguments, {"value"}, 1);
    const List& items = self.sequence().items;
    for (size_t i = 0; i < items.size(); ++i) {
        if (equal(run, items[i], given.value(0))) return static_cast<int64_t>(i);
    }
    run.fail("the list does not hold the value that index looks for");
}

Value list_count(Run& run, const Value& self, const Arguments& arguments) {
    const Parameters given(run, "count", arguments, {"value"}, 1);
    const auto is_it = [&](const Value& item) { return equal(run, item, given.value(0)); };
    return static_cast<int64_t>(std::ranges::count_if(self.sequence().items, is_it));
}

const MethodTable& table_of(const Value& value) {
    static const MethodTable none = {};
    static const MethodTable of_dicts = {
        {"keys", dict_keys}, {"values", dict_values}, {"items", dict_items}, {"get", dict_get}, {"copy", copy_of}};
    static const MethodTable of_lists = {{"index", list_index}, {"count", list_count}, {"copy", copy_of}};
    static const MethodTable of_tuples = {{"index", list_index}, {"count", list_count}};
    if (value.is_text()) return text_methods();
    if (value.is(Kind::dict)) return of_dicts;
    if (value.is_sequence(Flavour::list)) return of_lists;
    if (value.is_sequence(Flavour::tuple) || value.is_sequence(Flavour::range)) return of_tuples;
    return none;
}

}  // namespace

std::optional<Value> find_method(Run& run, const Value& value, std::string_view name) {
    const MethodTable& table = table_of(value);
    const auto found = table.find(name);
    if (found == table.end()) return {};
    run.take(sizeof(BoundMethod));
    return Value(std::make_shared<BoundMethod>(value, found->second));
}

bool changes_in_place(const Value& value, std::string_view name) {
    static constexpr std::string_view of_dicts[] = {"clear", "pop", "popitem", "setdefault", "update"};
    static constexpr std::string_view of_lists[] = {"append", "clear",  "extend",  "insert",
                                                    "pop",    "remove", "reverse", "sort"};
    if (value.is(Kind::dict)) return std::ranges::find(of_dicts, name) != std::end(of_dicts);
    if (value.is_sequence(Flavour::list)) return std::ranges::find(of_lists, name) != std::end(of_lists);
    return false;
}

}  // namespace toy::jinja
