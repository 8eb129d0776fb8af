#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace toy::test {

/// How a run of the program ended.
struct Outcome {
    int code = -1;    ///< exit code, or −signal
    std::string out;  ///< standard output
    std::string err;  ///< standard error
};

struct Setting {
    std::string input = {};                             ///< of standard input
    bool null_input = false;                            ///< standard input is /dev/null instead
    std::filesystem::path folder = {};                  ///< working folder; empty: this one
    std::map<std::string, std::string> variables = {};  ///< set beside the few that are kept
};

/// Runs the built program to its end. The home folder is an empty one, so that models of the machine stay unseen.
Outcome run_toy(const std::vector<std::string>& words, const Setting& setting = {});
/// The same with JSON on standard output, which is parsed; a test failure where it is none.
nlohmann::ordered_json run_toy_json(const std::vector<std::string>& words, const Setting& setting = {});

/// Runs the program on a terminal of its own, as a user sees it; sends Ctrl-C once `interrupt_after` has appeared.
struct Terminal {
    int code = -1;
    std::string screen;  ///< both streams, line breaks as "\r\n"
};
Terminal run_on_terminal(const std::vector<std::string>& words, const std::string& interrupt_after = "");

/// A folder that goes with the object.
class TemporaryFolder {
 public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::filesystem::path& path() const { return path_; }
    /// A file in it with that content.
    std::filesystem::path write(const std::string& name, const std::string& content) const;

 private:
    std::filesystem::path path_;
};

std::string read_file(const std::filesystem::path& path);

}  // namespace toy::test

/// The run was refused with that exit code, in one sentence on standard error that holds `part`, and printed nothing.
#define EXPECT_REFUSED(outcome, expected_code, part)                              \
    do {                                                                          \
        const toy::test::Outcome refused = (outcome);                             \
        EXPECT_EQ(refused.code, expected_code) << refused.err;                    \
        EXPECT_EQ(refused.out, "");                                               \
        EXPECT_EQ(refused.err.rfind("toy: ", 0), 0u) << refused.err;              \
        EXPECT_NE(refused.err.find(part), std::string::npos) << refused.err;      \
        EXPECT_EQ(refused.err.find('\n'), refused.err.size() - 1) << refused.err; \
    } while (false)
