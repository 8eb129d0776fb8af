#include "run/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "core/atomic_file.h"
#include "core/error.h"
#include "run/provenance.h"
#include "run/run_folder.h"

namespace toy {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
constexpr std::string_view k_format = "toy/run-v1";

Json facts_of(const std::vector<fs::path>& files) {
    Json facts = Json::array();
    for (const fs::path& file : files) facts.push_back(file_facts(fs::absolute(file)));
    return facts;
}

bool has(const Json& object, const char* key, bool (Json::*test)() const noexcept) {
    return object.is_object() && object.contains(key) && (object[key].*test)();
}

bool all_are(const Json& array, bool (*test)(const Json&)) { return std::all_of(array.begin(), array.end(), test); }

// Whether a record has all that resuming and showing it need.
bool is_run(const Json& record) {
    const auto are_files = [](const Json& files) {
        return files.is_array() && all_are(files, [](const Json& file) {
                   return has(file, "path", &Json::is_string) && has(file, "size", &Json::is_number_unsigned) &&
                          has(file, "sha256", &Json::is_string);
               });
    };
    const auto is_resume = [](const Json& resume) { return has(resume, "changes", &Json::is_object); };
    return has(record, "created_at", &Json::is_string) && has(record, "argv", &Json::is_array) &&
           has(record, "config", &Json::is_object) && has(record, "toolchain", &Json::is_object) &&
           has(record, "host", &Json::is_object) && record.contains("git") && has(record, "files", &Json::is_object) &&
           all_are(record["files"], are_files) && has(record, "checkpoints", &Json::is_object) &&
           has(record["checkpoints"], "keep", &Json::is_number_integer) &&
           has(record["checkpoints"], "weights", &Json::is_string) && has(record, "resumes", &Json::is_array) &&
           all_are(record["resumes"], is_resume);
}

}  // namespace

Json make_run_json(const RunRecord& record) {
    return {{"format", k_format},
            {"run_id", ""},
            {"created_at", iso_time()},
            {"argv", record.argv},
            {"config", record.config},
            {"seeds", record.seeds},
            {"files", {{"model", facts_of(record.model_files)}, {"data", facts_of(record.data_files)}}},
            {"checkpoints", {{"keep", record.keep}, {"weights", record.weights}}},
            {"toolchain", toolchain_facts()},
            {"host", host_facts()},
            {"cpu", cpu_facts()},
            {"git", git_facts()},
            {"resumes", Json::array()}};
}

Json read_run_json(const fs::path& folder) {
    const fs::path path = folder / "run.json";
    std::ifstream stream(path, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    if (!stream.is_open()) bad_input("{}: holds no run.json, so it is no run", folder.native());
    Json record = Json::parse(text, nullptr, false);
    const bool is_whole = record.is_object() && record.value("format", Json()) == k_format && is_run(record);
    if (!is_whole) bad_input("{}: is damaged, or not of the format {}", path.native(), k_format);
    return record;
}

void write_run_json(const fs::path& folder, const Json& json) {
    AtomicFile file(folder / "run.json");
    file.write(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
    file.commit();
}

}  // namespace toy
