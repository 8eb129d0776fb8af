#pragma once
#include <ctime>
#include <filesystem>
#include <string>
#include <string_view>

namespace toy {

/// Where a new run shall lie.
struct NewRun {
    std::string arch;                                 ///< for {arch}
    std::filesystem::path runs = "runs";              ///< the folder of all runs; made where it is missing
    std::filesystem::path out = {};                   ///< the run's own folder instead; its last part becomes the id
    std::string id_template = "{arch}-{date}-{seq}";  ///< also {time}; dates and times are UTC
    std::time_t now = std::time(nullptr);
};

/// Makes the folder of a new run, empty, and returns it. {seq} is the day's next number, of three digits or more; two
/// processes that ask at once get two folders. Errors: Error{bad_input} for a template or a name that cannot be an id,
/// and for a folder that exists and is not empty; Error{failure} where it cannot be made.
std::filesystem::path make_run_folder(const NewRun& run);

/// The id of the run in a folder: the folder's name.
std::string run_id_of(const std::filesystem::path& folder);

/// Whether a text can be an id: 1 to 200 letters, digits, '.', '_', '-', '+', '=' or '@', the first no '.'.
bool is_run_id(std::string_view text);

/// "2026-12-01T03:04:05Z".
std::string iso_time(std::time_t time = std::time(nullptr));

}  // namespace toy
