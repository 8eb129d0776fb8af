#include "text/jinja/functions.h"

#include "io/quote.h"
#include "text/jinja/formatting.h"
#include "text/jinja/operators.h"
#include "text/jinja/parameters.h"
#include "text/jinja/show.h"

namespace toy::jinja {
namespace {

using Kind = Value::Kind;

constexpr int64_t k_most_range = 100'000;  // as Jinja2's sandbox has it

class PlainFunction : public Object {
 public:
    using Body = Value (*)(Run& run, const Arguments& arguments);
    explicit PlainFunction(Body body) : body_(body) {}
    std::string_view type_name() const override { return "function"; }
    bool is_callable() const override { return true; }
    Value call(Run& run, const Arguments& arguments) override { return body_(run, arguments); }

 private:
    Body body_;
};

// cycler(a, b, …): next() gives them in turn.
class Cycler : public Object {
 public:
    Cycler(List items, int depth) : items_(std::move(items)), depth_(depth) {}
    std::string_view type_name() const override { return "Cycler"; }
    int depth() const override { return depth_; }
    std::optional<Value> attribute(Run& run, std::string_view name) override;
    const Value& current() const { return items_[at_]; }
    void move() { at_ = (at_ + 1) % items_.size(); }
    void reset() { at_ = 0; }

 private:
    List items_;
    int depth_;
    size_t at_ = 0;
};

class CyclerMethod : public Object {
 public:
    CyclerMethod(Cycler& cycler, bool is_reset) : cycler_(cycler), is_reset_(is_reset) {}
    std::string_view type_name() const override { return "method"; }
    bool is_callable() const override { return true; }
    Value call(Run&, const Arguments&) override {
        if (is_reset_) return cycler_.reset(), Value::none();
        const Value value = cycler_.current();
        cycler_.move();
        return value;
    }

 private:
    Cycler& cycler_;  // kept by the run
    bool is_reset_;
};

std::optional<Value> Cycler::attribute(Run& run, std::string_view name) {
    if (name == "current") return current();
    if (name != "next" && name != "reset") return {};
    run.take(sizeof(CyclerMethod));
    return Value(std::make_shared<CyclerMethod>(*this, name == "reset"));
}

// joiner(separator): nothing when called first, the separator from then on.
class Joiner : public Object {
 public:
    explicit Joiner(Value separator) : separator_(std::move(separator)) {}
    std::string_view type_name() const override { return "Joiner"; }
    bool is_callable() const override { return true; }
    int depth() const override { return separator_.depth() + 1; }
    Value call(Run& run, const Arguments&) override {
        return std::exchange(was_called_, true) ? separator_ : make_text(run, "");
    }

 private:
    Value separator_;
    bool was_called_ = false;
};

Value make_range(Run& run, const Arguments& arguments) {
    const Parameters given(run, "range", arguments, {"start", "stop", "step"}, 1);
    const bool has_stop = given.find(1) != nullptr;
    const int64_t start = has_stop ? given.integer(0) : 0;
    const int64_t stop = has_stop ? given.integer(1) : given.integer(0);
    const int64_t step = given.integer(2, 1);
    constexpr int64_t far = int64_t{1} << 60;
    if (step == 0) run.fail("range in steps of zero");
    if (std::abs(start) > far || std::abs(stop) > far || std::abs(step) > far) run.fail("range over numbers too large");
    const int64_t count = step > 0 ? (stop - start + step - 1) / step : (stop - start + step + 1) / step;
    if (count > k_most_range) run.fail("range over {} numbers; at most {} are allowed", count, k_most_range);
    List items;
    for (int64_t i = 0; i < count; ++i) items.push_back(start + i * step);
    run.take_list(items.size());
    std::string note =
        step == 1 ? fmt::format("range({}, {})", start, stop) : fmt::format("range({}, {}, {})", start, stop, step);
    return std::make_shared<const Sequence>(
        Sequence{Sequence::Flavour::range, std::move(items), 1, false, std::move(note)});
}

// The pairs of dict(…) and namespace(…): one dict or list of pairs, then names.
std::vector<Dict::Entry> pairs_of(Run& run, std::string_view function, const Arguments& arguments) {
    std::vector<Dict::Entry> pairs;
    if (arguments.positional.size() > 1) run.fail("{} takes one value and names", function);
    for (const Value& value : arguments.positional) {
        if (value.is(Kind::dict)) {
            pairs = value.dict().entries();
            continue;
        }
        for (const Value& element : elements(run, value)) {
            const List pair = elements(run, element);
            if (pair.size() != 2) run.fail("{} wants pairs", function);
            pairs.emplace_back(pair[0], pair[1]);
        }
    }
    for (const auto& [name, value] : arguments.named) pairs.emplace_back(make_text(run, name), value);
    return pairs;
}

Value make_dict_of(Run& run, const Arguments& arguments) {
    Dict dict;
    for (auto& [key, value] : pairs_of(run, "dict", arguments)) dict.set(run, key, value);
    return make_dict(run, std::move(dict));
}

Value make_namespace(Run& run, const Arguments& arguments) {
    auto made = std::make_shared<Namespace>();
    run.keep(made);
    for (auto& [key, value] : pairs_of(run, "namespace", arguments)) {
        if (!key.is_text()) run.fail("the names of a namespace are texts");
        made->set(run, key.text(), value);
    }
    return Value(std::move(made));
}

Value make_cycler(Run& run, const Arguments& arguments) {
    if (arguments.positional.empty()) run.fail("cycler needs at least one value");
    const Value list = make_sequence(run, arguments.positional);
    auto made = std::make_shared<Cycler>(arguments.positional, list.depth());
    run.keep(made);
    return Value(std::move(made));
}

Value make_joiner(Run& run, const Arguments& arguments) {
    const Parameters given(run, "joiner", arguments, {"sep"});
    run.take(sizeof(Joiner));
    return Value(std::make_shared<Joiner>(given.find(0) ? given.value(0) : make_text(run, ", ")));
}

Value raise_exception(Run& run, const Arguments& arguments) {
    const Parameters given(run, "raise_exception", arguments, {"message"}, 1);
    run.fail("the template refuses this conversation: {}", quote(to_text(run, given.value(0))));
}

Value strftime_now(Run& run, const Arguments& arguments) {
    const Parameters given(run, "strftime_now", arguments, {"format"}, 1);
    return make_text(run, format_time(run, given.text(0)));
}

}  // namespace

std::optional<Value> Namespace::attribute(Run&, std::string_view name) {
    const auto found = attributes_.find(name);
    if (found == attributes_.end()) return {};
    return found->second;
}

void Namespace::set(Run& run, const std::string& name, Value value) {
    run.take(name.size() + sizeof(Value));
    attributes_[name] = std::move(value);
}

void add_functions(Run&, Scope& scope) {
    static constexpr std::pair<std::string_view, PlainFunction::Body> all[] = {
        {"range", make_range},          {"dict", make_dict_of},  {"namespace", make_namespace},
        {"cycler", make_cycler},        {"joiner", make_joiner}, {"raise_exception", raise_exception},
        {"strftime_now", strftime_now},
    };
    for (const auto& [name, body] : all) {
        scope.variables[std::string(name)] = Value(std::make_shared<PlainFunction>(body));
    }
}

}  // namespace toy::jinja
