#pragma once
#include <algorithm>
#include <deque>
#include <functional>

#include "text/jinja/value.h"

namespace toy::jinja {

/// What {% for %} goes through and what `loop` says of it. Elements that a condition leaves out are left out when the
/// loop gets there and no earlier, unless `loop` is asked for what lies ahead.
class Loop : public Object {
 public:
    using Condition = std::function<bool(const Value&)>;
    Loop(List items, Condition condition) : items_(std::move(items)), condition_(std::move(condition)) {
        for (const Value& item : items_) depth_ = std::max(depth_, item.depth() + 1);
    }

    /// The next element, or nothing at the end.
    const Value* next();

    std::string_view type_name() const override { return "LoopContext"; }
    int depth() const override { return depth_; }
    std::optional<Value> attribute(Run& run, std::string_view name) override;
    /// Forgets the condition, which refers to the block that is left now.
    void finish() {
        at_ = items_.size();
        condition_ = nullptr;
    }

 private:
    bool look_ahead();
    void look_ahead_to_end() {
        while (look_ahead()) continue;
    }
    int64_t length() {
        look_ahead_to_end();
        return index_ + 1 + static_cast<int64_t>(ahead_.size());
    }

    List items_;
    Condition condition_;
    size_t at_ = 0;            // in items_
    std::deque<Value> ahead_;  // elements that the loop will come to
    int64_t index_ = -1;
    Value current_, previous_;
    int depth_ = 1;
};

}  // namespace toy::jinja
