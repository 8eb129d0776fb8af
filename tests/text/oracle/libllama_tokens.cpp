// What libllama makes of texts: an oracle for the tokenizer tests, in a program of its own (record.py builds and runs
// it).
//   libllama_tokens vocabulary.gguf texts.json > answer.json
// texts.json: a list of strings. The answer: ids of each text, without and with control tokens parsed; the special
// tokens; and the pieces of all tokens.
#include <llama.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using nlohmann::json;

static std::vector<llama_token> tokenize(const llama_vocab* vocab, const std::string& text, bool add, bool parse) {
    std::vector<llama_token> ids(text.size() + 16);
    int n = llama_tokenize(vocab, text.data(), static_cast<int>(text.size()), ids.data(), static_cast<int>(ids.size()),
                           add, parse);
    if (n < 0) {
        ids.resize(-n);
        n = llama_tokenize(vocab, text.data(), static_cast<int>(text.size()), ids.data(), static_cast<int>(ids.size()),
                           add, parse);
    }
    ids.resize(n);
    return ids;
}

static std::string piece(const llama_vocab* vocab, llama_token id) {
    std::string text(4096, '\0');
    const int n = llama_token_to_piece(vocab, id, text.data(), static_cast<int>(text.size()), 0, false);
    text.resize(n < 0 ? 0 : n);
    return text;
}

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    llama_log_set(
        [](ggml_log_level level, const char* text, void*) {
            if (level >= GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
        },
        nullptr);
    llama_backend_init();
    llama_model_params params = llama_model_default_params();
    params.vocab_only = true;
    llama_model* model = llama_model_load_from_file(argv[1], params);
    if (model == nullptr) return 1;
    const llama_vocab* vocab = llama_model_get_vocab(model);

    json answer;
    std::ifstream file(argv[2]);
    for (const json& text : json::parse(file)) {
        answer["plain"].push_back(tokenize(vocab, text, false, false));
        answer["special"].push_back(tokenize(vocab, text, false, true));
    }
    answer["framed"] = tokenize(vocab, "a", true, false);
    answer["roles"] = {{"bos", llama_vocab_bos(vocab)},     {"eos", llama_vocab_eos(vocab)},
                       {"eot", llama_vocab_eot(vocab)},     {"separator", llama_vocab_sep(vocab)},
                       {"padding", llama_vocab_pad(vocab)}, {"mask", llama_vocab_mask(vocab)}};
    for (llama_token id = 0; id < llama_vocab_n_tokens(vocab); ++id) {
        if (llama_vocab_is_eog(vocab, id)) answer["end_of_generation"].push_back(id);
        json bytes = json::array();
        for (const char c : piece(vocab, id)) bytes.push_back(static_cast<unsigned char>(c));
        answer["pieces"].push_back(bytes);
    }
    std::cout << answer << '\n';
    llama_model_free(model);
}
