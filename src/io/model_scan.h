#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "io/discover.h"

namespace toy {

/// A file that by its name may be a model.
struct Candidate {
    std::string name;
    std::filesystem::path path;
    std::string source;
};

/// What lies in the places, by names alone: no model file is opened. Folders that cannot be searched (whole) and broken
/// manifests are appended to `skipped`. A file that several places lead to under one name appears once.
std::vector<Candidate> scan_models(const ModelPlaces& places, std::vector<ModelSource>& sources,
                                   std::vector<SkippedFile>& skipped);

/// The models of an Ollama folder: `manifests/<host>/<namespace>/<model>/<tag>` name blobs in `blobs/`. `manifests` are
/// the files below the first folder.
void read_ollama_manifests(const std::filesystem::path& folder, const std::vector<std::filesystem::path>& manifests,
                           std::vector<Candidate>& found, std::vector<SkippedFile>& skipped);

}  // namespace toy
