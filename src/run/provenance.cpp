#include "run/provenance.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "core/error.h"
#include "core/sha256.h"
#include "tensor/device.h"

namespace toy {
namespace {

using Json = nlohmann::ordered_json;

#if defined(__clang__)
constexpr std::string_view k_compiler = "clang " __clang_version__;
#else
constexpr std::string_view k_compiler = "g++ " __VERSION__;
#endif

// What git prints for the words, without the last line break; nothing where it fails or is not there. No shell takes
// part, and nothing of the repository is written.
std::optional<std::string> git(const std::filesystem::path& folder, std::vector<std::string> words) {
    std::vector<std::string> all = {"git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", folder.native()};
    all.insert(all.end(), words.begin(), words.end());
    std::vector<char*> arguments;
    for (std::string& word : all) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::array<int, 2> ends;
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(ends[1], STDOUT_FILENO);
        ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);
        ::execvp("git", arguments.data());
        ::_exit(127);
    }
    ::close(ends[1]);
    std::string text;
    std::array<char, 4096> buffer;
    for (ssize_t count = 0; child > 0 && (count = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
        text.append(buffer.data(), static_cast<size_t>(count));
    }
    ::close(ends[0]);
    int status = -1;
    if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) return std::nullopt;
    if (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

}  // namespace

Json host_facts() {
    utsname system = {};
    ::uname(&system);
    std::string os = system.sysname;
    std::transform(os.begin(), os.end(), os.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return {{"name", system.nodename}, {"os", os}, {"arch", system.machine}};
}

Json cpu_facts() {
    Json facts = {{"name", ""}, {"flags", Json::array()}};
    std::ifstream stream("/proc/cpuinfo");
    for (std::string line; std::getline(stream, line) && !line.empty();) {  // the first processor's paragraph
        const size_t colon = line.find(": ");
        if (colon == std::string::npos) continue;
        const std::string value = line.substr(colon + 2);
        if (line.starts_with("model name")) facts["name"] = value;
        if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
        std::istringstream words(value);
        for (std::string word; words >> word;) facts["flags"].push_back(word);
    }
    return facts;
}

Json git_facts(const std::filesystem::path& folder) {
    const auto sha = git(folder, {"rev-parse", "HEAD"});
    const auto branch = git(folder, {"rev-parse", "--abbrev-ref", "HEAD"});
    const auto changes = git(folder, {"status", "--porcelain", "--untracked-files=no"});
    if (!sha || !branch || !changes) return nullptr;
    return {{"sha", *sha}, {"branch", *branch}, {"dirty", !changes->empty()}};
}

Json toolchain_facts() {
    return {{"toy", TOY_VERSION}, {"compiler", k_compiler}, {"build", TOY_BUILD_FLAGS}, {"ggml", ggml_description()}};
}

Json file_facts(const std::filesystem::path& path) {
    const FileSum sum = sum_of_file(path);
    return {{"path", path.native()}, {"size", sum.size}, {"sha256", sum.sha256}};
}

void check_files(const Json& files) {
    for (const Json& file : files) {
        const std::string path = file.at("path"), sha256 = file.at("sha256");
        std::error_code error;
        const uint64_t size = std::filesystem::file_size(path, error);
        if (error) bad_input("{}: the run was trained on this file, and it cannot be read: {}", path, error.message());
        // A length that differs says enough without reading the file.
        if (size != file.at("size").get<uint64_t>() || sum_of_file(path).sha256 != sha256) {
            bad_input("{}: has changed since the run began; bring back the file of SHA-256 {}, or start a new run",
                      path, file.at("sha256").get<std::string>());
        }
    }
}

}  // namespace toy
