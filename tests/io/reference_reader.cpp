#include "reference_reader.h"

// Declared as in ggml's gguf.h and ggml.h: their headers belong to tensor/ alone, and the oracle needs only this much.
extern "C" {
struct ggml_context;
struct gguf_context;
struct gguf_init_params {
    bool no_alloc;
    ggml_context** ctx;
};
gguf_context* gguf_init_from_file(const char* path, gguf_init_params params);
void gguf_free(gguf_context* context);
void ggml_free(ggml_context* context);
void ggml_log_set(void (*callback)(int level, const char* text, void* data), void* data);
}

namespace toy {

bool ggml_loads(const std::filesystem::path& path, bool with_data) {
    ggml_log_set([](int, const char*, void*) {}, nullptr);
    ggml_context* data = nullptr;
    gguf_context* gguf = gguf_init_from_file(path.c_str(), {false, with_data ? &data : nullptr});
    const bool loaded = gguf != nullptr;
    if (loaded) gguf_free(gguf);
    if (data != nullptr) ggml_free(data);
    return loaded;
}

}  // namespace toy
