#include "cli/registry.h"

#include <fmt/format.h>

#include <array>

#include "cli/suggest.h"
#include "core/error.h"
#include "io/quote.h"

namespace toy::cli {

extern const Command k_infer;
extern const Command k_list;
extern const Command k_describe;
extern const Command k_tokenize;
extern const Command k_detokenize;
extern const Command k_tokenizer;
extern const Command k_chat_template;
extern const Command k_runs;
extern const Command k_bench;
extern const Command k_quantize;
extern const Command k_imatrix;
extern const Command k_completion;
extern const Command k_man;
extern const Command k_help;

namespace {

constexpr std::array k_commands = {&k_infer,     &k_list,          &k_describe, &k_tokenize, &k_detokenize,
                                   &k_tokenizer, &k_chat_template, &k_runs,     &k_bench,    &k_quantize,
                                   &k_imatrix,   &k_completion,    &k_man,      &k_help};

const std::array k_common_flags = {
    Flag{.name = "json", .summary = "print the result as JSON on standard output"},
    Flag{.name = "help", .letter = 'h', .summary = "show this help"},
};

const std::array k_global_flags = {
    Flag{.name = "help", .letter = 'h', .summary = "show the commands"},
    Flag{.name = "version", .letter = 'V', .summary = "show the version, the revision of ggml and the build flags"},
    Flag{.name = "manifest", .summary = "print all commands and flags as JSON (toy/manifest-v1)"},
};

}  // namespace

std::string_view name(Kind kind) {
    switch (kind) {
        case Kind::toggle: return "toggle";
        case Kind::on_off: return "on_off";
        case Kind::text: return "text";
        case Kind::file: return "file";
        case Kind::model: return "model";
        case Kind::integer: return "integer";
        case Kind::real: return "real";
        case Kind::choice: return "choice";
    }
    return "text";
}

std::span<const Command* const> commands() { return k_commands; }

const Command& find_command(std::string_view name) {
    std::vector<std::string_view> names;
    for (const Command* command : commands()) {
        if (command->name == name) return *command;
        names.push_back(command->name);
    }
    bad_input("there is no command {}{}; `toy --help` lists the commands", quote(name), did_you_mean(name, names));
}

std::vector<const Flag*> flags_of(const Command& command) {
    std::vector<const Flag*> all;
    for (const Flag& flag : command.flags) all.push_back(&flag);
    for (const Flag& flag : k_common_flags) all.push_back(&flag);
    return all;
}

const Flag* find_flag(const Command& command, std::string_view name) {
    for (const Flag* flag : flags_of(command)) {
        if (flag->name == name) return flag;
    }
    return nullptr;
}

std::span<const Flag> global_flags() { return k_global_flags; }

}  // namespace toy::cli
