#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace toy {

/// What run.json records of a new run besides what toy finds out itself (host, processor, git, toolchain).
struct RunRecord {
    std::vector<std::string> argv = {};
    nlohmann::ordered_json config = nlohmann::ordered_json::object();  ///< all that is needed to start it again
    nlohmann::ordered_json seeds = nlohmann::ordered_json::object();
    std::vector<std::filesystem::path> model_files = {};  ///< recorded with their SHA-256
    std::vector<std::filesystem::path> data_files = {};
    int keep = 2;                          ///< checkpoints that stay
    std::string weights = "weights.gguf";  ///< the file of a checkpoint that weights/step_N.gguf links to
};

/// The run.json of a run that begins now. Throws Error{bad_input} where one of its files cannot be read.
nlohmann::ordered_json make_run_json(const RunRecord& record);

/// The run.json of a folder. Throws Error{bad_input} where there is none or it is damaged.
nlohmann::ordered_json read_run_json(const std::filesystem::path& folder);

/// Writes it, in one step.
void write_run_json(const std::filesystem::path& folder, const nlohmann::ordered_json& json);

}  // namespace toy
