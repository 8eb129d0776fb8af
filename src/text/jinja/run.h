#pragma once
#include <cstddef>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace toy::jinja {

struct Scope;
class Object;

/// What a template may cost. Templates come from model files, so each of these is refused with a sentence, never waited
/// for. Values fit every template that we know hundreds of times over.
struct Limits {
    size_t template_bytes = size_t{1} << 20;
    int nesting = 200;                     ///< blocks and brackets inside each other, in the source and in values
    int depth = 1500;                      ///< expressions, blocks and macro calls inside each other, while rendering
    size_t steps = 10'000'000;             ///< expressions evaluated; work on long texts counts as several
    size_t text_bytes = size_t{64} << 20;  ///< of the output or of any one text
    size_t memory_bytes = size_t{512} << 20;  ///< of all texts and lists made on the way, together
};

/// A stretch of bytes of the output.
struct Span {
    size_t begin = 0, end = 0;
    bool operator==(const Span&) const = default;
};

/// One rendering: where it is, what it may still spend, and what has to be let go of at its end.
class Run {
 public:
    /// `name` says which template it is in sentences.
    Run(std::string name, const Limits& limits, const std::tm& now)
        : name_(std::move(name)), limits_(limits), now_(now) {}
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    int line = 1;                        ///< of what is being evaluated
    std::vector<Span> generation;        ///< what {% generation %} blocks wrote to the output
    bool has_hidden_generation = false;  ///< such a block wrote into a macro or a variable instead

    /// Throws Error{bad_input}: "NAME, line N: …".
    template <class... Args>
    [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
        bad_input("{}, line {}: {}", name_, line, fmt::format(format, std::forward<Args>(args)...));
    }
    const Limits& limits() const { return limits_; }
    const std::tm& now() const { return now_; }

    /// Counts one step, and more for work on that many bytes or elements.
    void step(size_t amount = 0) {
        steps_ += 1 + amount / 64;
        if (steps_ > limits_.steps) fail("the template takes more than {} steps", limits_.steps);
    }
    /// Counts memory that is about to be taken. Throws where one text would be too long, or all together too much.
    void take(size_t bytes);
    /// Counts a list of `count` values that is about to be made.
    void take_list(size_t count);

    /// One level deeper, until the end of its life.
    class Level {
     public:
        explicit Level(Run& run) : run_(run) {
            if (++run_.depth_ > run_.limits_.depth) {
                --run_.depth_;
                run_.fail("more than {} levels of expressions, blocks and macros inside each other",
                          run_.limits_.depth);
            }
        }
        ~Level() { --run_.depth_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;

     private:
        Run& run_;
    };

    /// Objects and scopes that can refer to each other in circles; they are emptied when the run ends.
    void keep(std::shared_ptr<Object> object);
    void keep(std::shared_ptr<Scope> scope);

 private:
    std::string name_;
    Limits limits_;
    std::tm now_;
    size_t steps_ = 0, bytes_ = 0;
    int depth_ = 0;
    std::vector<std::shared_ptr<Object>> objects_;
    std::vector<std::shared_ptr<Scope>> scopes_;
};

}  // namespace toy::jinja
