#include "models/family.h"

#include <fmt/ranges.h>

#include <array>
#include <vector>

#include "core/error.h"

namespace toy {

extern const Family k_bert, k_deepseek2, k_falcon, k_gemma, k_gemma2, k_gemma3, k_gpt2, k_gptneox, k_granite,
    k_granitemoe, k_llama, k_mamba, k_mamba2, k_nomic_bert, k_olmo2, k_olmoe, k_phi3, k_qwen2, k_qwen2moe, k_qwen3,
    k_qwen3moe, k_smollm3, k_stablelm, k_starcoder2;

namespace {

constexpr std::array k_families = {
    &k_llama,    &k_gpt2,    &k_qwen2,      &k_qwen3,     &k_qwen2moe, &k_qwen3moe, &k_smollm3, &k_olmo2,
    &k_olmoe,    &k_granite, &k_granitemoe, &k_gemma,     &k_gemma2,   &k_gemma3,   &k_phi3,    &k_starcoder2,
    &k_stablelm, &k_falcon,  &k_gptneox,    &k_deepseek2, &k_mamba,    &k_mamba2,   &k_bert,    &k_nomic_bert,
};

}  // namespace

std::span<const Family* const> families() { return k_families; }

Spec read_spec(const Gguf& file) {
    const SpecKeys keys(file);
    if (const std::string* type = file.metadata().find_string("general.type"); type != nullptr && *type != "model") {
        bad_input("{}: this is a file of type '{}', not a model", file.metadata().origin(), *type);
    }
    for (const Family* family : families()) {
        if (family->architecture == keys.architecture()) return family->read(keys);
    }
    std::vector<std::string_view> known;
    for (const Family* family : families()) known.push_back(family->architecture);
    bad_input("{}: architecture '{}' is not supported; supported: {}", file.metadata().origin(), keys.architecture(),
              fmt::join(known, ", "));
}

}  // namespace toy
