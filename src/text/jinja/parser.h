#pragma once
#include <string_view>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/lexer.h"

namespace toy::jinja {

/// Makes statements of tokens, with the grammar and the precedence of Jinja2's parser (which are not Python's: filters
/// and tests bind tighter than any operator, ~ tighter than +). Expressions are in parser_expressions.cpp.
class Parser {
 public:
    Parser(Run& run, std::vector<Token> tokens) : run_(run), tokens_(std::move(tokens)) {}

    /// The whole template. Throws Error{bad_input} with the line.
    Block parse();
    /// Whether it has {% generation %} blocks.
    bool has_generation() const { return has_generation_; }

 private:
    class Nesting;
    using Type = Token::Type;
    using Kind = Expression::Kind;

    const Token& token() const { return tokens_[at_]; }
    const Token& look(size_t ahead = 1) const;
    Token take();
    bool at_symbol(std::string_view symbol) const { return token().type == Type::symbol && token().text == symbol; }
    bool at_name(std::string_view name) const { return token().type == Type::name && token().text == name; }
    bool skip_symbol(std::string_view symbol);
    bool skip_name(std::string_view name);
    void expect_symbol(std::string_view symbol);
    void expect_name(std::string_view name);
    void expect(Type type);
    std::string expect_any_name(std::string_view what);
    [[noreturn]] void refuse(std::string_view why);
    [[noreturn]] void refuse_token(std::string_view wanted);

    Block parse_until(std::vector<std::string_view> ends);
    std::unique_ptr<Statement> parse_statement();
    std::unique_ptr<Statement> make(Statement::Kind kind);
    /// The body of a block up to one of the tags `ends`, of which only the name is taken.
    Block parse_body(std::vector<std::string_view> ends);
    void parse_if(Statement& statement);
    void parse_for(Statement& statement);
    void parse_set(Statement& statement);
    void parse_macro(Statement& statement);
    void parse_call(Statement& statement);
    void parse_filter_block(Statement& statement);
    void parse_with(Statement& statement);
    void parse_print(Block& block);
    void parse_parameters(MacroBody& macro);
    void parse_macro_body(MacroBody& macro, std::string_view end);
    Target parse_target(bool may_be_namespace, std::string_view end);
    Target parse_one_target(std::string_view end);

    ExpressionPtr expression(Kind kind, int line);
    ExpressionPtr with(Kind kind, int line, ExpressionPtr first, ExpressionPtr second = nullptr);
    void deepen(Expression& parent, const Expression& child);
    void adopt(Expression& parent, ExpressionPtr child);
    ExpressionPtr parse_tuple(bool may_be_conditional, std::string_view end = {}, bool in_brackets = false);
    bool at_tuple_end(std::string_view end) const;
    ExpressionPtr parse_expression();
    ExpressionPtr parse_or();
    ExpressionPtr parse_and();
    ExpressionPtr parse_not();
    ExpressionPtr parse_compare();
    std::optional<Comparison> take_comparison();
    ExpressionPtr parse_sum();
    ExpressionPtr parse_concat();
    ExpressionPtr parse_product();
    ExpressionPtr parse_power();
    ExpressionPtr parse_unary(bool with_filters);
    ExpressionPtr parse_primary();
    ExpressionPtr parse_name();
    ExpressionPtr parse_list();
    ExpressionPtr parse_dict();
    ExpressionPtr parse_postfix(ExpressionPtr value);
    ExpressionPtr parse_filters(ExpressionPtr value);
    ExpressionPtr parse_attribute(ExpressionPtr value);
    ExpressionPtr parse_item(ExpressionPtr value);
    ExpressionPtr parse_filter(ExpressionPtr value);
    ExpressionPtr parse_test(ExpressionPtr value);
    ExpressionPtr parse_call_of(ExpressionPtr value);
    std::string parse_dotted_name(std::string_view what);
    void parse_arguments(Expression& call);

    Run& run_;
    std::vector<Token> tokens_;
    size_t at_ = 0;
    int nesting_ = 0;
    int loops_ = 0;  // around the current place, inside the same macro
    bool has_generation_ = false;
    std::vector<MacroBody*> macros_;  // around the current place
};

/// Counts how deep blocks and brackets nest, for as long as it lives.
class Parser::Nesting {
 public:
    explicit Nesting(Parser& parser) : parser_(parser) {
        const int most = parser.run_.limits().nesting;
        if (++parser_.nesting_ > most) {
            parser_.refuse("more than " + std::to_string(most) + " blocks and brackets inside each other");
        }
    }
    ~Nesting() { --parser_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

 private:
    Parser& parser_;
};

}  // namespace toy::jinja
