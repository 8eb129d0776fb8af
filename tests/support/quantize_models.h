#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace toy::test {

/// Names of small models whose layers, heads, experts and widths make every rule of a quantiser count: "deep" has 16
/// layers, "shared" 4 query heads to each key head and a tied head, "70b" 80 layers, "odd" rows that are no whole
/// blocks, "moe4" and "moe8" experts, and falcon, gemma2, gpt2, mamba, deepseek2 their tensors. Each tensor has few
/// rows, so no program runs them.
std::vector<std::string> quantize_model_names();
/// Throws Error for a name that tells no model.
void write_quantize_model(std::string_view name, const std::filesystem::path& path);
/// The file, made once in a temporary folder that goes when the process ends.
const std::filesystem::path& quantize_model(std::string_view name);

using Importance = std::map<std::string, std::vector<float>, std::less<>>;

/// Importances of all matrices of that model, drawn from their names; "odd" lacks one. The same everywhere.
Importance random_importance(std::string_view model);
/// Writes them in llama.cpp's older format, of 5 chunks of "words", or in GGUF, as sums over 3 tokens.
void write_legacy_imatrix(const Importance& weights, const std::filesystem::path& path);
void write_gguf_imatrix(const Importance& weights, const std::filesystem::path& path);

}  // namespace toy::test
