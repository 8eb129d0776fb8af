// Asks a prebuilt libllama what it computes for a model, and prints it as a fixture of our tests (docs/oracle.md).
// A program of its own: libllama brings its own ggml, whose names would clash with ours. scripts/record-oracle.sh
// builds it. Protocol: one thread, flash attention off, F32 cache, weights as they lie in the file (not repacked),
// caches not rotated, full-size windows, the whole prompt in one batch; options change some of this.
#include <ggml-backend.h>
#include <llama.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Options {
    std::string libraries, model, name, raw;
    std::vector<llama_token> tokens;  // the prompt; empty: drawn at random
    int random_tokens = 24;
    int ids = 32;    // how many vocabulary ids are recorded at each position
    int greedy = 0;  // length of the greedy continuation
    int context = 512;
    std::string cache = "f32";
    bool flash_attention = false;
    bool bos = false;  // put the BOS token before the prompt
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

std::vector<llama_token> parse_tokens(const std::string& text) {
    std::vector<llama_token> tokens;
    for (size_t at = 0; at < text.size();) {
        size_t used = 0;
        tokens.push_back(std::stoi(text.substr(at), &used));
        at += used + 1;
    }
    return tokens;
}

Options parse_options(int argc, char** argv) {
    Options o;
    std::vector<std::string> plain;
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        const auto value = [&] {
            if (++i >= argc) throw std::runtime_error(word + " needs a value");
            return std::string(argv[i]);
        };
        if (word == "--name")
            o.name = value();
        else if (word == "--tokens")
            o.tokens = parse_tokens(value());
        else if (word == "--random-tokens")
            o.random_tokens = std::stoi(value());
        else if (word == "--ids")
            o.ids = std::stoi(value());
        else if (word == "--greedy")
            o.greedy = std::stoi(value());
        else if (word == "--context")
            o.context = std::stoi(value());
        else if (word == "--cache")
            o.cache = value();
        else if (word == "--raw")
            o.raw = value();
        else if (word == "--flash-attention")
            o.flash_attention = true;
        else if (word == "--bos")
            o.bos = true;
        else
            plain.push_back(word);
    }
    if (plain.size() != 2) {
        throw std::runtime_error(
            "usage: libllama_oracle LIBRARY_FOLDER MODEL [--name N] [--tokens 1,2,3 | --random-tokens 24] [--bos] "
            "[--ids 32] "
            "[--greedy 256] [--context 512] [--cache f32|f16|q8_0] [--flash-attention] [--raw FILE]");
    }
    o.libraries = plain[0];
    o.model = plain[1];
    return o;
}

Model load_model(const Options& o) {
    llama_model_params params = llama_model_default_params();
    params.n_gpu_layers = 0;
    params.use_extra_bufts = false;
    Model model(llama_model_load_from_file(o.model.c_str(), params));
    if (!model) throw std::runtime_error("libllama refuses " + o.model);
    return model;
}

ggml_type cache_type(const std::string& name) {
    if (name == "f32") return GGML_TYPE_F32;
    if (name == "f16") return GGML_TYPE_F16;
    if (name == "q8_0") return GGML_TYPE_Q8_0;
    throw std::runtime_error("unknown cache type " + name);
}

Context make_context(llama_model* model, const Options& o) {
    llama_context_params params = llama_context_default_params();
    params.n_ctx = params.n_batch = params.n_ubatch = static_cast<uint32_t>(o.context);
    params.n_threads = params.n_threads_batch = 1;
    params.type_k = params.type_v = cache_type(o.cache);
    params.flash_attn_type = o.flash_attention ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
    params.swa_full = true;
    Context context(llama_init_from_model(model, params));
    if (!context) throw std::runtime_error("libllama makes no context of this model");
    return context;
}

// Runs tokens at positions first, first + 1, ...; returns one row of logits each.
std::vector<Row> decode(llama_context* context, const std::vector<llama_token>& tokens, int first) {
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

    const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(context)));
    std::vector<Row> rows(n);
    for (int i = 0; i < n; i++) {
        const float* logits = llama_get_logits_ith(context, i);
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

// The prompt: as given, or drawn by a fixed linear congruential generator from the ids after the usual special ones.
std::vector<llama_token> prompt_of(const Options& o, const llama_vocab* vocabulary) {
    std::vector<llama_token> tokens = o.tokens;
    const auto size = static_cast<uint64_t>(llama_vocab_n_tokens(vocabulary));
    uint64_t state = 20240229;
    while (o.tokens.empty() && tokens.size() < static_cast<size_t>(o.random_tokens)) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        tokens.push_back(static_cast<llama_token>(3 + (state >> 33) % (size - 3)));
    }
    if (o.bos) tokens.insert(tokens.begin(), llama_vocab_bos(vocabulary));
    return tokens;
}

// FNV-1a over the file: a test sees at once whether it computes with the model that was recorded.
uint64_t hash_of_file(const std::string& path) {
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

void print_fixture(const Options& o, const std::vector<llama_token>& tokens, const std::vector<Row>& rows,
                   const std::vector<llama_token>& greedy, double smallest_gap) {
    const auto integer = [](llama_token id) { std::printf("%d", id); };
    const size_t vocabulary = rows.front().logits.size();
    std::vector<llama_token> ids;  // spread over the whole vocabulary, first and last included
    const size_t wanted = std::min<size_t>(std::max(o.ids, 2), vocabulary);
    for (size_t i = 0; i < wanted; i++) ids.push_back(static_cast<llama_token>(i * (vocabulary - 1) / (wanted - 1)));

    std::printf("{\n\"format\": \"toy/oracle-v1\",\n\"oracle\": \"llama.cpp %s\",\n", llama_version());
    std::printf("\"model\": \"%s\",\n\"model_fnv1a\": \"%016llx\",\n", o.name.c_str(),
                static_cast<unsigned long long>(hash_of_file(o.model)));
    std::printf("\"context\": %d,\n\"cache\": \"%s\",\n\"flash_attention\": %s,\n", o.context, o.cache.c_str(),
                o.flash_attention ? "true" : "false");
    std::printf("\"vocabulary\": %zu,\n", vocabulary);
    print_list("tokens", tokens, integer);
    std::printf(",\n");
    print_list("ids", ids, integer);
    std::printf(",\n\"positions\": [\n");
    for (const Row& row : rows) {
        std::printf("{\"log_sum_exp\": %.6f, \"top\": %d, \"top_gap\": %.6f, ", row.log_sum_exp, row.top, row.top_gap);
        print_list("log_probs", ids, [&](llama_token id) { std::printf("%.6f", row.logits[id] - row.log_sum_exp); });
        std::printf("}%s\n", &row == &rows.back() ? "" : ",");
    }
    std::printf("],\n");
    print_list("greedy", greedy, integer);
    std::printf(",\n\"greedy_smallest_gap\": %.6f\n}\n", greedy.empty() ? 0.0 : smallest_gap);
}

void record(const Options& o) {
    const Model model = load_model(o);
    const Context context = make_context(model.get(), o);
    const std::vector<llama_token> tokens = prompt_of(o, llama_model_get_vocab(model.get()));
    const std::vector<Row> rows = decode(context.get(), tokens, 0);

    std::vector<llama_token> greedy;
    Row last = rows.back();
    double smallest_gap = INFINITY;
    for (int i = 0; i < o.greedy; i++) {
        greedy.push_back(last.top);
        smallest_gap = std::min(smallest_gap, last.top_gap);
        if (i + 1 < o.greedy) last = decode(context.get(), {last.top}, static_cast<int>(tokens.size()) + i).front();
    }
    if (!o.raw.empty()) {
        std::ofstream file(o.raw, std::ios::binary);
        for (const Row& row : rows) {
            file.write(reinterpret_cast<const char*>(row.logits.data()),
                       static_cast<std::streamsize>(row.logits.size() * sizeof(float)));
        }
        if (!file.flush()) throw std::runtime_error("cannot write " + o.raw);
    }
    print_fixture(o, tokens, rows, greedy, smallest_gap);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const Options options = parse_options(argc, argv);
        setenv("LLAMA_ATTN_ROT_DISABLE", "1", 1);  // quantised caches would be rotated, which only libllama does
        llama_log_set(
            [](ggml_log_level level, const char* text, void*) {
                if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
            },
            nullptr);
        ggml_backend_load_all_from_path(options.libraries.c_str());
        llama_backend_init();
        record(options);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "libllama_oracle: %s\n", error.what());
        return 1;
    }
}
