#include "text/jinja/template.h"

#include <nlohmann/json.hpp>

#include "text/jinja/functions.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/parser.h"

namespace toy::jinja {

struct Template::Parts {
    std::string name;
    Limits limits;
    Block block;
    bool has_generation = false;
};

Template::Template(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Template::~Template() = default;
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;

Template Template::compile(std::string name, std::string_view source, const Limits& limits) {
    Run run(name, limits, std::tm());
    Parser parser(run, tokenize(run, source));
    auto parts = std::make_unique<Parts>();
    parts->block = parser.parse();
    parts->name = std::move(name);
    parts->limits = limits;
    parts->has_generation = parser.has_generation();
    return Template(std::move(parts));
}

Template::Output Template::render(const nlohmann::ordered_json& variables, const std::tm& now) const {
    Run run(parts_->name, parts_->limits, now);
    Interpreter interpreter(run);
    const auto globals = std::make_shared<Scope>();
    add_functions(run, *globals);
    const auto scope = std::make_shared<Scope>();
    scope->parent = globals;
    for (const auto& [name, value] : variables.items()) globals->variables[name] = from_json(run, value);
    Output output;
    interpreter.render(parts_->block, scope, output.text, true);
    output.generation = std::move(run.generation);
    output.has_hidden_generation = run.has_hidden_generation;
    return output;
}

bool Template::has_generation() const { return parts_->has_generation; }

std::tm local_time() {
    const std::time_t now = std::time(nullptr);
    std::tm local = {};
    ::localtime_r(&now, &local);
    return local;
}

}  // namespace toy::jinja
