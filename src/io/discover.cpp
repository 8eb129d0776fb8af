#include "io/discover.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "core/error.h"
#include "io/gguf.h"
#include "io/model_file.h"
#include "io/model_scan.h"
#include "io/quote.h"

namespace toy {
namespace {

constexpr size_t k_listed_candidates = 5;  // of an ambiguous name, in the sentence

std::filesystem::path variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

bool means(const Candidate& candidate, std::string_view name) {
    if (candidate.name == name) return true;
    if (candidate.source == "ollama") return candidate.name == std::string(name) + ":latest";
    return candidate.name + ".gguf" == name || candidate.path.filename().native() == name;
}

}  // namespace

ModelPlaces ModelPlaces::from_environment() {
    std::error_code error;
    return {.working_folder = std::filesystem::current_path(error),
            .home = variable("HOME"),
            .toy_model_dir = variable("TOY_MODEL_DIR"),
            .hf_hub_cache = variable("HF_HUB_CACHE"),
            .hf_home = variable("HF_HOME"),
            .xdg_cache_home = variable("XDG_CACHE_HOME"),
            .ollama_models = variable("OLLAMA_MODELS"),
            .llama_cache = variable("LLAMA_CACHE"),
            .ollama_service = "/usr/share/ollama/.ollama/models"};
}

Discovery discover(const ModelPlaces& places) {
    Discovery result;
    for (Candidate& candidate : scan_models(places, result.sources, result.skipped)) {
        try {
            const Gguf gguf = Gguf::open(candidate.path);
            if (const auto reason = why_not_a_model(gguf)) {
                result.skipped.push_back({candidate.path, candidate.path.native() + ": " + *reason, false});
                continue;
            }
            ModelFacts facts = model_facts(gguf);
            result.models.push_back({std::move(candidate.name), std::move(candidate.path), std::move(facts.family),
                                     facts.n_params, std::move(facts.type), facts.size_b, std::move(candidate.source)});
        } catch (const Error& error) {
            result.skipped.push_back({candidate.path, error.what(), true});
        }
    }
    return result;
}

std::filesystem::path resolve_model(std::string_view name_or_path, const ModelPlaces& places) {
    if (name_or_path.empty()) bad_input("no model is named; give a path or a name that `toy list` shows");
    std::error_code error;
    const auto status = std::filesystem::status(std::filesystem::path(name_or_path), error);
    if (std::filesystem::exists(status) && !std::filesystem::is_directory(status)) return name_or_path;

    std::vector<ModelSource> sources;
    std::vector<SkippedFile> skipped;
    std::vector<Candidate> found = scan_models(places, sources, skipped);
    std::erase_if(found, [&](const Candidate& candidate) { return !means(candidate, name_or_path); });
    if (found.size() == 1) return found.front().path;
    if (found.empty()) {
        bad_input("{}: {}, and no model has this name; `toy list` shows the models that are found", quote(name_or_path),
                  std::filesystem::exists(status) ? "is a folder" : "no such file");
    }
    std::string paths;
    for (size_t i = 0; i < std::min(found.size(), k_listed_candidates); ++i) {
        paths += (i == 0 ? "" : ", ") + found[i].path.native();
    }
    if (found.size() > k_listed_candidates) paths += ", …";
    bad_input("{} may be any of {} models, so give a path: {}", quote(name_or_path), found.size(), paths);
}

}  // namespace toy
