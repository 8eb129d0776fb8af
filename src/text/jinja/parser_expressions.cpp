#include <algorithm>
#include <array>

#include "io/quote.h"
#include "text/jinja/parser.h"

namespace toy::jinja {

ExpressionPtr Parser::expression(Kind kind, int line) {
    auto made = std::make_unique<Expression>(Expression{.kind = kind});
    made->line = line;
    return made;
}

// Chains (a + b + c …, x.y.z …) nest without brackets, so their depth is counted where they are put together.
void Parser::deepen(Expression& parent, const Expression& child) {
    const int most = 2 * run_.limits().nesting;
    parent.depth = std::max(parent.depth, child.depth + 1);
    if (parent.depth > most) refuse(fmt::format("an expression of more than {} parts inside each other", most));
}

void Parser::adopt(Expression& parent, ExpressionPtr child) {
    if (child) deepen(parent, *child);
    parent.children.push_back(std::move(child));
}

ExpressionPtr Parser::with(Kind kind, int line, ExpressionPtr first, ExpressionPtr second) {
    auto made = expression(kind, line);
    adopt(*made, std::move(first));
    if (second) adopt(*made, std::move(second));
    return made;
}

bool Parser::at_tuple_end(std::string_view end) const {
    if (token().type == Type::variable_end || token().type == Type::block_end || at_symbol(")")) return true;
    return !end.empty() && at_name(end);
}

// `a` is an expression, `a, b` and `a,` are tuples.
ExpressionPtr Parser::parse_tuple(bool may_be_conditional, std::string_view end, bool in_brackets) {
    const Nesting nesting(*this);
    const int line = token().line;
    std::vector<ExpressionPtr> items;
    bool is_tuple = false;
    while (!at_tuple_end(end)) {
        items.push_back(may_be_conditional ? parse_expression() : parse_or());
        if (!skip_symbol(",")) break;
        is_tuple = true;
    }
    if (!is_tuple && !items.empty()) return std::move(items.front());
    if (!is_tuple && !in_brackets) refuse_token("an expression");
    auto tuple = expression(Kind::tuple, line);
    for (auto& item : items) adopt(*tuple, std::move(item));
    return tuple;
}

ExpressionPtr Parser::parse_expression() {
    const Nesting nesting(*this);
    auto value = parse_or();
    while (at_name("if")) {
        const int line = take().line;
        auto condition = parse_or();
        auto made = expression(Kind::conditional, line);
        adopt(*made, std::move(condition));
        adopt(*made, std::move(value));
        adopt(*made, skip_name("else") ? parse_expression() : nullptr);
        value = std::move(made);
    }
    return value;
}

ExpressionPtr Parser::parse_or() {
    auto left = parse_and();
    while (at_name("or")) {
        const int line = take().line;
        left = with(Kind::logical_or, line, std::move(left), parse_and());
    }
    return left;
}

ExpressionPtr Parser::parse_and() {
    auto left = parse_not();
    while (at_name("and")) {
        const int line = take().line;
        left = with(Kind::logical_and, line, std::move(left), parse_not());
    }
    return left;
}

ExpressionPtr Parser::parse_not() {
    if (!at_name("not")) return parse_compare();
    const Nesting nesting(*this);
    const int line = take().line;
    return with(Kind::logical_not, line, parse_not());
}

std::optional<Comparison> Parser::take_comparison() {
    static constexpr std::string_view symbols[] = {"==", "!=", "<", "<=", ">", ">="};
    for (size_t i = 0; i < std::size(symbols); ++i) {
        if (skip_symbol(symbols[i])) return static_cast<Comparison>(i);
    }
    if (skip_name("in")) return Comparison::in;
    if (!at_name("not") || look().type != Type::name || look().text != "in") return {};
    take();
    take();
    return Comparison::not_in;
}

ExpressionPtr Parser::parse_compare() {
    const int line = token().line;
    auto first = parse_sum();
    auto comparison = take_comparison();
    if (!comparison) return first;
    auto made = with(Kind::compare, line, std::move(first));
    for (; comparison; comparison = take_comparison()) {
        made->comparisons.push_back(*comparison);
        adopt(*made, parse_sum());
    }
    return made;
}

ExpressionPtr Parser::parse_sum() {
    auto left = parse_concat();
    while (at_symbol("+") || at_symbol("-")) {
        const Token sign = take();
        left = with(Kind::arithmetic, sign.line, std::move(left), parse_concat());
        left->operation = sign.text == "+" ? Operator::add : Operator::subtract;
    }
    return left;
}

ExpressionPtr Parser::parse_concat() {
    const int line = token().line;
    auto first = parse_product();
    if (!at_symbol("~")) return first;
    auto made = with(Kind::concat, line, std::move(first));
    while (skip_symbol("~")) adopt(*made, parse_product());
    return made;
}

ExpressionPtr Parser::parse_product() {
    static constexpr std::pair<std::string_view, Operator> operators[] = {
        {"*", Operator::multiply}, {"/", Operator::divide}, {"//", Operator::floor_divide}, {"%", Operator::modulo}};
    auto left = parse_power();
    while (true) {
        std::optional<Operator> operation;
        const int line = token().line;
        for (const auto& [symbol, meaning] : operators) {
            if (!operation && skip_symbol(symbol)) operation = meaning;
        }
        if (!operation) return left;
        left = with(Kind::arithmetic, line, std::move(left), parse_power());
        left->operation = *operation;
    }
}

ExpressionPtr Parser::parse_power() {
    auto left = parse_unary(true);
    while (at_symbol("**")) {
        const int line = take().line;
        left = with(Kind::arithmetic, line, std::move(left), parse_unary(true));
        left->operation = Operator::power;
    }
    return left;
}

ExpressionPtr Parser::parse_unary(bool with_filters) {
    ExpressionPtr value;
    if (at_symbol("-") || at_symbol("+")) {
        const Nesting nesting(*this);
        const Token sign = take();
        value = with(sign.text == "-" ? Kind::negative : Kind::positive, sign.line, parse_unary(false));
    } else {
        value = parse_primary();
    }
    value = parse_postfix(std::move(value));
    return with_filters ? parse_filters(std::move(value)) : std::move(value);
}

ExpressionPtr Parser::parse_primary() {
    const int line = token().line;
    if (token().type == Type::name) return parse_name();
    if (token().type == Type::string) {
        std::string text;
        while (token().type == Type::string) text += take().text;
        auto made = expression(Kind::constant, line);
        made->value = Value::text(std::move(text));
        return made;
    }
    if (token().type == Type::integer || token().type == Type::real) {
        const Token number = take();
        auto made = expression(Kind::constant, line);
        made->value = number.type == Type::integer ? Value(number.integer) : Value(number.real);
        return made;
    }
    if (skip_symbol("(")) {
        auto made = parse_tuple(true, {}, true);
        expect_symbol(")");
        return made;
    }
    if (at_symbol("[")) return parse_list();
    if (at_symbol("{")) return parse_dict();
    refuse_token("an expression");
}

ExpressionPtr Parser::parse_name() {
    const Token name = take();
    auto made = expression(Kind::constant, name.line);
    if (name.text == "true" || name.text == "True") {
        made->value = true;
    } else if (name.text == "false" || name.text == "False") {
        made->value = false;
    } else if (name.text == "none" || name.text == "None") {
        made->value = Value::none();
    } else {
        made->kind = Kind::name;
        made->name = name.text;
        for (MacroBody* macro : macros_) {
            macro->uses_caller |= name.text == "caller";
            macro->uses_varargs |= name.text == "varargs";
            macro->uses_kwargs |= name.text == "kwargs";
        }
    }
    return made;
}

ExpressionPtr Parser::parse_list() {
    const Nesting nesting(*this);
    auto made = expression(Kind::list, take().line);
    while (!at_symbol("]")) {
        adopt(*made, parse_expression());
        if (!skip_symbol(",")) break;
    }
    expect_symbol("]");
    return made;
}

ExpressionPtr Parser::parse_dict() {
    const Nesting nesting(*this);
    auto made = expression(Kind::dict, take().line);
    while (!at_symbol("}")) {
        adopt(*made, parse_expression());
        expect_symbol(":");
        adopt(*made, parse_expression());
        if (!skip_symbol(",")) break;
    }
    expect_symbol("}");
    return made;
}

ExpressionPtr Parser::parse_postfix(ExpressionPtr value) {
    while (true) {
        if (at_symbol(".")) {
            value = parse_attribute(std::move(value));
        } else if (at_symbol("[")) {
            value = parse_item(std::move(value));
        } else if (at_symbol("(")) {
            value = parse_call_of(std::move(value));
        } else {
            return value;
        }
    }
}

ExpressionPtr Parser::parse_filters(ExpressionPtr value) {
    while (true) {
        if (skip_symbol("|")) {
            value = parse_filter(std::move(value));
        } else if (at_name("is")) {
            value = parse_test(std::move(value));
        } else if (at_symbol("(")) {
            value = parse_call_of(std::move(value));
        } else {
            return value;
        }
    }
}

ExpressionPtr Parser::parse_attribute(ExpressionPtr value) {
    const int line = take().line;
    const Token what = token();
    if (what.type != Type::name && what.type != Type::integer) refuse_token("the name of an attribute");
    take();
    if (what.type == Type::name) {
        auto made = with(Kind::attribute, line, std::move(value));
        made->name = what.text;
        return made;
    }
    auto key = expression(Kind::constant, line);
    key->value = what.integer;
    return with(Kind::item, line, std::move(value), std::move(key));
}

ExpressionPtr Parser::parse_item(ExpressionPtr value) {
    const Nesting nesting(*this);
    const int line = take().line;
    std::array<ExpressionPtr, 3> parts;
    size_t colons = 0;
    while (!at_symbol("]")) {
        if (skip_symbol(":")) {
            if (++colons > 2) refuse("a slice has more than two colons");
        } else if (parts[colons]) {
            refuse_token("']'");
        } else {
            parts[colons] = parse_expression();
        }
    }
    take();
    if (colons == 0) {
        if (!parts[0]) refuse("an index is empty");
        return with(Kind::item, line, std::move(value), std::move(parts[0]));
    }
    auto made = with(Kind::slice, line, std::move(value));
    for (auto& part : parts) adopt(*made, std::move(part));
    return made;
}

std::string Parser::parse_dotted_name(std::string_view what) {
    std::string name = expect_any_name(what);
    while (skip_symbol(".")) name += "." + expect_any_name(what);
    return name;
}

ExpressionPtr Parser::parse_filter(ExpressionPtr value) {
    const int line = token().line;
    auto made = expression(Kind::filter, line);
    adopt(*made, std::move(value));
    made->name = parse_dotted_name("the name of a filter");
    if (at_symbol("(")) parse_arguments(*made);
    return made;
}

ExpressionPtr Parser::parse_test(ExpressionPtr value) {
    const Nesting nesting(*this);
    const int line = take().line;
    const bool is_negated = skip_name("not");
    auto made = with(Kind::test, line, std::move(value));
    made->name = parse_dotted_name("the name of a test");
    const Type type = token().type;
    const bool is_operand = type == Type::name || type == Type::string || type == Type::integer || type == Type::real ||
                            at_symbol("[") || at_symbol("{");
    if (at_symbol("(")) {
        parse_arguments(*made);
    } else if (is_operand && !at_name("else") && !at_name("or") && !at_name("and")) {
        if (at_name("is")) refuse("tests cannot be chained");
        made->arguments.positional.push_back(parse_postfix(parse_primary()));
        deepen(*made, *made->arguments.positional.back());
    }
    return is_negated ? with(Kind::logical_not, line, std::move(made)) : std::move(made);
}

ExpressionPtr Parser::parse_call_of(ExpressionPtr value) {
    auto made = with(Kind::call, token().line, std::move(value));
    parse_arguments(*made);
    return made;
}

void Parser::parse_arguments(Expression& call) {
    const Nesting nesting(*this);
    ArgumentList& arguments = call.arguments;
    expect_symbol("(");
    while (!at_symbol(")")) {
        const bool is_named = token().type == Type::name && look().type == Type::symbol && look().text == "=";
        bool is_ordered = !arguments.spread_named;
        if (skip_symbol("*")) {
            is_ordered = is_ordered && !arguments.spread_positional;
            arguments.spread_positional = parse_expression();
        } else if (skip_symbol("**")) {
            arguments.spread_named = parse_expression();
        } else if (is_named) {
            std::string name = take().text;
            take();
            arguments.named.emplace_back(std::move(name), parse_expression());
        } else {
            is_ordered = is_ordered && !arguments.spread_positional && arguments.named.empty();
            arguments.positional.push_back(parse_expression());
        }
        if (!is_ordered) refuse("the arguments of a call are in no order that Jinja allows");
        if (!skip_symbol(",")) break;
    }
    expect_symbol(")");
    for (const auto& argument : arguments.positional) deepen(call, *argument);
    for (const auto& argument : arguments.named) deepen(call, *argument.second);
    if (arguments.spread_positional) deepen(call, *arguments.spread_positional);
    if (arguments.spread_named) deepen(call, *arguments.spread_named);
}

}  // namespace toy::jinja
