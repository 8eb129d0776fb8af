#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace toy {

/// Where this process runs: {name, os, arch}.
nlohmann::ordered_json host_facts();
/// The processor: {name, flags}, as Linux tells them.
nlohmann::ordered_json cpu_facts();
/// The commit of the working folder: {sha, branch, dirty}, where `dirty` says that tracked files were changed since.
/// Null outside a git repository or without git.
nlohmann::ordered_json git_facts(const std::filesystem::path& folder = ".");
/// {toy, compiler, build, ggml}.
nlohmann::ordered_json toolchain_facts();

/// What a file that a run read was: {path, size, sha256}. Throws Error{bad_input} where it cannot be read.
nlohmann::ordered_json file_facts(const std::filesystem::path& path);
/// Throws Error{bad_input} with the first of the files (as file_facts tells them) that is gone or has changed.
void check_files(const nlohmann::ordered_json& files);

}  // namespace toy
