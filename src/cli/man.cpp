// toy man: manual pages from the registry.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/man_page.h"
#include "cli/output.h"
#include "core/atomic_file.h"
#include "core/error.h"

namespace toy::cli {
namespace {

int write_all_pages(const std::filesystem::path& folder, bool as_json) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    nlohmann::ordered_json written = nlohmann::ordered_json::array();
    const auto write = [&](const std::string& name, const std::string& page) {
        AtomicFile file(folder / name);
        file.write(page);
        file.commit();
        written.push_back((folder / name).string());
        if (!as_json) print((folder / name).string() + "\n");
    };
    write("toy.1", man_page());
    for (const Command* command : commands()) write(fmt::format("toy-{}.1", command->name), man_page_of(*command));
    if (as_json) print_json({{"format", "toy/man-v1"}, {"written", written}});
    return k_ok;
}

int run(const Arguments& arguments) {
    const std::string topic = arguments.positional(0);
    if (arguments.given("output")) {
        if (!topic.empty()) bad_input("--output writes all pages: leave '{}' out", topic);
        return write_all_pages(arguments.text("output"), arguments.on("json"));
    }
    const std::string page = topic.empty() ? man_page() : man_page_of(find_command(topic));
    if (arguments.on("json")) {
        print_json({{"format", "toy/man-v1"}, {"command", topic}, {"page", page}});
    } else {
        print(page);
    }
    return k_ok;
}

}  // namespace

extern const Command k_man;
const Command k_man{
    .name = "man",
    .summary = "print a manual page, or write them all",
    .description =
        "Prints the manual page of toy, or of one command, as roff source, made from the same table as the "
        "help.",
    .positionals = {{.name = "command", .summary = "the command that the page is about; toy itself without one"}},
    .flags = {{.name = "output",
               .letter = 'o',
               .kind = Kind::file,
               .value = "DIR",
               .summary = "write toy.1 and toy-COMMAND.1 of every command into this folder"}},
    .refused = {},
    .examples = {"toy man infer | man -l -", "toy man --output /usr/local/share/man/man1"},
    .run = run,
};

}  // namespace toy::cli
