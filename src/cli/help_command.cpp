// toy help: the same texts as --help.
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/help.h"
#include "cli/output.h"

namespace toy::cli {
namespace {

int run(const Arguments& arguments) {
    const std::string topic = arguments.positional(0);
    const std::string text = topic.empty() ? usage() : help_of(find_command(topic));
    if (arguments.on("json")) {
        print_json({{"format", "toy/help-v1"}, {"command", topic}, {"text", text}});
    } else {
        print(text);
    }
    return k_ok;
}

}  // namespace

extern const Command k_help;
const Command k_help{
    .name = "help",
    .summary = "show the commands, or all about one",
    .description = "Prints what `toy --help` or `toy COMMAND --help` prints.",
    .positionals = {{.name = "command", .summary = "the command; without one, all are listed"}},
    .flags = {},
    .refused = {},
    .examples = {"toy help infer"},
    .run = run,
};

}  // namespace toy::cli
