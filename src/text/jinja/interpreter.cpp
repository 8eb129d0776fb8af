#include "text/jinja/interpreter.h"

#include <algorithm>

#include "io/quote.h"
#include "text/jinja/functions.h"
#include "text/jinja/loop.h"
#include "text/jinja/operators.h"
#include "text/jinja/show.h"

namespace toy::jinja {
namespace {

using Kind = Statement::Kind;

// A macro with the scope it was defined in.
class Macro : public Object {
 public:
    Macro(Interpreter& interpreter, std::shared_ptr<const MacroBody> body, std::shared_ptr<Scope> scope)
        : interpreter_(interpreter), body_(std::move(body)), scope_(std::move(scope)) {}
    std::string_view type_name() const override { return "Macro"; }
    bool is_callable() const override { return true; }
    Value call(Run&, const Arguments& arguments) override { return interpreter_.call_macro(*body_, scope_, arguments); }
    std::optional<Value> attribute(Run& run, std::string_view name) override {
        if (name == "name") return make_text(run, body_->name);
        return {};
    }

 private:
    Interpreter& interpreter_;  // both live as long as the run
    std::shared_ptr<const MacroBody> body_;
    std::shared_ptr<Scope> scope_;
};

Value make_macro(Interpreter& interpreter, std::shared_ptr<const MacroBody> body, const std::shared_ptr<Scope>& scope) {
    auto macro = std::make_shared<Macro>(interpreter, std::move(body), scope);
    interpreter.run().keep(std::shared_ptr<Object>(macro));
    interpreter.run().keep(scope);
    return Value(std::shared_ptr<Object>(std::move(macro)));
}

}  // namespace

void Interpreter::render(const Block& block, const ScopePtr& scope, std::string& out, bool is_output) {
    execute(block, scope, {out, is_output});
}

Interpreter::ScopePtr Interpreter::inside(const ScopePtr& parent) {
    run_.take(sizeof(Scope));
    auto scope = std::make_shared<Scope>();
    scope->parent = parent;
    return scope;
}

void Interpreter::write(Output out, std::string_view text) {
    run_.take(text.size());
    if (out.text.size() + text.size() > run_.limits().text_bytes) {
        run_.fail("the template writes more than {} bytes", run_.limits().text_bytes);
    }
    out.text += text;
}

Interpreter::Flow Interpreter::execute(const Block& block, const ScopePtr& scope, Output out) {
    const Run::Level level(run_);
    for (const auto& statement : block) {
        run_.line = statement->line;
        run_.step();
        const Flow flow = execute_one(*statement, scope, out);
        if (flow != Flow::normal) return flow;
    }
    return Flow::normal;
}

Interpreter::Flow Interpreter::execute_one(const Statement& statement, const ScopePtr& scope, Output out) {
    switch (statement.kind) {
        case Kind::text: write(out, statement.text); break;
        case Kind::print: write(out, to_text(run_, evaluate(*statement.expression, scope))); break;
        case Kind::set: assign(statement.target, evaluate(*statement.expression, scope), scope); break;
        case Kind::set_block: {
            Value text = text_of(statement.body, scope);
            if (statement.filter) text = filter_text(*statement.filter, text, scope);
            assign(statement.target, text, scope);
            break;
        }
        case Kind::branches: return execute_branches(statement, scope, out);
        case Kind::loop: return execute_loop(statement, scope, out);
        case Kind::macro: assign(statement.target, make_macro(*this, statement.macro, scope), scope); break;
        case Kind::call: execute_call(statement, scope, out); break;
        case Kind::filter:
            write(out, to_text(run_, filter_text(*statement.filter, text_of(statement.body, scope), scope)));
            break;
        case Kind::with: {
            const ScopePtr inner = inside(scope);
            for (const auto& binding : statement.bindings) {
                assign(binding.target, evaluate(*binding.expression, scope), inner);
            }
            return execute(statement.body, inner, out);
        }
        case Kind::generation: return execute_generation(statement, scope, out);
        case Kind::leave: return Flow::leave;
        case Kind::next: return Flow::next;
    }
    return Flow::normal;
}

Interpreter::Flow Interpreter::execute_branches(const Statement& statement, const ScopePtr& scope, Output out) {
    for (const auto& branch : statement.branches) {
        if (!branch.condition || truth(evaluate(*branch.condition, scope))) return execute(branch.body, scope, out);
    }
    return Flow::normal;
}

// Every turn has a scope of its own, so what is set inside is gone in the next, as in Jinja2.
Interpreter::Flow Interpreter::execute_loop(const Statement& statement, const ScopePtr& scope, Output out) {
    Loop::Condition condition;
    if (statement.condition) {
        condition = [&](const Value& item) {
            const ScopePtr inner = inside(scope);
            assign(statement.target, item, inner);
            return truth(evaluate(*statement.condition, inner));
        };
    }
    const Value iterated = evaluate(*statement.expression, scope);
    const auto loop = std::make_shared<Loop>(elements(run_, iterated), std::move(condition));
    bool was_whole = false;  // a turn that ends in break or continue is none to Jinja2's else
    while (const Value* item = loop->next()) {
        run_.step();
        const ScopePtr inner = inside(scope);
        inner->variables["loop"] = Value(std::shared_ptr<Object>(loop));
        assign(statement.target, *item, inner);
        const Flow flow = execute(statement.body, inner, out);
        if (flow == Flow::leave) break;
        was_whole = was_whole || flow == Flow::normal;
    }
    loop->finish();
    if (!was_whole && !statement.otherwise.empty()) return execute(statement.otherwise, inside(scope), out);
    return Flow::normal;
}

void Interpreter::execute_call(const Statement& statement, const ScopePtr& scope, Output out) {
    const Expression& expression = *statement.expression;
    const Value callee = evaluate(*expression.children[0], scope);
    Arguments arguments = arguments_of(expression.arguments, scope);
    arguments.named.emplace_back("caller", make_macro(*this, statement.macro, scope));
    run_.line = statement.line;
    write(out, to_text(run_, call(run_, callee, arguments)));
}

// As transformers has it, the body is a scope of its own.
Interpreter::Flow Interpreter::execute_generation(const Statement& statement, const ScopePtr& scope, Output out) {
    const size_t begin = out.text.size();
    const Flow flow = execute(statement.body, inside(scope), out);
    if (out.is_main) {
        run_.generation.push_back({begin, out.text.size()});
    } else {
        run_.has_hidden_generation = true;
    }
    return flow;
}

Value Interpreter::text_of(const Block& block, const ScopePtr& scope) {
    std::string text;
    execute(block, inside(scope), {text, false});
    return make_text(run_, std::move(text));
}

void Interpreter::assign(const Target& target, const Value& value, const ScopePtr& scope) {
    if (target.is_tuple) {
        const List parts = elements(run_, value);
        if (parts.size() != target.parts.size()) {
            run_.fail("{} values are assigned to {} names", parts.size(), target.parts.size());
        }
        for (size_t i = 0; i < parts.size(); ++i) assign(target.parts[i], parts[i], scope);
        return;
    }
    if (target.attribute.empty()) {
        run_.step(target.name.size());
        scope->variables[target.name] = value;
        return;
    }
    const Value* owner = scope->find(target.name);
    auto* found = owner && owner->is(Value::Kind::object) ? dynamic_cast<Namespace*>(&owner->object()) : nullptr;
    if (!found) run_.fail("cannot assign to {}: it is no namespace", quote(target.name + "." + target.attribute));
    found->set(run_, target.attribute, value);
}

// Parameters without a value get their default, which may use the parameters before it.
void Interpreter::bind_defaults(const MacroBody& macro, const ScopePtr& scope, size_t given) {
    const size_t required = macro.parameters.size() - macro.defaults.size();
    for (size_t i = given; i < macro.parameters.size(); ++i) {
        const std::string& name = macro.parameters[i];
        if (scope->variables.contains(name)) continue;
        scope->variables[name] = i < required
                                     ? Value::undefined(fmt::format("parameter {} was not provided", quote(name)))
                                     : evaluate(*macro.defaults[i - required], scope);
    }
}

Value Interpreter::call_macro(const MacroBody& macro, const ScopePtr& scope, const Arguments& arguments) {
    const Run::Level level(run_);
    run_.step();
    const ScopePtr inner = inside(scope);
    const size_t given = std::min(arguments.positional.size(), macro.parameters.size());
    for (size_t i = 0; i < given; ++i) inner->variables[macro.parameters[i]] = arguments.positional[i];
    Dict others;
    Value caller = Value::undefined("no caller is defined");
    for (const auto& [name, value] : arguments.named) {
        const auto position = std::ranges::find(macro.parameters, name) - macro.parameters.begin();
        const bool is_parameter = static_cast<size_t>(position) < macro.parameters.size();
        if (is_parameter && static_cast<size_t>(position) < given) {
            run_.fail("macro {} is given {} twice", quote(macro.name), quote(name));
        } else if (is_parameter) {
            inner->variables[name] = value;
        } else if (name == "caller" && macro.uses_caller) {
            caller = value;
        } else if (macro.uses_kwargs) {
            others.set(run_, make_text(run_, name), value);
        } else {
            run_.fail("macro {} has no parameter {}", quote(macro.name), quote(name));
        }
    }
    List more(arguments.positional.begin() + static_cast<ptrdiff_t>(given), arguments.positional.end());
    if (!more.empty() && !macro.uses_varargs) {
        run_.fail("macro {} takes at most {} argument(s)", quote(macro.name), macro.parameters.size());
    }
    bind_defaults(macro, inner, given);
    if (macro.uses_caller && !inner->variables.contains("caller")) inner->variables["caller"] = caller;
    if (macro.uses_kwargs) inner->variables["kwargs"] = make_dict(run_, std::move(others));
    if (macro.uses_varargs) {
        inner->variables["varargs"] = make_sequence(run_, std::move(more), Sequence::Flavour::tuple);
    }
    std::string text;
    execute(macro.body, inner, {text, false});
    return make_text(run_, std::move(text));
}

}  // namespace toy::jinja
