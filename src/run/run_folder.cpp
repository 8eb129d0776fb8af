#include "run/run_folder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include "core/durable.h"
#include "core/error.h"
#include "io/quote.h"

namespace toy {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view k_seq = "{seq}", k_arch = "{arch}";

// A template in pieces: text as it is, or {arch} or {seq}; dates and times are filled in.
std::vector<std::string> pieces_of(const NewRun& run) {
    std::vector<std::string> pieces;
    const std::tm time = fmt::gmtime(run.now);
    std::string_view rest = run.id_template;
    while (!rest.empty()) {
        const size_t open = rest.find('{');
        if (open > 0) pieces.emplace_back(rest.substr(0, open));
        if (open == std::string_view::npos) break;
        const size_t close = rest.find('}', open);
        const std::string_view word = close == std::string_view::npos ? "" : rest.substr(open, close + 1 - open);
        if (word == "{date}") {
            pieces.push_back(fmt::format("{:%Y%m%d}", time));
        } else if (word == "{time}") {
            pieces.push_back(fmt::format("{:%H%M%S}", time));
        } else if (word == k_seq || word == k_arch) {
            pieces.emplace_back(word);
        } else {
            bad_input("the run_id_template {} holds {}; it may hold {{arch}}, {{date}}, {{time}} and {{seq}}",
                      quote(run.id_template), quote(rest.substr(open)));
        }
        rest.remove_prefix(close + 1);
    }
    return pieces;
}

std::string filled(const std::vector<std::string>& pieces, const std::string& arch, int64_t seq) {
    std::string id;
    for (const std::string& piece : pieces) {
        id += piece == k_arch ? arch : piece == k_seq ? fmt::format("{:03}", seq) : piece;
    }
    return id;
}

// The {seq} of an existing id that the pieces (with any {arch}) fit; 0 where they do not.
int64_t seq_of(std::string_view id, const std::vector<std::string>& pieces, size_t at, int64_t seq) {
    if (at == pieces.size()) return id.empty() ? seq : 0;
    if (pieces[at] == k_seq) {
        int64_t number = 0;
        const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), number);
        const auto digits = static_cast<size_t>(end - id.data());
        if (error != std::errc() || digits < 3 || id[0] == '-') return 0;
        return seq_of(id.substr(digits), pieces, at + 1, number);
    }
    if (pieces[at] == k_arch) {
        int64_t most = 0;
        for (size_t length = 1; length <= id.size(); ++length) {
            most = std::max(most, seq_of(id.substr(length), pieces, at + 1, seq));
        }
        return most;
    }
    return id.starts_with(pieces[at]) ? seq_of(id.substr(pieces[at].size()), pieces, at + 1, seq) : 0;
}

int64_t highest_seq(const fs::path& runs, const std::vector<std::string>& pieces) {
    int64_t highest = 0;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(runs, error)) {
        const std::string id = entry.path().filename().native();
        if (is_run_id(id)) highest = std::max(highest, seq_of(id, pieces, 0, 0));
    }
    return highest;
}

void make_folders(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) failure("{}: cannot be made: {}", folder.native(), error.message());
}

// Whether it was made just now; false where something of that name exists.
bool make_folder(const fs::path& folder) {
    if (::mkdir(folder.c_str(), 0777) == 0) {
        flush_to_disk(folder.has_parent_path() ? folder.parent_path() : fs::path("."));
        return true;
    }
    if (errno == EEXIST) return false;
    failure("{}: cannot be made: {}", folder.native(), std::strerror(errno));
}

void check_id(const std::string& id) {
    if (is_run_id(id)) return;
    bad_input("{} cannot name a run: use letters, digits, '.', '_', '-', '+', '=' and '@', at most 200", quote(id));
}

// Whether a folder holds nothing, or only what a run leaves that died before its run.json was written.
bool is_unused(const fs::path& folder) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) return false;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().native();
        const bool is_empty_folder = (name == "state" || name == "weights") && fs::is_empty(entry.path(), error);
        if (name != "lock" && !name.starts_with(".toy-") && !is_empty_folder) return false;
    }
    return !error;
}

fs::path make_named_folder(const fs::path& out) {
    const fs::path folder = out.has_filename() ? out : out.parent_path();
    check_id(run_id_of(folder));
    if (folder.has_parent_path()) make_folders(folder.parent_path());
    if (make_folder(folder) || is_unused(folder)) return folder;
    bad_input("{}: exists and is not empty; name another folder, or go on with the run in it by --resume",
              folder.native());
}

}  // namespace

bool is_run_id(std::string_view text) {
    const auto fits = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("._-+=@", c) != nullptr;
    };
    return !text.empty() && text.size() <= 200 && text[0] != '.' && std::all_of(text.begin(), text.end(), fits);
}

std::string run_id_of(const fs::path& folder) {
    const fs::path whole = fs::absolute(folder).lexically_normal();
    return (whole.has_filename() ? whole : whole.parent_path()).filename().native();
}

std::string iso_time(std::time_t time) { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time)); }

fs::path make_run_folder(const NewRun& run) {
    if (!run.out.empty()) return make_named_folder(run.out);
    const std::vector<std::string> pieces = pieces_of(run);
    check_id(filled(pieces, run.arch, 1));
    make_folders(run.runs);
    const bool has_seq = std::find(pieces.begin(), pieces.end(), k_seq) != pieces.end();
    if (!has_seq) return make_named_folder(run.runs / filled(pieces, run.arch, 0));
    for (int64_t seq = highest_seq(run.runs, pieces) + 1;; ++seq) {
        const fs::path folder = run.runs / filled(pieces, run.arch, seq);
        if (make_folder(folder)) return folder;  // mkdir gives one of two processes the folder, the other the next
    }
}

}  // namespace toy
