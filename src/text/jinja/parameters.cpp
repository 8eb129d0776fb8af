#include "text/jinja/parameters.h"

#include <algorithm>

#include "io/quote.h"
#include "text/jinja/operators.h"

namespace toy::jinja {

Parameters::Parameters(Run& run, std::string_view function, const Arguments& arguments,
                       std::initializer_list<std::string_view> names, size_t required)
    : run_(run), function_(function), names_(names), values_(names.size()), is_given_(names.size()) {
    if (arguments.positional.size() > names.size()) {
        run.fail("{} takes at most {} argument(s), not {}", function, names.size(), arguments.positional.size());
    }
    for (size_t i = 0; i < arguments.positional.size(); ++i) set(i, arguments.positional[i]);
    for (const auto& [name, value] : arguments.named) set(find_name(name), value);
    for (size_t i = 0; i < required; ++i) {
        if (!is_given_[i]) run.fail("{} needs its argument {}", function, names.begin()[i]);
    }
}

size_t Parameters::find_name(const std::string& name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) run_.fail("{} has no argument {}", function_, quote(name));
    return static_cast<size_t>(found - names_.begin());
}

void Parameters::set(size_t i, const Value& value) {
    if (is_given_[i]) run_.fail("{} is given its argument {} twice", function_, names_[i]);
    values_[i] = value;
    is_given_[i] = true;
}

std::string Parameters::text(size_t i, std::string_view fallback) const {
    if (!has(i)) return std::string(fallback);
    if (values_[i].is_undefined()) run_.fail("{}", values_[i].hint());
    if (!values_[i].is_text()) {
        run_.fail("{} wants a text as {}, not {}", function_, names_[i], values_[i].type_name());
    }
    return values_[i].text();
}

int64_t Parameters::integer(size_t i, int64_t fallback) const {
    if (!has(i)) return fallback;
    if (values_[i].is_undefined()) run_.fail("{}", values_[i].hint());
    const auto number = values_[i].as_index();
    if (!number) run_.fail("{} wants a whole number as {}, not {}", function_, names_[i], values_[i].type_name());
    return *number;
}

bool Parameters::on(size_t i, bool fallback) const { return is_given_[i] ? truth(values_[i]) : fallback; }

}  // namespace toy::jinja
