// Weights and files of the models that family_models.cpp describes.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <mutex>

#include "core/error.h"
#include "core/random.h"
#include "support/family_models.h"
#include "support/random_model.h"

namespace toy::test {
namespace {

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> endings) {
    return std::any_of(endings.begin(), endings.end(), [&](std::string_view end) { return name.ends_with(end); });
}

// Range of the uniform values of a weight: centre and half width.
std::pair<double, double> range_of(const FamilyModel& model, const FamilyModel::Weight& w) {
    const bool is_tied = std::none_of(model.weights.begin(), model.weights.end(),
                                      [](const auto& other) { return other.name == "output.weight"; });
    const std::string_view name = w.name;
    if (name.starts_with("rope_")) return {3.0, 2.0};
    if (name.ends_with("ssm_a")) return {-1.2, 1.0};
    if (name.ends_with("ssm_dt.bias")) return {-2.0, 1.0};
    if (name.ends_with("ssm_d")) return {0.0, 0.5};
    if (name.find("ssm_conv1d") != name.npos) return {0.0, 0.5};
    // Gemma multiplies its embeddings by sqrt(D) and takes the head from them: as large as elsewhere they would drown
    // the blocks, and the model repeat its last token whatever attention does.
    const bool is_gemma = model.architecture.starts_with("gemma");
    if (is_gemma && name == "token_embd.weight") return {0.0, 0.2 / 16.0};
    if (is_gemma && name == "output_norm.weight") return {16.0, 1.6};
    if (name.ends_with("norm.weight")) return {1.0, 0.1};
    if (name.ends_with("norm.bias") || name.ends_with(".bias")) return {0.0, 0.1};
    // A tied head makes logits of the embedding, so it is smaller there.
    if (name == "token_embd.weight") return {0.0, is_tied && !model.is_encoder ? 0.2 : 1.0};
    if (ends_with_any(name, {"position_embd.weight", "token_types.weight"})) return {0.0, 0.2};
    return {0.0, 2.0 / std::sqrt(static_cast<double>(w.shape.back()))};
}

// As converters and llama.cpp's quantiser leave them in f32.
bool stays_f32(const FamilyModel::Weight& w) {
    return w.shape.size() == 1 || w.name.find("norm") != w.name.npos || w.name.find("ssm_conv1d") != w.name.npos ||
           ends_with_any(w.name,
                         {"position_embd.weight", "token_types.weight", "ffn_gate_inp.weight", "ssm_a", "ssm_d"});
}

DType type_for(const FamilyModel::Weight& w, DType wanted) {
    if (stays_f32(w)) return DType::F32;
    if (w.shape.back() % block_elements(wanted) == 0) return wanted;
    return w.shape.back() % block_elements(DType::Q8_0) == 0 ? DType::Q8_0 : DType::F32;
}

// Uniform, not normal: no function of the maths library beyond the square root is involved, so the bytes are the same
// everywhere.
std::vector<float> values_of(const FamilyModel& model, const FamilyModel::Weight& w) {
    int64_t count = 1;
    for (int64_t n : w.shape) count *= n;
    Random random(seed_of(model.name) ^ seed_of(w.name));
    const auto [centre, half] = range_of(model, w);
    std::vector<float> values;
    values.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
        values.push_back(static_cast<float>(centre + half * (2.0 * random.uniform() - 1.0)));
    }
    return values;
}

// Encoders read words: a WordPiece vocabulary of the same size.
void set_wordpiece_vocabulary(GgufWriter& w) {
    std::vector<std::string> tokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    std::vector<int32_t> types{3, 3, 3, 3, 3};
    for (int i = 0; tokens.size() < 512; ++i) {
        const std::string letters = fmt::format("{}{}", static_cast<char>('a' + i % 26), i / 26);
        tokens.push_back(i % 2 == 0 ? "▁" + letters : letters);
        types.push_back(1);
    }
    w.set("tokenizer.ggml.model", std::string("bert"));
    w.set("tokenizer.ggml.tokens", Array(tokens));
    w.set("tokenizer.ggml.token_type", Array(types));
    w.set("tokenizer.ggml.token_type_count", uint32_t{2});
    w.set("tokenizer.ggml.bos_token_id", uint32_t{2});
    w.set("tokenizer.ggml.eos_token_id", uint32_t{3});
    w.set("tokenizer.ggml.unknown_token_id", uint32_t{1});
    w.set("tokenizer.ggml.seperator_token_id", uint32_t{3});  // the key's own spelling
    w.set("tokenizer.ggml.padding_token_id", uint32_t{0});
    w.set("tokenizer.ggml.cls_token_id", uint32_t{2});
    w.set("tokenizer.ggml.mask_token_id", uint32_t{4});
}

}  // namespace

void write_family_model(const FamilyModel& model, DType type, const std::filesystem::path& path) {
    GgufWriter w;
    w.set("general.architecture", model.architecture);
    for (const auto& [key, value] : model.keys) w.set(fmt::format("{}.{}", model.architecture, key), value);
    model.is_encoder ? set_wordpiece_vocabulary(w) : set_vocabulary(w);
    for (const FamilyModel::Weight& weight : model.weights) {
        const std::vector<int64_t> ne(weight.shape.rbegin(), weight.shape.rend());
        w.add_f32(weight.name, type_for(weight, type), ne, values_of(model, weight));
    }
    w.write(path);
}

const std::filesystem::path& family_file(std::string_view name_and_type) {
    static std::mutex mutex;
    static std::map<std::string, std::filesystem::path, std::less<>> made;
    const std::scoped_lock lock(mutex);
    const auto found = made.find(name_and_type);
    if (found != made.end()) return found->second;
    const size_t colon = name_and_type.find(':');
    const std::string_view name = name_and_type.substr(0, colon);
    const std::optional<DType> type = dtype_from_name(colon == name.npos ? "f32" : name_and_type.substr(colon + 1));
    if (!type) bad_input("'{}' names no type", name_and_type);
    const std::filesystem::path path = models_folder() / fmt::format("{}-{}.gguf", name, toy::name(*type));
    write_family_model(family_model(name), *type, path);
    return made.emplace(name_and_type, path).first->second;
}

}  // namespace toy::test
