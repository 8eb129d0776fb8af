#pragma once
#include <ctime>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/run.h"

namespace toy::jinja {

/// A template of Jinja2's language, as far as chat templates use it (docs/chat-templates.md lists it), in the
/// environment that Hugging Face's transformers sets up: trim_blocks, lstrip_blocks, break and continue, the filter
/// tojson of plain JSON, raise_exception, strftime_now, {% generation %}, nothing escaped, nothing changed in place.
/// Immutable; serves any number of threads.
class Template {
 public:
    struct Output {
        std::string text;
        std::vector<Span> generation;        ///< what {% generation %} blocks wrote, in order
        bool has_hidden_generation = false;  ///< one wrote inside a macro or variable, where its place is unknown
    };

    /// `name` stands in sentences ("tokenizer.chat_template"). Throws Error{bad_input} with the line of what is no
    /// template, or nothing that chat templates use.
    static Template compile(std::string name, std::string_view source, const Limits& limits = {});

    /// The text for the variables, an object. `now` is what strftime_now sees. Throws Error{bad_input} with the line
    /// where the template fails, refuses (raise_exception), or takes more than its limits.
    Output render(const nlohmann::ordered_json& variables, const std::tm& now) const;
    bool has_generation() const;

    ~Template();
    Template(Template&&) noexcept;
    Template& operator=(Template&&) noexcept;

 private:
    struct Parts;
    explicit Template(std::unique_ptr<const Parts> parts);
    std::unique_ptr<const Parts> parts_;
};

/// The local time of now.
std::tm local_time();

}  // namespace toy::jinja
