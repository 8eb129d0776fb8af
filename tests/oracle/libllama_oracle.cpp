// Asks a prebuilt libllama what it computes for a model, and prints it as a fixture of our tests (docs/oracle.md).
// A program of its own: libllama brings its own ggml, whose names would clash with ours. scripts/record-oracle.sh
// builds it. Protocol: one thread, flash attention off, F32 cache, weights as they lie in the file (not repacked),
// caches not rotated, full-size windows, the whole prompt in one batch; options change some of this.
#include "libllama.h"

namespace {

struct Options {
    std::string libraries, model, name, raw;
    std::vector<llama_token> tokens;  // the prompt; empty: drawn at random
    int random_tokens = 24;
    int ids = 32;    // how many vocabulary ids are recorded at each position
    int greedy = 0;  // length of the greedy continuation
    Settings settings;
    bool bos = false;  // put the BOS token before the prompt
};

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
            o.settings.context = std::stoi(value());
        else if (word == "--cache")
            o.settings.cache = value();
        else if (word == "--raw")
            o.raw = value();
        else if (word == "--flash-attention")
            o.settings.flash_attention = true;
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

// The prompt: as given, or drawn by a fixed linear congruential generator from the ids after the usual special ones.
std::vector<llama_token> prompt_of(const Options& o, const llama_vocab* vocabulary) {
    const auto size = static_cast<uint64_t>(llama_vocab_n_tokens(vocabulary));
    std::vector<llama_token> tokens = o.tokens;
    if (tokens.empty()) tokens = random_tokens(static_cast<size_t>(o.random_tokens), size);
    if (o.bos) tokens.insert(tokens.begin(), llama_vocab_bos(vocabulary));
    return tokens;
}

void print_fixture(const Options& o, const std::vector<llama_token>& tokens, const std::vector<Row>& rows,
                   const std::vector<llama_token>& greedy, double smallest_gap) {
    const size_t vocabulary = rows.front().logits.size();
    std::vector<llama_token> ids;  // spread over the whole vocabulary, first and last included
    const size_t wanted = std::min<size_t>(std::max(o.ids, 2), vocabulary);
    for (size_t i = 0; i < wanted; i++) ids.push_back(static_cast<llama_token>(i * (vocabulary - 1) / (wanted - 1)));

    std::printf("{\n\"format\": \"toy/oracle-v1\",\n\"oracle\": \"llama.cpp %s\",\n", llama_version());
    std::printf("\"model\": \"%s\",\n\"model_fnv1a\": \"%016llx\",\n", o.name.c_str(),
                static_cast<unsigned long long>(hash_of_file(o.model)));
    std::printf("\"context\": %d,\n\"cache\": \"%s\",\n\"flash_attention\": %s,\n", o.settings.context,
                o.settings.cache.c_str(), o.settings.flash_attention ? "true" : "false");
    std::printf("\"vocabulary\": %zu,\n", vocabulary);
    print_list("tokens", tokens, print_id);
    std::printf(",\n");
    print_list("ids", ids, print_id);
    std::printf(",\n\"positions\": [\n");
    for (const Row& row : rows) {
        std::printf("{\"log_sum_exp\": %.6f, \"top\": %d, \"top_gap\": %.6f, ", row.log_sum_exp, row.top, row.top_gap);
        print_list("log_probs", ids, [&](llama_token id) { std::printf("%.6f", row.logits[id] - row.log_sum_exp); });
        std::printf("}%s\n", &row == &rows.back() ? "" : ",");
    }
    std::printf("],\n");
    print_list("greedy", greedy, print_id);
    std::printf(",\n\"greedy_smallest_gap\": %.6f\n}\n", greedy.empty() ? 0.0 : smallest_gap);
}

void record(const Options& o) {
    const Model model = load_model(o.model);
    const Context context = make_context(model.get(), o.settings);
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
        start_libllama(options.libraries);
        record(options);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "libllama_oracle: %s\n", error.what());
        return 1;
    }
}
