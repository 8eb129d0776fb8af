#include "cli/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cli/help.h"
#include "cli/version.h"

namespace toy::cli {
namespace {

// Text as roff takes it literally: no escapes, dashes that can be copied, no line that begins as a request.
std::string roff(std::string_view text) {
    std::string out;
    bool at_line_start = true;
    for (char c : text) {
        if (at_line_start && (c == '.' || c == '\'')) out += "\\&";
        at_line_start = c == '\n';
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else {
            out += c;
        }
    }
    return out;
}

std::string paragraphs(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const size_t end = std::min(text.find("\n\n"), text.size());
        out += (out.empty() ? "" : ".PP\n") + roff(text.substr(0, end)) + "\n";
        text.remove_prefix(std::min(end + 2, text.size()));
    }
    return out;
}

std::string title(std::string_view page) {
    std::string name(page);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
    return fmt::format(".TH {} 1 \"\" \"toy {}\" \"User Commands\"\n", roff(name), version());
}

std::string tagged(const std::string& term, const std::string& text) {
    return fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(term), roff(text));
}

std::string tagged(const Flag& flag) {
    const std::string term = spelling(flag);
    const std::string fallback = fallback_of(flag);
    return tagged(term.substr(term.find_first_not_of(' ')),
                  std::string(flag.summary) + (fallback.empty() ? "" : " " + fallback));
}

constexpr std::string_view k_exit_status =
    ".SH EXIT STATUS\n"
    "0 when done, 1 for a failure (memory, disk, an interrupt), 2 for bad input (a flag, a file, a request).\n";

}  // namespace

std::string man_page() {
    std::string page = title("toy") + ".SH NAME\ntoy \\- readable machine learning in C++\n";
    page += ".SH SYNOPSIS\n.B toy\n\\fIcommand\\fR [\\fIflags\\fR]\n";
    page += ".SH DESCRIPTION\nRuns models from GGUF files. Each command has a page of its own.\n.SH COMMANDS\n";
    for (const Command* command : commands()) {
        page += tagged(fmt::format("toy-{}(1)", command->name), std::string(command->summary));
    }
    page += ".SH OPTIONS\n";
    for (const Flag& flag : global_flags()) page += tagged(flag);
    return page + std::string(k_exit_status);
}

std::string man_page_of(const Command& command) {
    const std::string name = fmt::format("toy-{}", command.name);
    std::string page = title(name);
    page += fmt::format(".SH NAME\n{} \\- {}\n", roff(name), roff(command.summary));
    page += fmt::format(".SH SYNOPSIS\n{}\n", roff(synopsis(command)));
    page += ".SH DESCRIPTION\n" + paragraphs(command.description);
    for (const Positional& word : command.positionals) {
        page += tagged(fmt::format("<{}>", word.name), std::string(word.summary));
    }
    page += ".SH OPTIONS\n";
    for (const Flag* flag : flags_of(command)) page += tagged(*flag);
    page += k_exit_status;
    if (!command.examples.empty()) page += ".SH EXAMPLES\n.nf\n";
    for (std::string_view example : command.examples) page += roff(example) + "\n";
    if (!command.examples.empty()) page += ".fi\n";
    return page + ".SH SEE ALSO\n.BR toy (1)\n";
}

}  // namespace toy::cli
