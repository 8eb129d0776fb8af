#include "cli/completion_scripts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/registry.h"

namespace toy::cli {
namespace {

std::vector<std::string> long_names(const Flag& flag) {
    std::vector<std::string> names{fmt::format("--{}", flag.name)};
    if (flag.can_be_negated) names.push_back(fmt::format("--no-{}", flag.name));
    return names;
}

std::vector<std::string_view> values_of(const Flag& flag) {
    if (flag.kind == Kind::on_off) return {"on", "off"};
    return flag.choices;
}

bool takes_path(Kind kind) { return kind == Kind::file || kind == Kind::model; }

std::vector<std::string_view> command_names() {
    std::vector<std::string_view> names;
    for (const Command* command : commands()) names.push_back(command->name);
    return names;
}

// What the first word after the command may be; a command's name where it asks for one.
std::vector<std::string_view> words_of(const Command& command) {
    if (command.positionals.empty()) return {};
    if (command.positionals.front().name == "command") return command_names();
    return command.positionals.front().choices;
}

// A text between single quotes, for bash and zsh.
std::string quoted(std::string_view text) {
    std::string out = "'";
    for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

// Inside _arguments specifications brackets and colons have a meaning.
std::string zsh_text(std::string_view text) {
    std::string out;
    for (char c : text) {
        if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

std::string bash_case(const Command& command) {
    std::vector<std::string> flags;
    std::string values;
    for (const Flag* flag : flags_of(command)) {
        for (std::string& name : long_names(*flag)) flags.push_back(std::move(name));
        if (flag->kind == Kind::toggle) continue;
        std::string pattern = fmt::format("--{}", flag->name);
        if (flag->letter != 0) pattern += fmt::format("|-{}", flag->letter);
        const std::string reply = takes_path(flag->kind) ? std::string("COMPREPLY=($(compgen -f -- \"$word\"))")
                                                         : fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$word\"))",
                                                                       fmt::join(values_of(*flag), " "));
        values += fmt::format("                {}) {}; return ;;\n", pattern, reply);
    }
    const bool wants_path = !command.positionals.empty() && takes_path(command.positionals.front().kind);
    return fmt::format(
        "        {})\n            case $previous in\n{}            esac\n"
        "            flags='{}'\n            words='{}'\n            paths={} ;;\n",
        command.name, values, fmt::join(flags, " "), fmt::join(words_of(command), " "), wants_path ? 1 : 0);
}

std::string zsh_flag(const Flag& flag) {
    std::string action;
    if (flag.kind != Kind::toggle) {
        const std::vector<std::string_view> values = values_of(flag);
        action = fmt::format(":{}:", zsh_text(flag.value.empty() ? "value" : flag.value));
        if (takes_path(flag.kind)) action += "_files";
        if (!values.empty()) action += fmt::format("({})", fmt::join(values, " "));
    }
    std::string out;
    std::vector<std::string> names = long_names(flag);
    if (flag.letter != 0) names.push_back(fmt::format("-{}", flag.letter));
    for (const std::string& name : names) {
        const std::string spec =
            fmt::format("{}{}[{}]{}", flag.repeats ? "*" : "", name, zsh_text(flag.summary), action);
        out += fmt::format(" \\\n                {}", quoted(spec));
    }
    return out;
}

std::string zsh_case(const Command& command) {
    std::string specs;
    for (const Flag* flag : flags_of(command)) specs += zsh_flag(*flag);
    for (const Positional& word : command.positionals) {
        std::string action = takes_path(word.kind) ? "_files" : "";
        if (const auto words = words_of(command); !words.empty()) action = fmt::format("({})", fmt::join(words, " "));
        const std::string spec = fmt::format("{}:{}:{}", word.repeats ? "*" : "", zsh_text(word.name), action);
        specs += fmt::format(" \\\n                {}", quoted(spec));
    }
    return fmt::format("        {})\n            _arguments{} ;;\n", command.name, specs);
}

std::string fish_quoted(std::string_view text) {
    std::string out = "'";
    for (char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    return out + "'";
}

std::string fish_flag(const std::string& when, const Flag& flag) {
    std::string out;
    for (const std::string& name : long_names(flag)) {
        out += fmt::format("complete -c toy -n {} -l {}", when, name.substr(2));
        if (flag.letter != 0) out += fmt::format(" -s {}", flag.letter);
        if (flag.kind != Kind::toggle) out += takes_path(flag.kind) ? " -r -F" : " -x";
        if (const auto values = values_of(flag); !values.empty()) {
            out += fmt::format(" -a '{}'", fmt::join(values, " "));
        }
        out += fmt::format(" -d {}\n", fish_quoted(flag.summary));
    }
    return out;
}

std::string fish_command(const Command& command) {
    const std::string when = fmt::format("'__fish_seen_subcommand_from {}'", command.name);
    std::string out;
    for (const Flag* flag : flags_of(command)) out += fish_flag(when, *flag);
    if (const auto words = words_of(command); !words.empty()) {
        out += fmt::format("complete -c toy -n {} -a '{}'\n", when, fmt::join(words, " "));
    }
    if (!command.positionals.empty() && takes_path(command.positionals.front().kind)) {
        out += fmt::format("complete -c toy -n {} -F\n", when);
    }
    return out;
}

std::string global_flag_names() {
    std::string names;
    for (const Flag& flag : global_flags()) names += fmt::format(" --{}", flag.name);
    return names;
}

}  // namespace

std::string bash_completion() {
    std::string cases;
    for (const Command* command : commands()) cases += bash_case(*command);
    return fmt::format(R"(# bash completion for toy; load it with: source <(toy completion bash)
_toy() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} flags= words= paths=0
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W '{}{}' -- "$word"))
        return
    fi
    case ${{COMP_WORDS[1]}} in
{}        *) return ;;
    esac
    if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$flags" -- "$word"))
    elif [ "$paths" -eq 1 ]; then
        COMPREPLY=($(compgen -f -- "$word"))
    else
        COMPREPLY=($(compgen -W "$words" -- "$word"))
    fi
}}
complete -o filenames -F _toy toy
)",
                       fmt::join(command_names(), " "), global_flag_names(), cases);
}

std::string zsh_completion() {
    std::string names;
    std::string cases;
    for (const Command* command : commands()) {
        names += fmt::format(" {}", quoted(fmt::format("{}:{}", command->name, zsh_text(command->summary))));
        cases += zsh_case(*command);
    }
    return fmt::format(R"(#compdef toy
# zsh completion for toy; write it to a folder of $fpath as _toy: toy completion zsh > DIR/_toy
_toy() {{
    local -a names=({})
    if (( CURRENT == 2 )); then
        _describe command names
        compadd --{}
        return
    fi
    shift words
    (( CURRENT-- ))
    case $words[1] in
{}    esac
}}
if [ "$funcstack[1]" = _toy ]; then
    _toy "$@"
else
    compdef _toy toy
fi
)",
                       names, global_flag_names(), cases);
}

std::string fish_completion() {
    std::string out = "# fish completion for toy; write it to ~/.config/fish/completions/toy.fish\n";
    out += "complete -c toy -f\n";
    for (const Flag& flag : global_flags()) out += fish_flag("__fish_use_subcommand", flag);
    for (const Command* command : commands()) {
        out += fmt::format("complete -c toy -n __fish_use_subcommand -a {} -d {}\n", command->name,
                           fish_quoted(command->summary));
        out += fish_command(*command);
    }
    return out;
}

}  // namespace toy::cli
