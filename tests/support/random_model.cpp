#include "support/random_model.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <map>
#include <mutex>
#include <sstream>

#include "core/error.h"
#include "core/random.h"
#include "io/gguf_writer.h"
#include "models/weights.h"

namespace toy::test {
namespace {

constexpr int k_vocabulary = 512;

int64_t number(std::string_view part) {
    int64_t value = 0;
    const auto [end, problem] = std::from_chars(part.data() + 1, part.data() + part.size(), value);
    if (problem != std::errc() || end != part.data() + part.size()) bad_input("'{}' is no part of a recipe", part);
    return value;
}

void add_part(Recipe& r, const std::string& part) {
    if (part == "tied") {
        r.spec.is_tied = true;
    } else if (part == "bias") {
        r.spec.has_qkv_bias = r.spec.has_output_bias = r.spec.has_ffn_bias = true;
    } else if (part == "llama3") {
        r.spec.has_rope_factors = true;
    } else if (part[0] == 'd') {
        r.spec.head_size = r.spec.value_size = number(part);
    } else if (part[0] == 'g') {
        // Rows of attn_output must be whole K-quant blocks of 256.
        const int64_t group = number(part);
        r.spec.kv_heads = group == 8 ? 1 : group == 3 ? 4 : 256 / r.spec.head_size;
        r.spec.heads = group * r.spec.kv_heads;
    } else if (part[0] == 'w') {
        for (LayerSpec& layer : r.spec.layer) layer.window = number(part);
    } else {
        bad_input("'{}' is no part of a recipe", part);
    }
}

void set_keys(GgufWriter& w, const Spec& s) {
    w.set("general.architecture", std::string("llama"));
    w.set("llama.block_count", static_cast<uint32_t>(s.layers));
    w.set("llama.context_length", static_cast<uint32_t>(s.context));
    w.set("llama.embedding_length", static_cast<uint32_t>(s.width));
    w.set("llama.feed_forward_length", static_cast<uint32_t>(s.ffn_width));
    w.set("llama.attention.head_count", static_cast<uint32_t>(s.heads));
    w.set("llama.attention.head_count_kv", static_cast<uint32_t>(s.kv_heads));
    w.set("llama.attention.key_length", static_cast<uint32_t>(s.head_size));
    w.set("llama.attention.value_length", static_cast<uint32_t>(s.value_size));
    w.set("llama.attention.layer_norm_rms_epsilon", s.eps);
    w.set("llama.rope.dimension_count", static_cast<uint32_t>(s.layer.front().rope.dims));
    w.set("llama.rope.freq_base", s.layer.front().rope.base);
    w.set("llama.vocab_size", static_cast<uint32_t>(s.vocabulary));
    const int64_t window = s.layer.front().window;
    if (window > 0) w.set("llama.attention.sliding_window", static_cast<uint32_t>(window));
}

}  // namespace

uint64_t seed_of(std::string_view text) {
    uint64_t seed = 0;
    for (char c : text) seed = mix64(seed ^ static_cast<unsigned char>(c));
    return seed;
}

void set_vocabulary(GgufWriter& w) {
    std::vector<std::string> tokens{"<unk>", "<s>", "</s>"};
    std::vector<int32_t> types{2, 3, 3};
    for (int byte = 0; byte < 256; ++byte) {
        tokens.push_back(fmt::format("<0x{:02X}>", byte));
        types.push_back(6);
    }
    for (int i = 0; static_cast<int>(tokens.size()) < k_vocabulary; ++i) {
        tokens.push_back(i == 0 ? "▁"
                                : fmt::format("{}{}{}", i % 2 ? "▁" : "", static_cast<char>('a' + i % 26),
                                              i < 27 ? "" : fmt::format("{}", i)));
        types.push_back(1);
    }
    std::vector<float> scores;
    for (size_t i = 0; i < tokens.size(); ++i) scores.push_back(-static_cast<float>(i));
    w.set("tokenizer.ggml.model", std::string("llama"));
    w.set("tokenizer.ggml.tokens", Array(tokens));
    w.set("tokenizer.ggml.scores", Array(scores));
    w.set("tokenizer.ggml.token_type", Array(types));
    w.set("tokenizer.ggml.bos_token_id", uint32_t{1});
    w.set("tokenizer.ggml.eos_token_id", uint32_t{2});
    w.set("tokenizer.ggml.unknown_token_id", uint32_t{0});
    w.set("tokenizer.ggml.add_bos_token", true);
}

Recipe recipe(std::string_view name) {
    Recipe r;
    r.name = name;
    Spec& s = r.spec;
    s.architecture = "llama";
    s.vocabulary = k_vocabulary;
    s.width = 256;
    s.layers = 3;
    s.ffn_width = 512;
    s.context = 1024;
    s.eps = 1e-5f;
    s.layer.resize(static_cast<size_t>(s.layers));
    std::istringstream parts{std::string(name)};
    std::string part;
    std::getline(parts, part, '-');
    const std::optional<DType> type = dtype_from_name(part);
    if (!type) bad_input("'{}' is no type", part);
    r.type = *type;
    s.head_size = s.value_size = 64;
    s.heads = s.kv_heads = 4;
    while (std::getline(parts, part, '-')) add_part(r, part);
    for (LayerSpec& layer : s.layer) {
        layer.rope.order = Rope::Order::normal;
        layer.rope.dims = static_cast<int>(s.head_size);
    }
    s.attention_scale = 1.0f / std::sqrt(static_cast<float>(s.head_size));
    return r;
}

// Uniform, not normal: no function of the maths library is involved, so the bytes are the same everywhere.
std::vector<float> random_weight(std::string_view recipe, std::string_view tensor, const std::vector<int64_t>& shape) {
    int64_t count = 1;
    for (int64_t n : shape) count *= n;
    Random random(seed_of(recipe) ^ seed_of(tensor));
    const bool is_norm = tensor.find("norm") != tensor.npos;
    const bool is_factor = tensor.starts_with("rope_freqs");
    const double scale = shape.size() == 1                  ? 0.1
                         : tensor.starts_with("token_embd") ? 1.0
                                                            : 2.0 / std::sqrt(static_cast<double>(shape.back()));
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i) {
        const double u = 2.0 * random.uniform() - 1.0;
        values.push_back(static_cast<float>(is_factor ? 1.0 + 4.0 * std::abs(u)
                                            : is_norm ? 1.0 + scale * u
                                                      : scale * u));
    }
    return values;
}

void write_random_model(const Recipe& recipe, const std::filesystem::path& path) {
    GgufWriter w;
    set_keys(w, recipe.spec);
    set_vocabulary(w);
    Decoder decoder = make_decoder(recipe.spec);
    for (const WeightEntry& entry : weight_table(decoder)) {
        const std::vector<int64_t> ne(entry.shape.rbegin(), entry.shape.rend());
        const DType type = entry.shape.size() == 1 ? DType::F32 : recipe.type;
        w.add_f32(entry.name, type, ne, random_weight(recipe.name, entry.name, entry.shape));
    }
    w.write(path);
}

const std::filesystem::path& models_folder() {
    struct Folder {
        std::filesystem::path path;
        Folder() {
            std::string pattern = (std::filesystem::temp_directory_path() / "toy-test-XXXXXX").string();
            if (mkdtemp(pattern.data()) == nullptr) failure("no temporary folder");
            path = pattern;
        }
        ~Folder() { std::filesystem::remove_all(path); }
    };
    static const Folder folder;
    return folder.path;
}

const std::filesystem::path& random_model(std::string_view name) {
    static std::mutex mutex;
    static std::map<std::string, std::filesystem::path, std::less<>> made;
    const std::scoped_lock lock(mutex);
    const auto found = made.find(name);
    if (found != made.end()) return found->second;
    const std::filesystem::path path = models_folder() / fmt::format("{}.gguf", name);
    write_random_model(recipe(name), path);
    return made.emplace(name, path).first->second;
}

std::vector<int32_t> random_tokens(int64_t vocabulary, size_t n, uint64_t seed) {
    Random random(seed);
    std::vector<int32_t> ids{1};
    while (ids.size() < n) ids.push_back(static_cast<int32_t>(random.bits() % static_cast<uint64_t>(vocabulary)));
    return ids;
}

}  // namespace toy::test
