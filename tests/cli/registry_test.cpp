// The registry drives the help, the manifest, the man pages and the completion scripts: they must all tell the same.
#include "cli/registry.h"

#include <gtest/gtest.h>

#include <set>

#include "cli/arguments.h"
#include "cli/completion_scripts.h"
#include "cli/help.h"
#include "cli/man_page.h"
#include "cli/manifest.h"
#include "cli/text_table.h"
#include "core/error.h"
#include "program.h"

namespace toy::cli {
namespace {

using test::run_toy;

bool is_installed(const std::string& program) {
    return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

#define NEEDS_PROGRAM(program) \
    if (!is_installed(program)) GTEST_SKIP() << "needs " << (program) << ", which is not installed"

TEST(Registry, NamesAreUniqueAndDescribed) {
    std::set<std::string_view> names;
    for (const Command* command : commands()) {
        EXPECT_TRUE(names.insert(command->name).second) << command->name;
        EXPECT_FALSE(command->summary.empty());
        EXPECT_FALSE(command->description.empty());
        std::set<std::string_view> flags;
        std::set<char> letters;
        for (const Flag* flag : flags_of(*command)) {
            EXPECT_TRUE(flags.insert(flag->name).second) << command->name << " --" << flag->name;
            EXPECT_TRUE(flag->letter == 0 || letters.insert(flag->letter).second) << command->name << flag->letter;
            EXPECT_FALSE(flag->summary.empty()) << flag->name;
            EXPECT_TRUE(flag->kind != Kind::choice || !flag->choices.empty()) << flag->name;
        }
        for (const Refused& refused : command->refused) EXPECT_FALSE(flags.contains(refused.name)) << refused.name;
    }
}

TEST(Registry, FallbacksAreValidValues) {
    for (const Command* command : commands()) {
        std::vector<std::string> words;
        for (const Positional& word : command->positionals) {
            if (word.is_required) words.emplace_back(word.choices.empty() ? "x" : word.choices.front());
        }
        for (const Flag* flag : flags_of(*command)) {
            if (!flag->fallback.empty())
                words.push_back("--" + std::string(flag->name) + "=" + std::string(flag->fallback));
        }
        const std::vector<std::string_view> views(words.begin(), words.end());
        EXPECT_NO_THROW(Arguments(*command, views)) << command->name;
    }
}

// Every flag that takes anything but a free text refuses what it cannot be.
TEST(Registry, EveryFlagRefusesBadValues) {
    for (const Command* command : commands()) {
        for (const Flag* flag : flags_of(*command)) {
            std::vector<std::string> bad;
            if (flag->kind == Kind::toggle) bad = {"1"};
            if (flag->kind == Kind::on_off || flag->kind == Kind::choice) bad = {"", "maybe"};
            if (flag->kind == Kind::file) bad = {""};
            if (flag->kind == Kind::integer) {
                bad = {"", "x", "1.5", "1e3", "99999999999999999999"};
                EXPECT_GT(flag->least, std::numeric_limits<int64_t>::min()) << flag->name << " has no least value";
                bad.push_back(std::to_string(flag->least - 1));
                if (flag->most < std::numeric_limits<int64_t>::max()) bad.push_back(std::to_string(flag->most + 1));
            }
            if (flag->kind == Kind::real) bad = {"", "x", "nan", "inf", "1e999", "-1e30", "1e30"};
            for (const std::string& value : bad) {
                const std::string word = "--" + std::string(flag->name) + "=" + value;
                const std::vector<std::string_view> words{word};
                EXPECT_THROW(Arguments(*command, words), Error) << command->name << " " << word;
            }
        }
    }
}

TEST(Registry, ManifestTellsEveryCommandAndFlag) {
    const nlohmann::ordered_json json = test::run_toy_json({"--manifest"});
    EXPECT_EQ(json, manifest());
    EXPECT_EQ(json["format"], "toy/manifest-v1");
    EXPECT_EQ(json["exit_codes"], (nlohmann::ordered_json{{"ok", 0}, {"bad_input", 2}, {"failure", 1}}));
    ASSERT_EQ(json["commands"].size(), commands().size());
    for (size_t i = 0; i < commands().size(); ++i) {
        const Command& command = *commands()[i];
        const nlohmann::ordered_json& told = json["commands"][i];
        EXPECT_EQ(told["name"], command.name);
        EXPECT_EQ(told["summary"], command.summary);
        ASSERT_EQ(told["args"].size(), command.positionals.size());
        const std::vector<const Flag*> flags = flags_of(command);
        ASSERT_EQ(told["flags"].size(), flags.size());
        for (size_t f = 0; f < flags.size(); ++f) {
            EXPECT_EQ(told["flags"][f]["name"], "--" + std::string(flags[f]->name));
        }
    }
}

TEST(Registry, HelpManAndCompletionTellEveryCommandAndFlag) {
    const std::string man = man_page();
    for (const Command* command : commands()) {
        EXPECT_NE(usage().find("  " + std::string(command->name) + " "), std::string::npos);
        std::string title = "toy-" + std::string(command->name);
        for (size_t at = 0; (at = title.find('-', at)) != std::string::npos; at += 2) title.insert(at, "\\");
        EXPECT_NE(man.find(title), std::string::npos);
        const std::string help = help_of(*command);
        const std::string page = man_page_of(*command);
        for (const Flag* flag : flags_of(*command)) {
            const std::string name(flag->name);
            EXPECT_NE(help.find((flag->can_be_negated ? "--[no-]" : "--") + name), std::string::npos) << name;
            std::string in_roff = name;
            for (size_t at = 0; (at = in_roff.find('-', at)) != in_roff.npos; at += 2) in_roff.insert(at, "\\");
            EXPECT_NE(page.find(in_roff), std::string::npos) << name;
            EXPECT_NE(bash_completion().find("--" + name), std::string::npos) << name;
            EXPECT_NE(zsh_completion().find("--" + name), std::string::npos) << name;
            EXPECT_NE(fish_completion().find("-l " + name), std::string::npos) << name;
        }
    }
}

TEST(Registry, HelpFitsTheScreen) {
    for (const Command* command : commands()) {
        const std::string help = help_of(*command);
        size_t begin = 0;
        for (size_t end = help.find('\n'); end != help.npos; begin = end + 1, end = help.find('\n', begin)) {
            const std::string line = help.substr(begin, end - begin);
            EXPECT_LE(width_of(line), 100u) << line;
        }
    }
}

TEST(Registry, HelpComesInFourWays) {
    const test::Outcome by_flag = run_toy({"infer", "--help"});
    EXPECT_EQ(by_flag.code, 0);
    EXPECT_EQ(by_flag.out, help_of(find_command("infer")));
    EXPECT_EQ(run_toy({"help", "infer"}).out, by_flag.out);
    EXPECT_EQ(run_toy({"infer", "model", "-h"}).out, by_flag.out);
    EXPECT_EQ(run_toy({"--help"}).out, usage());
    EXPECT_EQ(run_toy({"help"}).out, usage());
    EXPECT_EQ(test::run_toy_json({"help", "infer", "--json"})["text"], by_flag.out);
}

TEST(Registry, NoArgumentsIsBadInput) {
    const test::Outcome outcome = run_toy({});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, usage());
}

TEST(Registry, UnknownCommandsAndFlagsAreRefused) {
    EXPECT_REFUSED(run_toy({"infre"}), 2, "did you mean 'infer'?");
    EXPECT_REFUSED(run_toy({"train"}), 2, "there is no command 'train'");
    EXPECT_REFUSED(run_toy({""}), 2, "there is no command ''");
    EXPECT_REFUSED(run_toy({"--verison"}), 2, "did you mean '--version'?");
    EXPECT_REFUSED(run_toy({"-"}), 2, "there is no flag '-'");
    EXPECT_REFUSED(run_toy({"-x"}), 2, "there is no flag '-x'");
    EXPECT_REFUSED(run_toy({"--"}), 2, "there is no flag '--'");
    EXPECT_REFUSED(run_toy({"--version", "infer"}), 2, "nothing may follow --version");
    EXPECT_REFUSED(run_toy({"help", "infre"}), 2, "did you mean 'infer'?");
    EXPECT_REFUSED(run_toy({"man", "\x1b[31m"}), 2, "there is no command '\\x1b[31m'");
}

TEST(Registry, VersionTellsToyGgmlAndFlags) {
    const test::Outcome outcome = run_toy({"--version"});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out.rfind("toy 1.", 0), 0u) << outcome.out;
    EXPECT_NE(outcome.out.find("\nggml "), std::string::npos);
    EXPECT_NE(outcome.out.find("\nbuilt with "), std::string::npos);
    EXPECT_NE(outcome.out.find("GGML_LLAMAFILE=ON"), std::string::npos);
    EXPECT_EQ(test::run_toy_json({"--version", "--json"})["format"], "toy/version-v1");
}

TEST(Completion, BashTakesTheScript) {
    const test::TemporaryFolder folder;
    const std::filesystem::path script = folder.write("toy.bash", run_toy({"completion", "bash"}).out);
    EXPECT_EQ(std::system(("bash -n '" + script.string() + "'").c_str()), 0);
}

// What bash offers for a line, by running the script's function.
std::string completed_by_bash(const test::TemporaryFolder& folder, const std::string& words, int at) {
    folder.write("toy.bash", bash_completion());
    folder.write("try.bash", "source '" + (folder.path() / "toy.bash").string() + "'\nCOMP_WORDS=(" + words +
                                 ")\nCOMP_CWORD=" + std::to_string(at) + "\n_toy\necho \"${COMPREPLY[@]}\"\n");
    const std::filesystem::path out = folder.path() / "out";
    const std::string line = "cd '" + folder.path().string() + "' && bash try.bash > '" + out.string() + "'";
    EXPECT_EQ(std::system(line.c_str()), 0);
    std::string text = test::read_file(out);
    return text.substr(0, text.find('\n'));
}

TEST(Completion, BashCompletesCommandsFlagsValuesAndFiles) {
    const test::TemporaryFolder folder;
    folder.write("model.gguf", "");
    EXPECT_EQ(completed_by_bash(folder, "toy inf", 1), "infer");
    EXPECT_EQ(completed_by_bash(folder, "toy infer --temp", 2), "--temperature");
    EXPECT_EQ(completed_by_bash(folder, "toy infer m --kv-type q8", 4), "q8_0");
    EXPECT_EQ(completed_by_bash(folder, "toy infer --flash-attention ''", 3), "on off");
    EXPECT_EQ(completed_by_bash(folder, "toy infer mod", 2), "model.gguf");
    EXPECT_EQ(completed_by_bash(folder, "toy completion z", 2), "zsh");
    EXPECT_EQ(completed_by_bash(folder, "toy man desc", 2), "describe");
}

TEST(Completion, ZshTakesTheScript) {
    NEEDS_PROGRAM("zsh");
    const test::TemporaryFolder folder;
    const std::filesystem::path script = folder.write("_toy", run_toy({"completion", "zsh"}).out);
    EXPECT_EQ(std::system(("zsh -n '" + script.string() + "'").c_str()), 0);
    // The whole script as the completion system loads it.
    const std::string line = "zsh -fc 'autoload -U compinit && compinit -D -u && source \"" + script.string() + "\"'";
    EXPECT_EQ(std::system(line.c_str()), 0);
}

TEST(Completion, FishTakesTheScript) {
    NEEDS_PROGRAM("fish");
    const test::TemporaryFolder folder;
    const std::filesystem::path script = folder.write("toy.fish", run_toy({"completion", "fish"}).out);
    EXPECT_EQ(std::system(("fish -n '" + script.string() + "'").c_str()), 0);
    const std::filesystem::path out = folder.path() / "out";
    const std::string line = "HOME='" + folder.path().string() + "' fish -c 'source " + script.string() +
                             "; complete -C \"toy infer --temp\"' > '" + out.string() + "'";
    EXPECT_EQ(std::system(line.c_str()), 0);
    EXPECT_EQ(test::read_file(out).rfind("--temperature", 0), 0u) << test::read_file(out);
}

TEST(Completion, UnknownShellsAreRefused) {
    EXPECT_REFUSED(run_toy({"completion", "tcsh"}), 2, "choose bash, zsh, fish");
    EXPECT_REFUSED(run_toy({"completion"}), 2, "needs <shell>");
    EXPECT_EQ(test::run_toy_json({"completion", "fish", "--json"})["script"], fish_completion());
}

TEST(ManPages, AreWritten) {
    const test::TemporaryFolder folder;
    const std::filesystem::path target = folder.path() / "man1";
    const test::Outcome outcome = run_toy({"man", "--output", target.string()});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(test::read_file(target / "toy.1"), man_page());
    for (const Command* command : commands()) {
        EXPECT_EQ(test::read_file(target / ("toy-" + std::string(command->name) + ".1")), man_page_of(*command));
    }
    EXPECT_EQ(run_toy({"man", "infer"}).out, man_page_of(find_command("infer")));
    EXPECT_EQ(run_toy({"man"}).out, man_page());
    EXPECT_REFUSED(run_toy({"man", "infer", "--output", target.string()}), 2, "leave 'infer' out");
    EXPECT_REFUSED(run_toy({"man", "--output", "/dev/null/x"}), 2, "/dev/null/x");
}

TEST(ManPages, HaveNoWarnings) {
    NEEDS_PROGRAM("groff");
    const test::TemporaryFolder folder;
    std::string all = "toy.1";
    folder.write("toy.1", man_page());
    for (const Command* command : commands()) {
        folder.write(std::string(command->name) + ".1", man_page_of(*command));
        all += " " + std::string(command->name) + ".1";
    }
    const std::string line = "cd '" + folder.path().string() + "' && for page in " + all +
                             "; do groff -ww -K utf8 -man -Tutf8 $page; done >pages 2>warnings";
    EXPECT_EQ(std::system(line.c_str()), 0);
    EXPECT_EQ(test::read_file(folder.path() / "warnings"), "");
    EXPECT_NE(test::read_file(folder.path() / "pages").find("0 when done, 1 for a failure"), std::string::npos);
}

}  // namespace
}  // namespace toy::cli
