// Expressions.
#include "io/quote.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/method_tables.h"
#include "text/jinja/operators.h"
#include "text/jinja/show.h"

namespace toy::jinja {

using Kind = Expression::Kind;

Value Interpreter::evaluate(const Expression& expression, const ScopePtr& scope) {
    const Run::Level level(run_);
    run_.line = expression.line;
    run_.step();
    switch (expression.kind) {
        case Kind::constant: return expression.value;
        case Kind::name: return lookup(expression, scope);
        case Kind::tuple:
        case Kind::list: return evaluate_list(expression, scope);
        case Kind::dict: return evaluate_dict(expression, scope);
        case Kind::compare: return evaluate_compare(expression, scope);
        case Kind::concat: return evaluate_concat(expression, scope);
        case Kind::conditional: return evaluate_conditional(expression, scope);
        case Kind::slice: return evaluate_slice(expression, scope);
        case Kind::call: return evaluate_call(expression, scope);
        case Kind::filter: return evaluate_filter(expression, evaluate(*expression.children[0], scope), scope);
        case Kind::test: return evaluate_test(expression, scope);
        default: return evaluate_plain(expression, scope);
    }
}

// Those whose first operand always comes first.
Value Interpreter::evaluate_plain(const Expression& expression, const ScopePtr& scope) {
    const Value first = evaluate(*expression.children[0], scope);
    switch (expression.kind) {
        case Kind::logical_not: return !truth(first);
        case Kind::logical_and: return truth(first) ? evaluate(*expression.children[1], scope) : first;
        case Kind::logical_or: return truth(first) ? first : evaluate(*expression.children[1], scope);
        case Kind::negative: return negative(run_, first);
        case Kind::positive: return negative(run_, negative(run_, first));
        case Kind::attribute: run_.line = expression.line; return attribute(run_, first, expression.name);
        case Kind::item: {
            const Value key = evaluate(*expression.children[1], scope);
            run_.line = expression.line;
            return item(run_, first, key);
        }
        default: {
            const Value second = evaluate(*expression.children[1], scope);
            run_.line = expression.line;
            return arithmetic(run_, expression.operation, first, second);
        }
    }
}

Value Interpreter::lookup(const Expression& expression, const ScopePtr& scope) {
    if (const Value* found = scope->find(expression.name)) return *found;
    return Value::undefined(fmt::format("{} is undefined", quote(expression.name)));
}

Value Interpreter::evaluate_list(const Expression& expression, const ScopePtr& scope) {
    List items;
    for (const auto& child : expression.children) items.push_back(evaluate(*child, scope));
    const bool is_tuple = expression.kind == Kind::tuple;
    return make_sequence(run_, std::move(items), is_tuple ? Sequence::Flavour::tuple : Sequence::Flavour::list);
}

Value Interpreter::evaluate_dict(const Expression& expression, const ScopePtr& scope) {
    Dict dict;
    for (size_t i = 0; i + 1 < expression.children.size(); i += 2) {
        Value key = evaluate(*expression.children[i], scope);
        dict.set(run_, std::move(key), evaluate(*expression.children[i + 1], scope));
    }
    return make_dict(run_, std::move(dict));
}

// a < b < c is a < b and b < c, with b evaluated once.
Value Interpreter::evaluate_compare(const Expression& expression, const ScopePtr& scope) {
    Value left = evaluate(*expression.children[0], scope);
    for (size_t i = 0; i < expression.comparisons.size(); ++i) {
        Value right = evaluate(*expression.children[i + 1], scope);
        run_.line = expression.line;
        if (!compare(run_, expression.comparisons[i], left, right)) return false;
        left = std::move(right);
    }
    return true;
}

Value Interpreter::evaluate_concat(const Expression& expression, const ScopePtr& scope) {
    std::string text;
    for (const auto& child : expression.children) {
        const std::string part = to_text(run_, evaluate(*child, scope));
        run_.step(part.size());
        if (text.size() + part.size() > run_.limits().text_bytes) run_.fail("a joined text is too long");
        text += part;
    }
    return make_text(run_, std::move(text));
}

Value Interpreter::evaluate_conditional(const Expression& expression, const ScopePtr& scope) {
    if (truth(evaluate(*expression.children[0], scope))) return evaluate(*expression.children[1], scope);
    if (expression.children[2]) return evaluate(*expression.children[2], scope);
    return Value::undefined("an inline if without else was false");
}

Value Interpreter::evaluate_slice(const Expression& expression, const ScopePtr& scope) {
    const Value value = evaluate(*expression.children[0], scope);
    Value parts[3];
    for (size_t i = 0; i < 3; ++i) {
        if (expression.children[i + 1]) parts[i] = evaluate(*expression.children[i + 1], scope);
    }
    const auto part = [&](size_t i) { return expression.children[i + 1] ? &parts[i] : nullptr; };
    run_.line = expression.line;
    return slice(run_, value, part(0), part(1), part(2));
}

Arguments Interpreter::arguments_of(const ArgumentList& list, const ScopePtr& scope) {
    Arguments arguments;
    for (const auto& value : list.positional) arguments.positional.push_back(evaluate(*value, scope));
    for (const auto& [name, value] : list.named) arguments.named.emplace_back(name, evaluate(*value, scope));
    if (list.spread_positional) {
        for (Value& value : elements(run_, evaluate(*list.spread_positional, scope))) {
            arguments.positional.push_back(std::move(value));
        }
    }
    if (list.spread_named) {
        const Value names = evaluate(*list.spread_named, scope);
        if (!names.is(Value::Kind::dict)) run_.fail("** wants a dict, not {}", names.type_name());
        for (const auto& [name, value] : names.dict().entries()) {
            if (!name.is_text()) run_.fail("** wants names that are texts");
            arguments.named.emplace_back(name.text(), value);
        }
    }
    return arguments;
}

Value Interpreter::evaluate_call(const Expression& expression, const ScopePtr& scope) {
    const Value callee = evaluate(*expression.children[0], scope);
    const Arguments arguments = arguments_of(expression.arguments, scope);
    run_.line = expression.line;
    const Value result = call(run_, callee, arguments);
    run_.line = expression.line;
    return result;
}

Value Interpreter::evaluate_filter(const Expression& expression, const Value& value, const ScopePtr& scope) {
    const Run::Level level(run_);
    const Arguments arguments = arguments_of(expression.arguments, scope);
    run_.line = expression.line;
    return apply_filter(run_, expression.name, value, arguments);
}

Value Interpreter::filter_text(const Expression& filter, const Value& text, const ScopePtr& scope) {
    const auto& inner = filter.children[0];
    return evaluate_filter(filter, inner ? filter_text(*inner, text, scope) : text, scope);
}

Value Interpreter::evaluate_test(const Expression& expression, const ScopePtr& scope) {
    const Value value = evaluate(*expression.children[0], scope);
    const Arguments arguments = arguments_of(expression.arguments, scope);
    run_.line = expression.line;
    return apply_test(run_, expression.name, value, arguments);
}

}  // namespace toy::jinja
