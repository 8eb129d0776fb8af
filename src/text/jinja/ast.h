#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace toy::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

/// What stands in the brackets of a call, a filter or a test.
struct ArgumentList {
    std::vector<ExpressionPtr> positional;
    std::vector<std::pair<std::string, ExpressionPtr>> named;
    ExpressionPtr spread_positional;  ///< *values
    ExpressionPtr spread_named;       ///< **values
};

enum class Operator : uint8_t { add, subtract, multiply, divide, floor_divide, modulo, power };
enum class Comparison : uint8_t { equal, unequal, less, less_equal, greater, greater_equal, in, not_in };

struct Expression {
    enum class Kind : uint8_t {
        constant,     ///< `value`
        name,         ///< `name`
        tuple,        ///< `children`
        list,         ///< `children`
        dict,         ///< `children`: key, value, key, value, …
        negative,     ///< -child
        positive,     ///< +child
        logical_not,  ///< not child
        logical_and,  ///< two children
        logical_or,   ///< two children
        compare,      ///< `children` with `comparisons` between them
        arithmetic,   ///< two children with `operation`
        concat,       ///< children joined by ~
        conditional,  ///< condition, then, and else, which may be null
        attribute,    ///< child.name
        item,         ///< child[child]
        slice,        ///< child[child:child:child], the latter three may be null
        call,         ///< child(arguments)
        filter,       ///< child|name(arguments); the child is null for a block of text
        test,         ///< child is name(arguments)
    };
    Kind kind;
    int line = 1;
    int depth = 1;  ///< of expressions inside each other
    std::vector<ExpressionPtr> children = {};
    Value value = {};
    std::string name = {};
    Operator operation = Operator::add;
    std::vector<Comparison> comparisons = {};
    ArgumentList arguments = {};
};

/// What is assigned to: a name, an attribute of a namespace, or several of them.
struct Target {
    std::string name;
    std::string attribute;      ///< of the namespace `name`; empty: the name itself
    std::vector<Target> parts;  ///< where it is a tuple
    bool is_tuple = false;
};

struct Statement;
using Block = std::vector<std::unique_ptr<Statement>>;

/// The parameters and the text of a macro or of a call block.
struct MacroBody {
    std::string name;
    std::vector<std::string> parameters;
    std::vector<ExpressionPtr> defaults;  ///< of the last parameters
    Block body;
    bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
};

struct Statement {
    enum class Kind : uint8_t {
        text,        ///< `text`
        print,       ///< `expression`
        set,         ///< `target` = `expression`
        set_block,   ///< `target` = text of `body`, through `filter`
        branches,    ///< if, elif, else
        loop,        ///< for `target` in `expression` if `condition`: `body`, else `otherwise`
        macro,       ///< `macro`
        call,        ///< `expression` with `macro` as its caller
        filter,      ///< text of `body` through `filter`
        with,        ///< `bindings` around `body`
        generation,  ///< what the assistant says
        leave,       ///< break
        next,        ///< continue
    };
    struct Branch {
        ExpressionPtr condition;  ///< null: else
        Block body;
    };
    struct Binding {
        Target target;
        ExpressionPtr expression;
    };

    Kind kind;
    int line = 1;
    std::string text = {};
    Target target = {};
    ExpressionPtr expression = {};
    ExpressionPtr condition = {};
    ExpressionPtr filter = {};
    Block body = {};
    Block otherwise = {};
    std::vector<Branch> branches = {};
    std::vector<Binding> bindings = {};
    std::shared_ptr<const MacroBody> macro = {};
};

}  // namespace toy::jinja
