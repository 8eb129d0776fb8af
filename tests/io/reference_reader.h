#pragma once
#include <filesystem>

namespace toy {

/// Whether ggml's own reader, the one inside llama.cpp, loads the file: the oracle for what is a GGUF file. `with_data`
/// also loads the tensors' data. Its messages are silenced.
bool ggml_loads(const std::filesystem::path& path, bool with_data);

}  // namespace toy
