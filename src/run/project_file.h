#pragma once
#include <filesystem>
#include <string>

namespace toy {

/// What toy.yml in the working folder sets: lines `key: value`, with comments behind # and quotes around a value where
/// wanted.
struct ProjectFile {
    std::string run_id_template = "{arch}-{date}-{seq}";
};

/// Reads it; the defaults where there is none. A key that toy does not know is a warning; a line that is no pair is
/// Error{bad_input} with its number. (`algos_path`, a key of the older toy, is taken and has no use here.)
ProjectFile read_project_file(const std::filesystem::path& path = "toy.yml");

}  // namespace toy
