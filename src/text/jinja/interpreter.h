#pragma once
#include <memory>
#include <string>

#include "text/jinja/ast.h"
#include "text/jinja/run.h"

namespace toy::jinja {

/// Executes statements and evaluates expressions (those in evaluate.cpp) within one run.
class Interpreter {
 public:
    using ScopePtr = std::shared_ptr<Scope>;

    explicit Interpreter(Run& run) : run_(run) {}
    Run& run() { return run_; }

    /// What the block writes, at the end of `out`. `is_output`: `out` is the text that the template makes, so that the
    /// places of generation blocks are known.
    void render(const Block& block, const ScopePtr& scope, std::string& out, bool is_output);
    Value evaluate(const Expression& expression, const ScopePtr& scope);
    /// The text that a macro writes, given what its caller gives.
    Value call_macro(const MacroBody& macro, const ScopePtr& scope, const Arguments& arguments);

 private:
    enum class Flow : uint8_t { normal, leave, next };
    struct Output {
        std::string& text;
        bool is_main;
    };

    Flow execute(const Block& block, const ScopePtr& scope, Output out);
    Flow execute_one(const Statement& statement, const ScopePtr& scope, Output out);
    Flow execute_branches(const Statement& statement, const ScopePtr& scope, Output out);
    Flow execute_loop(const Statement& statement, const ScopePtr& scope, Output out);
    void execute_call(const Statement& statement, const ScopePtr& scope, Output out);
    Flow execute_generation(const Statement& statement, const ScopePtr& scope, Output out);
    Value text_of(const Block& block, const ScopePtr& scope);
    void assign(const Target& target, const Value& value, const ScopePtr& scope);
    void write(Output out, std::string_view text);
    ScopePtr inside(const ScopePtr& parent);
    void bind_defaults(const MacroBody& macro, const ScopePtr& scope, size_t given);

    Arguments arguments_of(const ArgumentList& list, const ScopePtr& scope);
    Value evaluate_plain(const Expression& expression, const ScopePtr& scope);
    Value lookup(const Expression& expression, const ScopePtr& scope);
    Value evaluate_list(const Expression& expression, const ScopePtr& scope);
    Value evaluate_dict(const Expression& expression, const ScopePtr& scope);
    Value evaluate_compare(const Expression& expression, const ScopePtr& scope);
    Value evaluate_concat(const Expression& expression, const ScopePtr& scope);
    Value evaluate_conditional(const Expression& expression, const ScopePtr& scope);
    Value evaluate_slice(const Expression& expression, const ScopePtr& scope);
    Value evaluate_call(const Expression& expression, const ScopePtr& scope);
    Value evaluate_filter(const Expression& expression, const Value& value, const ScopePtr& scope);
    /// Filters over the text of a block: the innermost has no child.
    Value filter_text(const Expression& filter, const Value& text, const ScopePtr& scope);
    Value evaluate_test(const Expression& expression, const ScopePtr& scope);

    Run& run_;
};

}  // namespace toy::jinja
