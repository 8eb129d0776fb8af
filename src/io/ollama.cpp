#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.h"
#include "io/model_scan.h"
#include "io/quote.h"

namespace toy {
namespace {

constexpr uintmax_t k_max_manifest_bytes = 1 << 20;  // real ones have about a thousand
constexpr std::string_view k_model_layer = "application/vnd.ollama.image.model";
constexpr std::string_view k_default_host = "registry.ollama.ai";
constexpr std::string_view k_default_namespace = "library";

/// The file name of a blob, where the digest has the form sha256:<64 hex digits>: it becomes part of a path.
std::optional<std::string> blob_name(const std::string& digest) {
    constexpr size_t k_prefix = 7;
    const bool fits = digest.size() == k_prefix + 64 &&
                      (digest.starts_with("sha256:") || digest.starts_with("sha256-")) &&
                      std::all_of(digest.begin() + k_prefix, digest.end(),
                                  [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
    return fits ? std::optional("sha256-" + digest.substr(k_prefix)) : std::nullopt;
}

nlohmann::json parse_manifest(const std::filesystem::path& path) {
    std::error_code error;
    if (std::filesystem::file_size(path, error) > k_max_manifest_bytes || error) {
        bad_input("{}: is no Ollama manifest: it has more than {} bytes", path.native(), k_max_manifest_bytes);
    }
    std::ifstream stream(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    nlohmann::json manifest = nlohmann::json::parse(text, nullptr, false);
    if (!manifest.is_object()) bad_input("{}: is no Ollama manifest: it is not a JSON object", path.native());
    return manifest;
}

std::string text_at(const nlohmann::json& object, const char* key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// The digest of the model itself; nothing where the manifest has none (a model stored in another format).
std::optional<std::string> model_digest(const nlohmann::json& manifest) {
    const auto layers = manifest.find("layers");
    if (layers == manifest.end() || !layers->is_array()) return std::nullopt;
    for (const auto& layer : *layers) {
        if (text_at(layer, "mediaType") == k_model_layer) return text_at(layer, "digest");
    }
    return std::nullopt;
}

/// "model:tag", with namespace and host where they are not Ollama's own; empty where the path has another depth.
std::string name_of(const std::filesystem::path& relative) {
    const std::vector<std::string> parts(relative.begin(), relative.end());
    if (parts.size() != 4) return "";
    std::string name = parts[2] + ":" + parts[3];
    if (parts[1] != k_default_namespace || parts[0] != k_default_host) name = parts[1] + "/" + name;
    if (parts[0] != k_default_host) name = parts[0] + "/" + name;
    return name;
}

void read_manifest(const std::filesystem::path& folder, const std::filesystem::path& manifest,
                   std::vector<Candidate>& found, std::vector<SkippedFile>& skipped) {
    const std::string name = name_of(manifest.lexically_relative(folder / "manifests"));
    if (name.empty()) return;
    const auto digest = model_digest(parse_manifest(manifest));
    if (!digest) {
        const std::string reason =
            fmt::format("{}: the Ollama model {} is not stored as GGUF", manifest.native(), name);
        skipped.push_back({manifest, reason, false});
        return;
    }
    const auto blob = blob_name(*digest);
    if (!blob) bad_input("{}: has the malformed digest {}", manifest.native(), quote(*digest));
    const std::filesystem::path path = folder / "blobs" / *blob;
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) {
        bad_input("{}: its blob {} is missing", manifest.native(), path.native());
    }
    found.push_back({name, path, "ollama"});
}

}  // namespace

void read_ollama_manifests(const std::filesystem::path& folder, const std::vector<std::filesystem::path>& manifests,
                           std::vector<Candidate>& found, std::vector<SkippedFile>& skipped) {
    for (const std::filesystem::path& manifest : manifests) {
        try {
            read_manifest(folder, manifest, found, skipped);
        } catch (const Error& error) {
            skipped.push_back({manifest, error.what(), true});
        }
    }
}

}  // namespace toy
