// toy completion: completion scripts for shells.
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/completion_scripts.h"
#include "cli/output.h"

namespace toy::cli {
namespace {

int run(const Arguments& arguments) {
    const std::string shell = arguments.positional(0);
    const std::string script = shell == "bash"  ? bash_completion()
                               : shell == "zsh" ? zsh_completion()
                                                : fish_completion();
    if (arguments.on("json")) {
        print_json({{"format", "toy/completion-v1"}, {"shell", shell}, {"script", script}});
    } else {
        print(script);
    }
    return k_ok;
}

}  // namespace

extern const Command k_completion;
const Command k_completion{
    .name = "completion",
    .summary = "print a completion script for a shell",
    .description =
        "Prints a script that completes toy's commands, flags and their values, made from the same table as "
        "the help.",
    .positionals = {{.name = "shell",
                     .kind = Kind::choice,
                     .summary = "bash, zsh or fish",
                     .is_required = true,
                     .choices = {"bash", "zsh", "fish"}}},
    .flags = {},
    .refused = {},
    .examples = {"source <(toy completion bash)", "toy completion zsh > ~/.zfunc/_toy",
                 "toy completion fish > ~/.config/fish/completions/toy.fish"},
    .run = run,
};

}  // namespace toy::cli
