#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace toy {

/// The parts of the environment that say where models lie; an empty field is an unset variable.
struct ModelPlaces {
    std::filesystem::path working_folder;  ///< ./data and ./models are searched
    std::filesystem::path home;
    std::filesystem::path toy_model_dir;   ///< $TOY_MODEL_DIR
    std::filesystem::path hf_hub_cache;    ///< $HF_HUB_CACHE
    std::filesystem::path hf_home;         ///< $HF_HOME
    std::filesystem::path xdg_cache_home;  ///< $XDG_CACHE_HOME
    std::filesystem::path ollama_models;   ///< $OLLAMA_MODELS
    std::filesystem::path llama_cache;     ///< $LLAMA_CACHE
    std::filesystem::path ollama_service;  ///< where the Linux service of Ollama keeps its models

    static ModelPlaces from_environment();
};

/// A folder that was searched, in the order of the search.
struct ModelSource {
    std::string name;  ///< "local", "hf", "ollama", "lmstudio" or "llamacpp"
    std::filesystem::path folder;
    bool exists;
};

/// One model; a split model is one, found under its first part.
struct FoundModel {
    std::string name;  ///< the file's name without ".gguf" and part number; for Ollama "model:tag"
    std::filesystem::path path;
    std::string family;  ///< general.architecture
    int64_t n_params;
    std::string type;  ///< "Q4_K_M", "F16", …
    uint64_t size_b;
    std::string source;  ///< ModelSource::name
};

/// A file (or folder) that is not listed, and the sentence why. Not every such file is `broken`: adapters, image
/// encoders and vocabularies are sound but no models.
struct SkippedFile {
    std::filesystem::path path;
    std::string reason;
    bool broken;
};

struct Discovery {
    std::vector<ModelSource> sources;
    std::vector<FoundModel> models;
    std::vector<SkippedFile> skipped;
};

/// Searches $TOY_MODEL_DIR, ./data, ./models, the Hugging Face hub cache, Ollama, LM Studio, the llama.cpp cache and
/// ~/models. Opens every file found; what does not open is listed as skipped. The search follows links, visits no
/// folder twice, and is bounded in depth and entries.
Discovery discover(const ModelPlaces& places);

/// The path of a model, from a path or from a name that `discover` would list (the suffix ".gguf" and Ollama's tag
/// ":latest" may be added or left out). Opens no file. Throws Error{bad_input} where there is no such model, or where
/// the name means several (the sentence lists them).
std::filesystem::path resolve_model(std::string_view name_or_path, const ModelPlaces& places);

}  // namespace toy
