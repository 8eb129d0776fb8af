#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"

namespace toy::jinja {

/// Arguments matched to the parameters of a function, filter or method of ours. Throws where there are too many, where
/// a name is unknown or given twice, and where one of the first `required` is missing.
class Parameters {
 public:
    Parameters(Run& run, std::string_view function, const Arguments& arguments,
               std::initializer_list<std::string_view> names, size_t required = 0);

    /// Null where it is not given.
    const Value* find(size_t i) const { return is_given_[i] ? &values_[i] : nullptr; }
    /// Whether it is given and not None.
    bool has(size_t i) const { return is_given_[i] && !values_[i].is_none(); }
    const Value& value(size_t i) const { return values_[i]; }
    /// The text; throws where it is none. The fallback where it is not given or None.
    std::string text(size_t i, std::string_view fallback = {}) const;
    int64_t integer(size_t i, int64_t fallback = 0) const;
    /// Its truth.
    bool on(size_t i, bool fallback = false) const;

 private:
    void set(size_t i, const Value& value);
    size_t find_name(const std::string& name) const;

    Run& run_;
    std::string_view function_;
    std::vector<std::string_view> names_;  // a copy: the list of the call ends with the declaration
    List values_;
    std::vector<bool> is_given_;
};

}  // namespace toy::jinja
