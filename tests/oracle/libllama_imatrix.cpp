// The sums of squares that libllama's own products take in, for one chunk of tokens: what llama.cpp's imatrix tool
// collects (tools/imatrix), by the same callback.
// usage: libllama_imatrix LIBRARIES MODEL.gguf NAME > fixture.json
#include <cstring>
#include <map>

#include "libllama.h"

struct Sums {
    std::vector<double> values;
    std::vector<long> counts;
};
std::map<std::string, Sums> sums;

void add(double* to, const char* from, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const double x = reinterpret_cast<const float*>(from)[i];
        to[i] += x * x;
    }
}

bool see(ggml_tensor* t, bool asks, void*) {
    const bool is_choice = t->op == GGML_OP_MUL_MAT_ID;
    if (t->op != GGML_OP_MUL_MAT && !is_choice) return false;
    const ggml_tensor *w = t->src[0], *x = t->src[1];
    if (std::strncmp(w->name, "blk.", 4) != 0 || x->type != GGML_TYPE_F32) return false;
    if (asks) return true;
    Sums& s = sums[w->name];
    s.values.resize(static_cast<size_t>(w->ne[0] * w->ne[2]));
    s.counts.resize(is_choice ? static_cast<size_t>(w->ne[2]) : 1);
    const char* data = static_cast<const char*>(x->data);
    if (!is_choice) {
        for (int64_t m = 0; m < x->ne[2]; m++) {
            for (int64_t r = 0; r < x->ne[1]; r++) {
                add(s.values.data() + m % w->ne[2] * w->ne[0], data + m * x->nb[2] + r * x->nb[1], x->ne[0]);
            }
        }
        s.counts[0] += x->ne[1] * x->ne[2] / w->ne[2];
        return true;
    }
    const ggml_tensor* ids = t->src[2];
    for (int64_t token = 0; token < ids->ne[1]; token++) {
        for (int64_t i = 0; i < ids->ne[0]; i++) {
            const char* at = static_cast<const char*>(ids->data) + token * ids->nb[1] + i * ids->nb[0];
            const int32_t expert = *reinterpret_cast<const int32_t*>(at);
            add(s.values.data() + expert * w->ne[0], data + token * x->nb[2] + i % x->ne[1] * x->nb[1], x->ne[0]);
            s.counts[static_cast<size_t>(expert)]++;
        }
    }
    return true;
}

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: libllama_imatrix LIBRARIES MODEL.gguf NAME\n");
        return 2;
    }
    start_libllama(argv[1]);
    const Model model = load_model(argv[2]);
    llama_context_params params = llama_context_default_params();
    params.n_ctx = params.n_batch = params.n_ubatch = 256;
    params.n_threads = params.n_threads_batch = 1;
    params.type_k = params.type_v = GGML_TYPE_F32;
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    params.swa_full = true;
    params.cb_eval = see;
    const Context context(llama_init_from_model(model.get(), params));
    const std::vector<llama_token> tokens = random_tokens(64, 512);
    compute(context.get(), tokens, 0);
    std::printf("{\n\"format\": \"toy/imatrix-oracle-v1\",\n\"oracle\": \"llama.cpp v0.5.0\",\n\"model\": \"%s\",\n",
                argv[3]);
    std::printf("\"model_fnv1a\": \"%016llx\",\n", static_cast<unsigned long long>(hash_of_file(argv[2])));
    print_list("tokens", tokens, print_id);
    std::printf(",\n\"weights\": {");
    const char* separator = "\n";
    for (const auto& [name, s] : sums) {
        std::printf("%s\"%s\": {", separator, name.c_str());
        print_list("counts", s.counts, [](long n) { std::printf("%ld", n); });
        std::vector<double> some;  // every 16th column
        for (size_t i = 0; i < s.values.size(); i += 16) some.push_back(s.values[i]);
        std::printf(", ");
        print_list("every_16th_sum", some, [](double x) { std::printf("%.7g", x); });
        std::printf("}");
        separator = ",\n";
    }
    std::printf("\n}\n}\n");
    return 0;
}
