#include "io/model_file.h"

#include <algorithm>
#include <array>
#include <map>

namespace toy {
namespace {

constexpr std::array k_file_types = {
    FileType{0, "F32", DType::F32},          FileType{1, "F16", DType::F16},
    FileType{2, "Q4_0", DType::Q4_0},        FileType{3, "Q4_1", DType::Q4_1},
    FileType{7, "Q8_0", DType::Q8_0},        FileType{8, "Q5_0", DType::Q5_0},
    FileType{9, "Q5_1", DType::Q5_1},        FileType{10, "Q2_K", DType::Q2_K},
    FileType{11, "Q3_K_S", DType::Q3_K},     FileType{12, "Q3_K_M", DType::Q3_K},
    FileType{13, "Q3_K_L", DType::Q3_K},     FileType{14, "Q4_K_S", DType::Q4_K},
    FileType{15, "Q4_K_M", DType::Q4_K},     FileType{16, "Q5_K_S", DType::Q5_K},
    FileType{17, "Q5_K_M", DType::Q5_K},     FileType{18, "Q6_K", DType::Q6_K},
    FileType{19, "IQ2_XXS", DType::IQ2_XXS}, FileType{20, "IQ2_XS", DType::IQ2_XS},
    FileType{21, "Q2_K_S", DType::Q2_K},     FileType{22, "IQ3_XS", DType::IQ3_S},
    FileType{23, "IQ3_XXS", DType::IQ3_XXS}, FileType{24, "IQ1_S", DType::IQ1_S},
    FileType{25, "IQ4_NL", DType::IQ4_NL},   FileType{26, "IQ3_S", DType::IQ3_S},
    FileType{27, "IQ3_M", DType::IQ3_S},     FileType{28, "IQ2_S", DType::IQ2_XS},
    FileType{29, "IQ2_M", DType::IQ2_S},     FileType{30, "IQ4_XS", DType::IQ4_XS},
    FileType{31, "IQ1_M", DType::IQ1_M},     FileType{32, "BF16", DType::BF16},
    FileType{36, "TQ1_0", DType::TQ1_0},     FileType{37, "TQ2_0", DType::TQ2_0},
    FileType{38, "MXFP4_MOE", DType::MXFP4}, FileType{39, "NVFP4", DType::NVFP4},
    FileType{40, "Q1_0", DType::Q1_0},       FileType{41, "Q2_0", DType::Q2_0},
};

bool has_string(const Metadata& metadata, const char* key, std::string_view text) {
    const Value* value = metadata.find(key);
    const std::string* held = value == nullptr ? nullptr : std::get_if<std::string>(value);
    return held != nullptr && *held == text;
}

std::string type_label(const Gguf& gguf) {
    const Value* value = gguf.metadata().find("general.file_type");
    const uint32_t* code = value == nullptr ? nullptr : std::get_if<uint32_t>(value);
    const auto known = std::find_if(k_file_types.begin(), k_file_types.end(),
                                    [&](const FileType& type) { return code != nullptr && type.code == *code; });
    // Some converters leave a wrong number; a file without a single tensor of its type is not of it.
    const bool borne_out = known != k_file_types.end() &&
                           std::any_of(gguf.tensors().begin(), gguf.tensors().end(),
                                       [&](const GgufTensor& tensor) { return tensor.type == known->type; });
    return borne_out ? std::string(known->name) : type_of_most(gguf);
}

}  // namespace

std::span<const FileType> file_types() { return k_file_types; }

std::optional<std::string> why_not_a_model(const Gguf& gguf) {
    const Metadata& metadata = gguf.metadata();
    if (metadata.has("adapter.type") || has_string(metadata, "general.type", "adapter"))
        return "is an adapter, not a model";
    if (has_string(metadata, "general.type", "mmproj") || has_string(metadata, "general.architecture", "clip")) {
        return "is the image or sound encoder of another model";
    }
    if (has_string(metadata, "general.type", "imatrix")) return "is an importance matrix, not a model";
    if (has_string(metadata, "general.architecture", "controlvector")) return "is a control vector, not a model";
    if (gguf.tensors().empty()) return "has no tensors (a vocabulary alone)";
    const Value* architecture = metadata.find("general.architecture");
    if (architecture == nullptr) return "lacks the key 'general.architecture'";
    if (!std::holds_alternative<std::string>(*architecture)) return "has a 'general.architecture' that is no string";
    return std::nullopt;
}

ModelFacts model_facts(const Gguf& gguf) {
    ModelFacts facts = {gguf.metadata().string("general.architecture"), 0, type_label(gguf), 0};
    for (const GgufTensor& tensor : gguf.tensors()) facts.n_params += tensor.elements();
    for (const auto& part : gguf.parts()) facts.size_b += part->bytes().size();
    return facts;
}

std::string type_of_most(const Gguf& gguf) {
    std::map<DType, int64_t> elements;
    for (const GgufTensor& tensor : gguf.tensors()) elements[tensor.type] += tensor.elements();
    if (elements.empty()) return "";
    const auto most = std::max_element(elements.begin(), elements.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    std::string label(name(most->first));
    for (char& c : label) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return label;
}

}  // namespace toy
