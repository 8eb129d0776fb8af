#include "program.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace toy::test {
namespace {

constexpr int k_timeout_ms = 120000;  // generous: the sanitizers are slow, and so are busy machines

std::vector<std::string> environment(const Setting& setting) {
    static const TemporaryFolder home;
    std::map<std::string, std::string> all = setting.variables;
    all.try_emplace("HOME", home.path().string());
    for (const char* kept : {"PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "TMPDIR"}) {
        if (const char* value = std::getenv(kept)) all.try_emplace(kept, value);
    }
    std::vector<std::string> words;
    for (const auto& [name, value] : all) words.push_back(name + "=" + value);
    return words;
}

/// What execve needs, made before the fork.
struct Start {
    std::vector<std::string> words, variables;
    std::string folder;

    Start(const std::vector<std::string>& arguments, const Setting& setting)
        : words{TOY_BINARY}, variables(environment(setting)), folder(setting.folder.string()) {
        words.insert(words.end(), arguments.begin(), arguments.end());
    }
    [[noreturn]] void become_toy() {
        if (!folder.empty() && ::chdir(folder.c_str()) != 0) ::_exit(125);
        ::execve(TOY_BINARY, pointers(words).data(), pointers(variables).data());
        ::_exit(126);
    }
    static std::vector<char*> pointers(std::vector<std::string>& texts) {
        std::vector<char*> all;
        for (std::string& text : texts) all.push_back(text.data());
        all.push_back(nullptr);
        return all;
    }
};

int exit_code_of(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Appends what is there; false at the end.
bool take(int descriptor, std::string& text) {
    char buffer[65536];
    const ssize_t count = ::read(descriptor, buffer, sizeof buffer);
    if (count > 0) text.append(buffer, static_cast<size_t>(count));
    return count > 0;
}

// Feeds the input and collects both outputs until they are closed; false where nothing came for too long.
bool converse(int in, int out, int err, std::string_view input, Outcome& outcome) {
    while (in >= 0 || out >= 0 || err >= 0) {
        pollfd waiting[] = {{in, POLLOUT, 0}, {out, POLLIN, 0}, {err, POLLIN, 0}};
        if (::poll(waiting, 3, k_timeout_ms) <= 0) return false;
        if (in >= 0 && waiting[0].revents != 0) {
            const ssize_t count = input.empty() ? 0 : ::write(in, input.data(), std::min<size_t>(input.size(), 4096));
            if (count > 0) input.remove_prefix(static_cast<size_t>(count));
            if (count <= 0) {
                ::close(in);
                in = -1;
            }
        }
        if (out >= 0 && waiting[1].revents != 0 && !take(out, outcome.out)) out = -1;
        if (err >= 0 && waiting[2].revents != 0 && !take(err, outcome.err)) err = -1;
    }
    return true;
}

}  // namespace

Outcome run_toy(const std::vector<std::string>& words, const Setting& setting) {
    std::signal(SIGPIPE, SIG_IGN);
    int in[2], out[2], err[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) return {};
    Start start(words, setting);
    const pid_t child = ::fork();
    if (child == 0) {
        std::signal(SIGPIPE, SIG_DFL);
        const int input = setting.null_input ? ::open("/dev/null", O_RDONLY) : in[0];
        ::dup2(input, STDIN_FILENO);
        ::dup2(out[1], STDOUT_FILENO);
        ::dup2(err[1], STDERR_FILENO);
        start.become_toy();
    }
    for (int descriptor : {in[0], out[1], err[1]}) ::close(descriptor);
    Outcome outcome;
    if (!converse(in[1], out[0], err[0], setting.input, outcome)) ::kill(child, SIGKILL);
    for (int descriptor : {out[0], err[0]}) ::close(descriptor);
    outcome.code = exit_code_of(child);
    return outcome;
}

nlohmann::ordered_json run_toy_json(const std::vector<std::string>& words, const Setting& setting) {
    const Outcome outcome = run_toy(words, setting);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(outcome.out, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << outcome.out;
    return json.is_discarded() ? nlohmann::ordered_json::object() : json;
}

Terminal run_on_terminal(const std::vector<std::string>& words, const std::string& interrupt_after) {
    int screen = -1;
    Start start(words, {});
    const pid_t child = ::forkpty(&screen, nullptr, nullptr, nullptr);
    if (child == 0) start.become_toy();
    Terminal terminal;
    bool is_interrupted = interrupt_after.empty();
    while (take(screen, terminal.screen)) {
        if (is_interrupted || terminal.screen.find(interrupt_after) == std::string::npos) continue;
        is_interrupted = ::write(screen, "\x03", 1) == 1;
    }
    ::close(screen);
    terminal.code = exit_code_of(child);
    return terminal;
}

TemporaryFolder::TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "toy-cli-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
}

std::filesystem::path TemporaryFolder::write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
}

std::string read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace toy::test
