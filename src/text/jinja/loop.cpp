#include "text/jinja/loop.h"

#include "text/jinja/operators.h"

namespace toy::jinja {
namespace {

// loop.cycle(a, b, …)
class Cycle : public Object {
 public:
    explicit Cycle(int64_t index) : index_(static_cast<size_t>(index)) {}
    std::string_view type_name() const override { return "method"; }
    bool is_callable() const override { return true; }
    Value call(Run& run, const Arguments& arguments) override {
        const List& values = arguments.positional;
        if (values.empty()) run.fail("loop.cycle needs at least one value");
        return values[index_ % values.size()];
    }

 private:
    size_t index_;
};

}  // namespace

bool Loop::look_ahead() {
    while (at_ < items_.size()) {
        const Value& item = items_[at_++];
        if (condition_ && !condition_(item)) continue;
        ahead_.push_back(item);
        return true;
    }
    return false;
}

const Value* Loop::next() {
    if (ahead_.empty() && !look_ahead()) return nullptr;
    previous_ = std::move(current_);
    current_ = std::move(ahead_.front());
    ahead_.pop_front();
    ++index_;
    return &current_;
}

std::optional<Value> Loop::attribute(Run& run, std::string_view name) {
    if (name == "index") return index_ + 1;
    if (name == "index0") return index_;
    if (name == "first") return index_ == 0;
    if (name == "last") return ahead_.empty() && !look_ahead();
    if (name == "length") return length();
    if (name == "revindex") return length() - index_;
    if (name == "revindex0") return length() - index_ - 1;
    if (name == "depth") return int64_t{1};
    if (name == "depth0") return int64_t{0};
    if (name == "previtem") return index_ > 0 ? previous_ : Value::undefined("there is no previous item");
    if (name == "nextitem") {
        if (ahead_.empty() && !look_ahead()) return Value::undefined("there is no next item");
        return ahead_.front();
    }
    if (name == "cycle") {
        run.take(sizeof(Cycle));
        return Value(std::make_shared<Cycle>(index_));
    }
    if (name == "changed") run.fail("loop.changed is not supported");
    return {};
}

}  // namespace toy::jinja
