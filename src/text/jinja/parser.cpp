#include "text/jinja/parser.h"

#include <algorithm>

#include "io/quote.h"

namespace toy::jinja {
namespace {

std::string shown(const Token& token) {
    switch (token.type) {
        case Token::Type::data: return "text";
        case Token::Type::block_begin: return "{%";
        case Token::Type::block_end: return "%}";
        case Token::Type::variable_begin: return "{{";
        case Token::Type::variable_end: return "}}";
        case Token::Type::string: return "a string";
        case Token::Type::integer:
        case Token::Type::real:
        case Token::Type::name:
        case Token::Type::symbol: return quote(token.text);
        case Token::Type::end: return "the end of the template";
    }
    return "";
}

}  // namespace

const Token& Parser::look(size_t ahead) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }

Token Parser::take() {
    Token taken = tokens_[at_];
    if (at_ + 1 < tokens_.size()) ++at_;
    return taken;
}

bool Parser::skip_symbol(std::string_view symbol) {
    const bool found = at_symbol(symbol);
    if (found) take();
    return found;
}

bool Parser::skip_name(std::string_view name) {
    const bool found = at_name(name);
    if (found) take();
    return found;
}

void Parser::expect_symbol(std::string_view symbol) {
    if (!skip_symbol(symbol)) refuse_token(quote(symbol));
}

void Parser::expect_name(std::string_view name) {
    if (!skip_name(name)) refuse_token(quote(name));
}

void Parser::expect(Type type) {
    if (token().type != type) {
        Token wanted;
        wanted.type = type;
        refuse_token(shown(wanted));
    }
    take();
}

std::string Parser::expect_any_name(std::string_view what) {
    if (token().type != Type::name) refuse_token(what);
    return take().text;
}

void Parser::refuse(std::string_view why) {
    run_.line = token().line;
    run_.fail("{}", why);
}

void Parser::refuse_token(std::string_view wanted) {
    refuse(fmt::format("expected {}, found {}", wanted, shown(token())));
}

std::unique_ptr<Statement> Parser::make(Statement::Kind kind) {
    auto statement = std::make_unique<Statement>(Statement{.kind = kind});
    statement->line = token().line;
    return statement;
}

Block Parser::parse() {
    Block block = parse_until({});
    if (token().type != Type::end) refuse_token("a tag or text");
    return block;
}

// Stops behind the {% of a tag in `ends`.
Block Parser::parse_until(std::vector<std::string_view> ends) {
    const Nesting nesting(*this);
    Block block;
    while (token().type != Type::end) {
        if (token().type == Type::data) {
            auto text = make(Statement::Kind::text);
            text->text = take().text;
            block.push_back(std::move(text));
        } else if (token().type == Type::variable_begin) {
            auto print = make(Statement::Kind::print);
            take();
            print->expression = parse_tuple(true);
            expect(Type::variable_end);
            block.push_back(std::move(print));
        } else {
            expect(Type::block_begin);
            if (token().type == Type::name && std::ranges::find(ends, token().text) != ends.end()) return block;
            if (at_name("print")) {
                parse_print(block);
            } else {
                block.push_back(parse_statement());
            }
            expect(Type::block_end);
        }
    }
    if (!ends.empty()) refuse(fmt::format("a block has no {{% {} %}}", ends.back()));
    return block;
}

Block Parser::parse_body(std::vector<std::string_view> ends) {
    skip_symbol(":");
    expect(Type::block_end);
    return parse_until(std::move(ends));
}

std::unique_ptr<Statement> Parser::parse_statement() {
    using Method = void (Parser::*)(Statement&);
    struct Tag {
        std::string_view name;
        Statement::Kind kind;
        Method parse;
    };
    static constexpr Tag tags[] = {{"if", Statement::Kind::branches, &Parser::parse_if},
                                   {"for", Statement::Kind::loop, &Parser::parse_for},
                                   {"set", Statement::Kind::set, &Parser::parse_set},
                                   {"macro", Statement::Kind::macro, &Parser::parse_macro},
                                   {"call", Statement::Kind::call, &Parser::parse_call},
                                   {"filter", Statement::Kind::filter, &Parser::parse_filter_block},
                                   {"with", Statement::Kind::with, &Parser::parse_with}};
    const std::string name = token().text;
    if (token().type != Type::name) refuse_token("the name of a tag");
    for (const Tag& tag : tags) {
        if (name != tag.name) continue;
        auto statement = make(tag.kind);
        take();
        (this->*tag.parse)(*statement);
        return statement;
    }
    if (name == "generation") {
        auto statement = make(Statement::Kind::generation);
        take();
        has_generation_ = true;
        statement->body = parse_body({"endgeneration"});
        take();
        return statement;
    }
    if (name == "break" || name == "continue") {
        if (loops_ == 0) refuse(fmt::format("{{% {} %}} stands outside of a loop", name));
        auto statement = make(name == "break" ? Statement::Kind::leave : Statement::Kind::next);
        take();
        return statement;
    }
    for (const std::string_view known :
         {"block", "extends", "include", "import", "from", "autoescape", "do", "trans"}) {
        if (name == known) refuse(fmt::format("the tag {} is not for chat templates", quote(name)));
    }
    refuse(fmt::format("there is no tag {}", quote(name)));
}

void Parser::parse_if(Statement& statement) {
    while (true) {
        Statement::Branch branch;
        branch.condition = parse_tuple(false);
        branch.body = parse_body({"elif", "else", "endif"});
        statement.branches.push_back(std::move(branch));
        const std::string end = take().text;
        if (end == "endif") return;
        if (end == "elif") continue;
        statement.branches.push_back({nullptr, parse_body({"endif"})});
        take();
        return;
    }
}

void Parser::parse_for(Statement& statement) {
    statement.target = parse_target(false, "in");
    expect_name("in");
    statement.expression = parse_tuple(false, "recursive");
    if (skip_name("if")) statement.condition = parse_expression();
    if (at_name("recursive")) refuse("recursive loops are not supported");
    ++loops_;
    statement.body = parse_body({"else", "endfor"});
    --loops_;
    if (take().text == "endfor") return;
    statement.otherwise = parse_body({"endfor"});
    take();
}

void Parser::parse_set(Statement& statement) {
    statement.target = parse_target(true, "=");
    if (skip_symbol("=")) {
        statement.expression = parse_tuple(true);
        return;
    }
    statement.kind = Statement::Kind::set_block;
    while (at_symbol("|")) {
        take();
        statement.filter = parse_filter(std::move(statement.filter));
    }
    statement.body = parse_body({"endset"});
    take();
}

void Parser::parse_parameters(MacroBody& macro) {
    expect_symbol("(");
    while (!at_symbol(")")) {
        if (!macro.parameters.empty()) expect_symbol(",");
        macro.parameters.push_back(expect_any_name("the name of a parameter"));
        if (skip_symbol("=")) {
            macro.defaults.push_back(parse_expression());
        } else if (!macro.defaults.empty()) {
            refuse("a parameter without default follows one with a default");
        }
    }
    take();
}

void Parser::parse_macro_body(MacroBody& macro, std::string_view end) {
    const int outer_loops = std::exchange(loops_, 0);
    macros_.push_back(&macro);
    macro.body = parse_body({end});
    macros_.pop_back();
    loops_ = outer_loops;
    take();
}

void Parser::parse_macro(Statement& statement) {
    auto macro = std::make_shared<MacroBody>();
    macro->name = expect_any_name("the name of a macro");
    parse_parameters(*macro);
    parse_macro_body(*macro, "endmacro");
    statement.target.name = macro->name;
    statement.macro = std::move(macro);
}

void Parser::parse_call(Statement& statement) {
    auto macro = std::make_shared<MacroBody>();
    macro->name = "caller";
    if (at_symbol("(")) parse_parameters(*macro);
    statement.expression = parse_expression();
    if (statement.expression->kind != Kind::call) refuse("{% call %} needs a call");
    parse_macro_body(*macro, "endcall");
    statement.macro = std::move(macro);
}

void Parser::parse_filter_block(Statement& statement) {
    statement.filter = parse_filter(nullptr);
    while (skip_symbol("|")) statement.filter = parse_filter(std::move(statement.filter));
    statement.body = parse_body({"endfilter"});
    take();
}

void Parser::parse_with(Statement& statement) {
    while (token().type != Type::block_end) {
        if (!statement.bindings.empty()) expect_symbol(",");
        Statement::Binding binding;
        binding.target = parse_one_target("=");
        expect_symbol("=");
        binding.expression = parse_expression();
        statement.bindings.push_back(std::move(binding));
    }
    statement.body = parse_body({"endwith"});
    take();
}

void Parser::parse_print(Block& block) {
    take();
    bool is_first = true;
    while (token().type != Type::block_end) {
        if (!is_first) expect_symbol(",");
        is_first = false;
        auto print = make(Statement::Kind::print);
        print->expression = parse_expression();
        block.push_back(std::move(print));
    }
}

Target Parser::parse_one_target(std::string_view end) {
    const Nesting nesting(*this);
    if (skip_symbol("(")) {
        Target target = parse_target(false, end);
        expect_symbol(")");
        return target;
    }
    Target target;
    target.name = expect_any_name("a name to assign to");
    for (const std::string_view constant : {"true", "false", "none", "True", "False", "None"}) {
        if (target.name == constant) refuse(fmt::format("cannot assign to {}", target.name));
    }
    return target;
}

Target Parser::parse_target(bool may_be_namespace, std::string_view end) {
    if (may_be_namespace && token().type == Type::name && look().type == Type::symbol && look().text == ".") {
        Target target;
        target.name = take().text;
        take();
        target.attribute = expect_any_name("the name of an attribute");
        return target;
    }
    Target first = parse_one_target(end);
    if (!at_symbol(",")) return first;
    Target target;
    target.is_tuple = true;
    target.parts.push_back(std::move(first));
    while (skip_symbol(",")) {
        const bool is_end = at_symbol(end) || at_name(end) || at_symbol(")") || token().type == Type::block_end;
        if (is_end) break;
        target.parts.push_back(parse_one_target(end));
    }
    return target;
}

}  // namespace toy::jinja
