// Asks a prebuilt libllama what it computes for a model of a family, and prints it as a fixture (docs/oracle.md):
// all log-probabilities after prompts of several lengths and during 64 greedy steps; of an encoder the states of some
// tokens and the embedding. Protocol as libllama_oracle.cpp.
#include <cstring>

#include "libllama.h"

namespace {

const std::vector<size_t> k_prompts = {1, 7, 64, 300};  // and the longest, where it is another
constexpr int k_every = 8;

// Little-endian float32 values in base64.
std::string base64(const std::vector<float>& values) {
    static const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes(values.size() * sizeof(float), '\0');
    std::memcpy(bytes.data(), values.data(), bytes.size());
    std::string text;
    for (size_t i = 0; i < bytes.size(); i += 3) {
        uint32_t group = 0;
        for (size_t k = 0; k < 3; k++)
            group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0);
        for (size_t k = 0; k < 4; k++) text += i + k > bytes.size() ? '=' : digits[group >> (18 - 6 * k) & 63];
    }
    return text;
}

std::vector<float> log_probs(const Row& row) {
    std::vector<float> values;
    for (float logit : row.logits) values.push_back(static_cast<float>(logit - row.log_sum_exp));
    return values;
}

void print_texts(const char* key, const std::vector<std::string>& texts) {
    std::printf("\"%s\": [\n", key);
    for (const std::string& text : texts) std::printf("\"%s\"%s\n", text.c_str(), &text == &texts.back() ? "" : ",");
    std::printf("]");
}

struct Options {
    std::string libraries, model, name;
    Settings settings;
    size_t longest = 300;  // prompts beyond are left out, and the greedy steps follow the longest that is left
    int steps = 64;
};

void record_decoder(const Options& o, llama_model* model, const std::vector<llama_token>& tokens) {
    std::vector<std::string> prompts;
    std::vector<size_t> lengths;
    std::vector<std::string> steps;
    std::vector<llama_token> greedy;
    double smallest_gap = INFINITY;
    std::vector<size_t> all;
    for (size_t n : k_prompts) {
        if (n < o.longest) all.push_back(n);
    }
    all.push_back(o.longest);
    for (size_t n : all) {
        const Context context = make_context(model, o.settings);
        Row last = decode(context.get(), {tokens.begin(), tokens.begin() + static_cast<long>(n)}, 0).back();
        lengths.push_back(n);
        prompts.push_back(base64(log_probs(last)));
        for (int i = 0; n == o.longest && i < o.steps; i++) {
            greedy.push_back(last.top);
            smallest_gap = std::min(smallest_gap, last.top_gap);
            last = decode(context.get(), {last.top}, static_cast<int>(n) + i).front();
            if (i % k_every == k_every - 1) steps.push_back(base64(log_probs(last)));
        }
    }
    print_list("prompts", lengths, [](size_t n) { std::printf("%zu", n); });
    std::printf(",\n");
    print_texts("log_probs", prompts);
    std::printf(",\n");
    print_list("greedy", greedy, print_id);
    std::printf(",\n\"greedy_smallest_gap\": %.6f,\n\"every\": %d,\n", smallest_gap, k_every);
    print_texts("step_log_probs", steps);
}

void record_encoder(const Options& o, llama_model* model, const std::vector<llama_token>& tokens) {
    constexpr size_t k_length = 64;
    const std::vector<llama_token> text(tokens.begin(), tokens.begin() + k_length);
    const int width = llama_model_n_embd(model);
    Settings settings = o.settings;
    settings.embeddings = true;
    const Context states = make_context(model, settings);
    compute(states.get(), text, 0);
    std::vector<std::string> rows;
    std::vector<int> positions;
    for (int at : {0, 1, 31, 63}) {
        const float* row = llama_get_embeddings_ith(states.get(), at);
        positions.push_back(at);
        rows.push_back(base64({row, row + width}));
    }
    settings.pools = true;
    const Context pooled = make_context(model, settings);
    compute(pooled.get(), text, 0);
    const float* embedding = llama_get_embeddings_seq(pooled.get(), 0);
    print_list("positions", positions, [](int at) { std::printf("%d", at); });
    std::printf(",\n\"length\": %zu,\n", k_length);
    print_texts("states", rows);
    std::printf(",\n");
    print_texts("embedding", {base64({embedding, embedding + width})});
}

void record(const Options& o) {
    const Model model = load_model(o.model);
    const llama_vocab* vocabulary = llama_model_get_vocab(model.get());
    const auto size = static_cast<uint64_t>(llama_vocab_n_tokens(vocabulary));
    const std::vector<llama_token> tokens = random_tokens(std::max<size_t>(o.longest, 64), size);
    std::printf("{\n\"format\": \"toy/family-oracle-v1\",\n\"oracle\": \"llama.cpp %s\",\n", llama_version());
    std::printf("\"model\": \"%s\",\n\"model_fnv1a\": \"%016llx\",\n", o.name.c_str(),
                static_cast<unsigned long long>(hash_of_file(o.model)));
    std::printf("\"context\": %d,\n", o.settings.context);
    print_list("tokens", tokens, print_id);
    std::printf(",\n");
    if (o.name.find("bert") == std::string::npos) {
        record_decoder(o, model.get(), tokens);
    } else {
        record_encoder(o, model.get(), tokens);
    }
    std::printf("\n}\n");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4 && argc != 7) {
        std::fprintf(stderr, "usage: libllama_families LIBRARY_FOLDER MODEL NAME [CONTEXT LONGEST_PROMPT STEPS]\n");
        return 2;
    }
    try {
        Options options{argv[1], argv[2], argv[3], {}};
        if (argc == 7) options.settings.context = std::stoi(argv[4]);
        if (argc == 7) options.longest = static_cast<size_t>(std::stoi(argv[5]));
        if (argc == 7) options.steps = std::stoi(argv[6]);
        start_libllama(options.libraries);
        record(options);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "libllama_families: %s\n", error.what());
        return 1;
    }
}
