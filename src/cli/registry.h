#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace toy::cli {

class Arguments;

/// What a value must be. The parser refuses anything else before a command runs.
enum class Kind {
    toggle,   ///< no value
    on_off,   ///< on or off (also 1 or 0)
    text,     ///< anything
    file,     ///< a path
    model,    ///< a path of a GGUF file, or the name of a discovered model
    integer,  ///< a whole number in least..most
    real,     ///< a finite number in low..high
    choice,   ///< one of `choices`
};
std::string_view name(Kind kind);

/// A flag as the parser, the help, the manifest, the man page and the completion scripts see it.
struct Flag {
    std::string_view name;  ///< without the dashes
    char letter = 0;        ///< the short form; 0: none
    Kind kind = Kind::toggle;
    std::string_view value = {};     ///< what stands for the value in the help: N, FILE, …
    std::string_view fallback = {};  ///< the value where the flag is not given; empty: none
    std::string_view summary = {};
    int64_t least = std::numeric_limits<int64_t>::min();
    int64_t most = std::numeric_limits<int64_t>::max();
    double low = std::numeric_limits<double>::lowest();
    double high = std::numeric_limits<double>::max();
    std::vector<std::string_view> choices = {};
    bool is_list = false;         ///< takes several values, with commas between them
    bool repeats = false;         ///< may be given several times
    bool starts_on = false;       ///< a toggle that is on
    bool can_be_negated = false;  ///< a toggle that --no-NAME switches off
};

/// A word that is not a flag.
struct Positional {
    std::string_view name;
    Kind kind = Kind::text;
    std::string_view summary = {};
    bool is_required = false;
    bool repeats = false;
    std::vector<std::string_view> choices = {};
};

/// A flag that people set by habit and that we do not serve: refused by name instead of as unknown.
struct Refused {
    std::string_view name;    ///< without the dashes; with a * at its end, all names that begin so
    std::string_view reason;  ///< what to do instead; completes "--NAME is not served: "
};

/// One command. The registry is the only list of commands: dispatch, --help, --manifest, man pages and completion
/// scripts all read it.
struct Command {
    std::string_view name;
    std::string_view summary;      ///< one line, for the list of commands
    std::string_view description;  ///< paragraphs, separated by empty lines
    std::vector<Positional> positionals;
    std::vector<Flag> flags;
    std::vector<Refused> refused;
    std::vector<std::string_view> examples;
    int (*run)(const Arguments& arguments);  ///< returns the exit code
};

/// All commands, in the order of the help.
std::span<const Command* const> commands();
/// The command of that name; throws Error{bad_input} with the nearest name where there is none.
const Command& find_command(std::string_view name);
/// The command's flag of that name, or null. Every command has --json and --help.
const Flag* find_flag(const Command& command, std::string_view name);
/// The command's own flags, then those that every command has.
std::vector<const Flag*> flags_of(const Command& command);
/// What stands in place of a command: --help, --version, --manifest.
std::span<const Flag> global_flags();

/// Exit codes of every command.
inline constexpr int k_ok = 0, k_failure = 1, k_bad_input = 2;

}  // namespace toy::cli
