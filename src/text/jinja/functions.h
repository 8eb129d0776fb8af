#pragma once
#include "text/jinja/value.h"

namespace toy::jinja {

/// What every template can call: range, dict, namespace, cycler, joiner, raise_exception, strftime_now.
void add_functions(Run& run, Scope& scope);

/// namespace(…): the one value that a template can change, by {% set name.attribute = … %}.
class Namespace : public Object {
 public:
    std::string_view type_name() const override { return "Namespace"; }
    std::optional<Value> attribute(Run& run, std::string_view name) override;
    void set(Run& run, const std::string& name, Value value);
    void clear() override { attributes_.clear(); }

 private:
    std::map<std::string, Value, std::less<>> attributes_;
};

}  // namespace toy::jinja
