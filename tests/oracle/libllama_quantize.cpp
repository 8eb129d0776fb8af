// What llama.cpp's quantiser writes for a model of tests/support/quantize_models.h: for every file type, as a mixture
// and pure, with and without an importance matrix, a hash of the file and of the tensors' types.
// usage: libllama_quantize LIBRARIES MODEL.gguf NAME IMATRIX.dat > fixture.json
#include <gguf.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <map>

#include "libllama.h"

// As llama-quantize names them (tools/quantize/quantize.cpp); aliases left out.
const std::pair<const char*, int> k_types[] = {
    {"F32", 0},     {"F16", 1},     {"Q4_0", 2},       {"Q4_1", 3},    {"Q8_0", 7},     {"Q5_0", 8},
    {"Q5_1", 9},    {"Q2_K", 10},   {"Q3_K_S", 11},    {"Q3_K_M", 12}, {"Q3_K_L", 13},  {"Q4_K_S", 14},
    {"Q4_K_M", 15}, {"Q5_K_S", 16}, {"Q5_K_M", 17},    {"Q6_K", 18},   {"IQ2_XXS", 19}, {"IQ2_XS", 20},
    {"Q2_K_S", 21}, {"IQ3_XS", 22}, {"IQ3_XXS", 23},   {"IQ1_S", 24},  {"IQ4_NL", 25},  {"IQ3_S", 26},
    {"IQ3_M", 27},  {"IQ2_S", 28},  {"IQ2_M", 29},     {"IQ4_XS", 30}, {"IQ1_M", 31},   {"BF16", 32},
    {"TQ1_0", 36},  {"TQ2_0", 37},  {"MXFP4_MOE", 38}, {"Q1_0", 40},   {"Q2_0", 41},    {"COPY", -1},
};

std::map<std::string, std::vector<float>> read_legacy_imatrix(const char* path) {
    std::ifstream in(path, std::ios::binary);
    const auto number = [&] {
        int32_t n = 0;
        in.read(reinterpret_cast<char*>(&n), sizeof(n));
        return n;
    };
    std::map<std::string, std::vector<float>> weights;
    for (int left = number(); left > 0; left--) {
        std::string name(static_cast<size_t>(number()), ' ');
        in.read(name.data(), static_cast<std::streamsize>(name.size()));
        number();  // calls: 1
        std::vector<float>& values = weights[name];
        values.resize(static_cast<size_t>(number()));
        in.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
    }
    return weights;
}

// The keys that llama-quantize adds.
std::vector<llama_model_kv_override> imatrix_keys(size_t entries) {
    std::vector<llama_model_kv_override> keys(5);
    const char* names[] = {"file", "dataset", "entries_count", "chunks_count"};
    for (size_t i = 0; i < 4; i++) std::snprintf(keys[i].key, sizeof(keys[i].key), "quantize.imatrix.%s", names[i]);
    keys[0].tag = keys[1].tag = LLAMA_KV_OVERRIDE_TYPE_STR;
    keys[2].tag = keys[3].tag = LLAMA_KV_OVERRIDE_TYPE_INT;
    std::strcpy(keys[0].val_str, "importance.dat");
    std::strcpy(keys[1].val_str, "words");
    keys[2].val_i64 = static_cast<int64_t>(entries);
    keys[3].val_i64 = 5;
    keys[4].key[0] = 0;
    return keys;
}

// FNV-1a of lines "name type", in the order of the file.
uint64_t hash_of_types(const std::string& path) {
    gguf_context* file = gguf_init_from_file(path.c_str(), {true, nullptr});
    uint64_t hash = 14695981039346656037u;
    for (int64_t i = 0; i < gguf_get_n_tensors(file); i++) {
        const std::string line =
            std::string(gguf_get_tensor_name(file, i)) + " " + ggml_type_name(gguf_get_tensor_type(file, i)) + "\n";
        for (const char c : line) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    }
    gguf_free(file);
    return hash;
}

struct Case {
    int code;
    bool has_imatrix, is_pure;
};

// In a process of its own, since ggml's assertions end it.
bool quantizes(const std::string& model, const std::string& output, const Case& c,
               const std::map<std::string, std::vector<float>>& importance) {
    const pid_t child = fork();
    if (child == 0) {
        llama_model_quantize_params params = llama_model_quantize_default_params();
        params.nthread = 1;
        params.only_copy = c.code < 0;
        params.ftype = static_cast<llama_ftype>(c.code < 0 ? 0 : c.code);
        params.pure = c.is_pure;
        params.allow_requantize = true;
        std::vector<llama_model_imatrix_data> data;
        for (const auto& [name, values] : importance) data.push_back({name.c_str(), values.data(), values.size()});
        data.push_back({nullptr, nullptr, 0});
        const std::vector<llama_model_kv_override> keys = imatrix_keys(importance.size());
        if (c.has_imatrix) params.imatrix = data.data();
        if (c.has_imatrix) params.kv_overrides = keys.data();
        if (!std::freopen("/dev/null", "w", stderr) || !std::freopen("/dev/null", "w", stdout)) _exit(2);
        _exit(static_cast<int>(llama_model_quantize(model.c_str(), output.c_str(), &params)));
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: libllama_quantize LIBRARIES MODEL.gguf NAME IMATRIX.dat\n");
        return 2;
    }
    start_libllama(argv[1]);
    for (int type = 0; type < GGML_TYPE_COUNT; type++)
        ggml_quantize_init(static_cast<ggml_type>(type));  // not in each child
    const auto importance = read_legacy_imatrix(argv[4]);
    const std::string model = argv[2], output = model + ".quantized";
    std::printf("{\n\"format\": \"toy/quantize-oracle-v1\",\n\"oracle\": \"llama.cpp v0.5.0\",\n\"model\": \"%s\",\n",
                argv[3]);
    std::printf("\"model_fnv1a\": \"%016llx\",\n", static_cast<unsigned long long>(hash_of_file(model)));
    std::printf("\"imatrix_fnv1a\": \"%016llx\",\n\"files\": {",
                static_cast<unsigned long long>(hash_of_file(argv[4])));
    const char* separator = "\n";
    for (const auto& [name, code] : k_types) {
        for (int kind = 0; kind < (code < 0 ? 1 : 4); kind++) {
            const Case c{code, kind % 2 == 1, kind >= 2};
            std::printf("%s\"%s%s%s\": ", separator, name, c.is_pure ? " pure" : "", c.has_imatrix ? " imatrix" : "");
            separator = ",\n";
            std::fflush(stdout);  // or the child prints it too
            if (quantizes(model, output, c, importance)) {
                std::printf("[\"%016llx\", \"%016llx\"]", static_cast<unsigned long long>(hash_of_types(output)),
                            static_cast<unsigned long long>(hash_of_file(output)));
            } else {
                std::printf("null");
            }
        }
    }
    std::printf("\n}\n}\n");
    unlink(output.c_str());
    return 0;
}
