#include "cli/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/text_table.h"

namespace toy::cli {
namespace {

// Flags and words are listed with their text beside them, or below where they are longer than this.
constexpr size_t k_text_column = 30;

std::string entry(const std::string& term, const std::string& text) {
    const std::string lines = wrapped(text, k_text_column);
    const std::string head = "  " + term;
    if (width_of(head) + 2 > k_text_column) return head + "\n" + lines;
    return head + lines.substr(width_of(head));
}

std::string entry(const Flag& flag) {
    const std::string fallback = fallback_of(flag);
    return entry(spelling(flag), std::string(flag.summary) + (fallback.empty() ? "" : " " + fallback));
}

}  // namespace

std::string spelling(const Flag& flag) {
    const std::string letter = flag.letter != 0 ? fmt::format("-{}, ", flag.letter) : "    ";
    const std::string dashes = flag.can_be_negated ? "--[no-]" : "--";
    std::string value = flag.kind == Kind::on_off ? "on|off" : std::string(flag.value);
    if (flag.kind == Kind::choice) value = fmt::format("{}", fmt::join(flag.choices, "|"));
    if (flag.is_list) value += ",…";
    return fmt::format("{}{}{}{}{}", letter, dashes, flag.name, value.empty() ? "" : " ", value);
}

std::string fallback_of(const Flag& flag) {
    if (flag.starts_on) return "(on by default)";
    return flag.fallback.empty() ? "" : fmt::format("(default: {})", flag.fallback);
}

std::string synopsis(const Command& command) {
    std::string text = fmt::format("toy {}", command.name);
    for (const Positional& word : command.positionals) {
        const std::string name = fmt::format("<{}>{}", word.name, word.repeats ? "..." : "");
        text += word.is_required ? " " + name : " [" + name + "]";
    }
    return text + " [flags]";
}

std::string usage() {
    std::string text = "toy: readable machine learning in C++; runs models from GGUF files\n\n";
    text += "usage: toy <command> [flags]\n\ncommands:\n";
    TextTable table({TextTable::Side::left, TextTable::Side::left});
    for (const Command* command : commands()) {
        table.add({std::string(command->name), std::string(command->summary)});
    }
    text += table.text("  ") + "\nflags:\n";
    for (const Flag& flag : global_flags()) text += entry(flag);
    text += "\n`toy <command> --help` tells all about a command.\n";
    text += "exit codes: 0 done, 1 failure, 2 bad input\n";
    return text;
}

std::string help_of(const Command& command) {
    std::string text = fmt::format("toy {}: {}\n\nusage: {}\n\n{}", command.name, command.summary, synopsis(command),
                                   wrapped(command.description, 0));
    if (!command.positionals.empty()) text += "\narguments:\n";
    for (const Positional& word : command.positionals) {
        text += entry(fmt::format("<{}>", word.name), std::string(word.summary));
    }
    text += "\nflags:\n";
    for (const Flag* flag : flags_of(command)) text += entry(*flag);
    if (!command.examples.empty()) text += "\nexamples:\n";
    for (std::string_view example : command.examples) text += fmt::format("  {}\n", example);
    return text;
}

}  // namespace toy::cli
