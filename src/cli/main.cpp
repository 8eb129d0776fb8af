// toy: one program, one command for each thing it does. Everything it knows about commands stands in the registry.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "cli/arguments.h"
#include "cli/help.h"
#include "cli/interrupt.h"
#include "cli/manifest.h"
#include "cli/output.h"
#include "cli/registry.h"
#include "cli/suggest.h"
#include "cli/version.h"
#include "core/error.h"
#include "io/quote.h"
#include "tensor/device.h"

namespace toy::cli {
namespace {

using Words = std::span<const std::string_view>;

int print_version(bool as_json) {
    if (as_json) {
        print_json({{"format", "toy/version-v1"},
                    {"toy_version", version()},
                    {"ggml", ggml_description()},
                    {"build", build_description()}});
    } else {
        print(version_text());
    }
    return k_ok;
}

int run_global_flag(Words words) {
    std::string_view word = words[0];
    if (word == "-h") word = "--help";
    if (word == "-V") word = "--version";
    const std::string_view name = word.starts_with("--") ? word.substr(2) : "";
    std::vector<std::string_view> names;
    for (const Flag& flag : global_flags()) names.push_back(flag.name);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
        bad_input("there is no flag {}{}; flags of a command follow its name", quote(word),
                  did_you_mean(name, names, "--"));
    }
    const bool as_json = words.size() == 2 && words[1] == "--json";
    if (words.size() > (as_json ? 2 : 1)) bad_input("nothing may follow {}, but {} does", word, quote(words[1]));
    if (word == "--version") return print_version(as_json);
    if (word == "--manifest" || as_json) {
        print_json(manifest());
    } else {
        print(usage());
    }
    return k_ok;
}

int dispatch(Words words) {
    if (words.empty()) {
        print_error(usage());
        return k_bad_input;
    }
    if (words[0].starts_with('-')) return run_global_flag(words);
    const Command& command = find_command(words[0]);
    const Arguments arguments(command, words.subspan(1));
    if (!arguments.wants_help()) return command.run(arguments);
    print(help_of(command));
    return k_ok;
}

int guarded(Words words) {
    try {
        return dispatch(words);
    } catch (const OutputClosed&) {
        return k_failure;
    } catch (const Error& error) {
        print_error(fmt::format("toy: {}\n", error.what()));
        return error.kind() == Error::Kind::bad_input ? k_bad_input : k_failure;
    } catch (const std::bad_alloc&) {
        print_error("toy: there is not enough memory\n");
        return k_failure;
    } catch (const std::exception& error) {
        print_error(fmt::format("toy: a fault of toy itself, please report it: {}\n", error.what()));
        return k_failure;
    }
}

}  // namespace
}  // namespace toy::cli

int main(int argc, char** argv) {
    toy::cli::catch_interrupts();
    const std::vector<std::string_view> words(argv + std::min(argc, 1), argv + argc);
    return toy::cli::guarded(words);
}
