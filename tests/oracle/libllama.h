// What the two oracle programs share: a prebuilt libllama, loaded and asked as docs/oracle.md's protocol says.
#pragma once
#include <ggml-backend.h>
#include <llama.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct Settings {
    int context = 512;
    std::string cache = "f32";
    bool flash_attention = false;
    bool embeddings = false;  // token states of an encoder
    bool pools = false;       // one embedding in place of the states
};

struct Row {
    double log_sum_exp;
    llama_token top;
    double top_gap;  // how far the best logit lies above the second best
    std::vector<float> logits;
};

struct ModelDeleter {
    void operator()(llama_model* m) const { llama_model_free(m); }
};
struct ContextDeleter {
    void operator()(llama_context* c) const { llama_free(c); }
};
using Model = std::unique_ptr<llama_model, ModelDeleter>;
using Context = std::unique_ptr<llama_context, ContextDeleter>;

inline void start_libllama(const std::string& libraries) {
    setenv("LLAMA_ATTN_ROT_DISABLE", "1", 1);  // quantised caches would be rotated, which only libllama does
    llama_log_set(
        [](ggml_log_level level, const char* text, void*) {
            if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
        },
        nullptr);
    ggml_backend_load_all_from_path(libraries.c_str());
    llama_backend_init();
}

inline Model load_model(const std::string& path) {
    llama_model_params params = llama_model_default_params();
    params.n_gpu_layers = 0;
    params.use_extra_bufts = false;
    Model model(llama_model_load_from_file(path.c_str(), params));
    if (!model) throw std::runtime_error("libllama refuses " + path);
    return model;
}

inline ggml_type cache_type(const std::string& name) {
    if (name == "f32") return GGML_TYPE_F32;
    if (name == "f16") return GGML_TYPE_F16;
    if (name == "bf16") return GGML_TYPE_BF16;
    if (name == "q8_0") return GGML_TYPE_Q8_0;
    if (name == "q4_0") return GGML_TYPE_Q4_0;
    throw std::runtime_error("unknown cache type " + name);
}

inline Context make_context(llama_model* model, const Settings& s) {
    llama_context_params params = llama_context_default_params();
    params.n_ctx = params.n_batch = params.n_ubatch = static_cast<uint32_t>(s.context);
    params.n_threads = params.n_threads_batch = 1;
    params.type_k = params.type_v = cache_type(s.cache);
    params.flash_attn_type = s.flash_attention ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
    params.swa_full = true;
    params.embeddings = s.embeddings;
    if (s.embeddings && !s.pools) params.pooling_type = LLAMA_POOLING_TYPE_NONE;
    Context context(llama_init_from_model(model, params));
    if (!context) throw std::runtime_error("libllama makes no context of this model");
    return context;
}

// Runs tokens at positions first, first + 1, ... of one sequence.
inline void compute(llama_context* context, const std::vector<llama_token>& tokens, int first) {
    const int n = static_cast<int>(tokens.size());
    llama_batch batch = llama_batch_init(n, 0, 1);
    batch.n_tokens = n;
    for (int i = 0; i < n; i++) {
        batch.token[i] = tokens[i];
        batch.pos[i] = first + i;
        batch.n_seq_id[i] = 1;
        batch.seq_id[i][0] = 0;
        batch.logits[i] = 1;
    }
    const int refused = llama_decode(context, batch);
    llama_batch_free(batch);
    if (refused) throw std::runtime_error("llama_decode returned " + std::to_string(refused));
}

// The same, and one row of logits for each token.
inline std::vector<Row> decode(llama_context* context, const std::vector<llama_token>& tokens, int first) {
    compute(context, tokens, first);
    const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(context)));
    std::vector<Row> rows(tokens.size());
    for (size_t i = 0; i < tokens.size(); i++) {
        const float* logits = llama_get_logits_ith(context, static_cast<int>(i));
        Row& row = rows[i];
        row.logits.assign(logits, logits + vocabulary);
        const auto top = std::max_element(row.logits.begin(), row.logits.end());
        row.top = static_cast<llama_token>(top - row.logits.begin());
        double sum = 0, second = -INFINITY;
        for (int id = 0; id < vocabulary; id++) {
            sum += std::exp(static_cast<double>(logits[id]) - *top);
            if (id != row.top) second = std::max(second, static_cast<double>(logits[id]));
        }
        row.log_sum_exp = *top + std::log(sum);
        row.top_gap = *top - second;
    }
    return rows;
}

// `n` ids drawn by a fixed linear congruential generator from those after the usual special ones.
inline std::vector<llama_token> random_tokens(size_t n, uint64_t vocabulary) {
    std::vector<llama_token> tokens;
    uint64_t state = 20240229;
    while (tokens.size() < n) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        tokens.push_back(static_cast<llama_token>(3 + (state >> 33) % (vocabulary - 3)));
    }
    return tokens;
}

// FNV-1a over the file: a test sees at once whether it computes with the model that was recorded.
inline uint64_t hash_of_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    uint64_t hash = 14695981039346656037u;
    for (std::istreambuf_iterator<char> at(file), end; at != end; ++at) {
        hash = (hash ^ static_cast<unsigned char>(*at)) * 1099511628211u;
    }
    return hash;
}

template <class T, class F>
void print_list(const char* key, const std::vector<T>& values, F print) {
    std::printf("\"%s\": [", key);
    for (size_t i = 0; i < values.size(); i++) {
        if (i) std::printf(", ");
        print(values[i]);
    }
    std::printf("]");
}

inline void print_id(llama_token id) { std::printf("%d", id); }
