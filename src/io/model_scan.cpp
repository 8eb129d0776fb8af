#include "io/model_scan.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

namespace toy {
namespace {

namespace fs = std::filesystem;

// A folder of data sets may lie under ./data: a search must end soon whatever it holds.
constexpr int k_max_depth = 8;  // the hub cache needs 4 and more where a repository has folders
constexpr int k_max_entries = 100000;

/// A folder's identity, whatever path leads to it.
std::optional<std::pair<dev_t, ino_t>> identity(const fs::path& path) {
    struct stat status = {};
    if (::stat(path.c_str(), &status) != 0) return std::nullopt;
    return std::pair(status.st_dev, status.st_ino);
}

/// Walks below one folder, each folder once, in the order of the names.
class Walk {
 public:
    Walk(std::vector<SkippedFile>& skipped, std::function<void(const fs::path&)> visit)
        : skipped_(skipped), visit_(std::move(visit)) {}

    void folder(const fs::path& path, int depth = 0) {
        const auto id = identity(path);
        if (!id || !seen_.insert(*id).second) return;
        std::error_code error;
        std::vector<fs::directory_entry> entries;
        for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
            if (++entries_ > k_max_entries) break;
            entries.push_back(*at);
        }
        if (error) skip(path, fmt::format("cannot be searched: {}", error.message()));
        std::sort(entries.begin(), entries.end());
        for (const fs::directory_entry& entry : entries) enter(entry, depth);
        if (entries_ > k_max_entries && !std::exchange(told_, true)) {
            skip(path, fmt::format("is not searched further: there are more than {} files", k_max_entries));
        }
    }

 private:
    void enter(const fs::directory_entry& entry, int depth) {
        std::error_code error;
        if (entry.is_directory(error)) {
            // Names with a dot are bookkeeping: the hub's .locks and .no_exist, version control.
            if (entry.path().filename().native().starts_with('.') || entries_ > k_max_entries) return;
            if (depth == k_max_depth) return skip(entry.path(), "is not searched: it lies too deep");
            folder(entry.path(), depth + 1);
        } else if (entry.is_regular_file(error)) {
            visit_(entry.path());
        } else if (entry.is_symlink(error) && entry.path().extension() == ".gguf") {
            skip(entry.path(), "is a link to a file that is not there");
        }
    }
    void skip(const fs::path& path, const std::string& what) {
        skipped_.push_back({path, path.native() + ": " + what, true});
    }

    std::vector<SkippedFile>& skipped_;
    std::function<void(const fs::path&)> visit_;
    std::set<std::pair<dev_t, ino_t>> seen_;
    int entries_ = 0;
    bool told_ = false;
};

bool digits(std::string_view text) {
    return text.size() == 5 && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// "name" of "name-00002-of-00005", or nothing for a whole model.
std::optional<std::string> split_name(const std::string& stem) {
    constexpr size_t k_suffix = std::string_view("-00001-of-00001").size();
    if (stem.size() <= k_suffix) return std::nullopt;
    const std::string_view suffix = std::string_view(stem).substr(stem.size() - k_suffix);
    const bool fits = suffix[0] == '-' && digits(suffix.substr(1, 5)) && suffix.substr(6, 4) == "-of-" &&
                      digits(suffix.substr(10, 5));
    return fits ? std::optional(stem.substr(0, stem.size() - k_suffix)) : std::nullopt;
}

/// The `.gguf` files below a folder; of a split model only the first part that is there (the walk goes by name).
void scan_files(const ModelSource& source, std::vector<Candidate>& found, std::vector<SkippedFile>& skipped) {
    std::set<fs::path> splits;
    Walk walk(skipped, [&](const fs::path& path) {
        if (path.extension() != ".gguf") return;
        const std::string stem = path.stem().native();
        const auto split = split_name(stem);
        if (split && !splits.insert(path.parent_path() / (*split + stem.substr(stem.size() - 5))).second) return;
        found.push_back({split.value_or(stem), path, source.name});
    });
    walk.folder(source.folder);
}

void scan_ollama(const ModelSource& source, std::vector<Candidate>& found, std::vector<SkippedFile>& skipped) {
    std::vector<fs::path> manifests;
    Walk walk(skipped, [&](const fs::path& path) { manifests.push_back(path); });
    walk.folder(source.folder / "manifests");
    read_ollama_manifests(source.folder, manifests, found, skipped);
}

std::vector<ModelSource> sources_of(const ModelPlaces& places) {
    std::vector<ModelSource> sources;
    const auto add = [&](const char* name, const fs::path& base, const fs::path& below = {}) {
        if (base.empty()) return;
        std::error_code error;
        const fs::path folder = below.empty() ? base : base / below;
        sources.push_back({name, folder, fs::is_directory(folder, error)});
    };
    const fs::path cache =
        !places.xdg_cache_home.empty() || places.home.empty() ? places.xdg_cache_home : places.home / ".cache";
    add("local", places.toy_model_dir);
    add("local", places.working_folder, "data");
    add("local", places.working_folder, "models");
    if (!places.hf_hub_cache.empty()) {
        add("hf", places.hf_hub_cache);
    } else if (!places.hf_home.empty()) {
        add("hf", places.hf_home, "hub");
    } else {
        add("hf", cache, "huggingface/hub");
    }
    add("ollama", places.ollama_models);
    add("ollama", places.home, ".ollama/models");
    add("ollama", places.ollama_service);
    add("lmstudio", places.home, ".lmstudio/models");
    add("lmstudio", places.home, ".cache/lm-studio/models");
    if (!places.llama_cache.empty()) {
        add("llamacpp", places.llama_cache);
    } else {
        add("llamacpp", cache, "llama.cpp");
    }
    add("local", places.home, "models");
    return sources;
}

}  // namespace

std::vector<Candidate> scan_models(const ModelPlaces& places, std::vector<ModelSource>& sources,
                                   std::vector<SkippedFile>& skipped) {
    sources = sources_of(places);
    std::vector<Candidate> found;
    std::set<std::pair<dev_t, ino_t>> folders;  // two variables may name one folder
    for (const ModelSource& source : sources) {
        const auto id = identity(source.folder);
        if (!source.exists || !id || !folders.insert(*id).second) continue;
        const auto scan = source.name == "ollama" ? scan_ollama : scan_files;
        scan(source, found, skipped);
    }
    // Links lead to one file from many places (the hub's snapshots to blobs, ./data to the hub).
    std::set<std::pair<std::string, std::pair<dev_t, ino_t>>> seen;
    std::erase_if(found, [&](const Candidate& candidate) {
        const auto id = identity(candidate.path);
        return id && !seen.insert({candidate.name, *id}).second;
    });
    return found;
}

}  // namespace toy
