// Makes tokenizer metadata out of arbitrary bytes, a tokenizer of it, and has that encode and decode text. Whatever it
// is made of, it is refused with one sentence, or it works: ids lie in the vocabulary, streaming gives valid UTF-8.
//
//   tokenizer_fuzz CORPUS
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/log.h"
#include "text/detokenizer.h"
#include "text/pretokenizers.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace {

using Provider = FuzzedDataProvider;

void set(toy::Metadata& metadata, const char* key, toy::Value value) {
    metadata.set(std::string("tokenizer.ggml.") + key, std::move(value));
}

/// Texts of tokens: bytes, characters with a role, and those of before, joined, so that merges can be right.
std::vector<std::string> tokens(Provider& data) {
    static constexpr const char* known[] = {"<unk>", "<s>",    "</s>",   "\u2581", "[UNK]",   "[CLS]",      "[SEP]",
                                            "<pad>", "<0x0A>", "<0xFF>", "\u0120", "\u2581a", "<|im_end|>", "\n\n"};
    std::vector<std::string> result;
    for (size_t n = data.ConsumeIntegralInRange<size_t>(0, 40); n > 0; --n) {
        const int kind = data.ConsumeIntegralInRange<int>(0, 3);
        if (kind == 0) result.push_back(data.PickValueInArray(known));
        if (kind == 1) result.push_back(data.ConsumeRandomLengthString(6));
        if (kind == 2) result.emplace_back(1, static_cast<char>(data.ConsumeIntegralInRange<int>(0x21, 0x7E)));
        if (kind == 3 && result.size() > 1) {
            const auto pick = [&] { return result[data.ConsumeIntegralInRange<size_t>(0, result.size() - 1)]; };
            result.push_back(pick() + pick());
        }
    }
    return result;
}

toy::Metadata metadata(Provider& data) {
    static constexpr const char* kinds[] = {"gpt2", "llama", "t5", "bert", "gemma4", "rwkv"};
    toy::Metadata result("fuzz");
    set(result, "model", std::string(data.PickValueInArray(kinds)));
    const auto names = toy::all_pretokenizers();
    set(result, "pre", std::string(names[data.ConsumeIntegralInRange<size_t>(0, names.size() - 1)].name));
    const std::vector<std::string> texts = tokens(data);
    const size_t n = texts.size() + (data.ConsumeProbability<float>() > 0.95f);
    std::vector<int32_t> types;
    std::vector<float> scores;
    for (size_t i = 0; i < n; ++i) {
        types.push_back(data.ConsumeBool() ? 1 : data.ConsumeIntegralInRange<int32_t>(0, 6));
        scores.push_back(data.ConsumeBool() ? -static_cast<float>(i) : data.ConsumeFloatingPoint<float>());
    }
    std::vector<std::string> merges;
    for (size_t m = data.ConsumeIntegralInRange<size_t>(0, 20); m > 0 && !texts.empty(); --m) {
        const auto pick = [&] { return texts[data.ConsumeIntegralInRange<size_t>(0, texts.size() - 1)]; };
        merges.push_back(pick() + " " + pick());
    }
    set(result, "tokens", toy::Array(texts));
    if (data.ConsumeBool()) set(result, "token_type", toy::Array(types));
    set(result, "scores", toy::Array(scores));
    set(result, "merges", toy::Array(merges));
    for (const char* role : {"bos", "eos", "unknown", "seperator", "eot", "fim_pad"}) {
        if (data.ConsumeBool())
            set(result, (std::string(role) + "_token_id").c_str(), data.ConsumeIntegralInRange(0, 42));
    }
    for (const char* flag : {"add_bos_token", "add_eos_token", "add_space_prefix", "remove_extra_whitespaces",
                             "normalizer.lowercase", "normalizer.strip_accents"}) {
        if (data.ConsumeBool()) set(result, flag, data.ConsumeBool());
    }
    if (data.ConsumeBool())
        set(result, "precompiled_charsmap",
            toy::Array(data.ConsumeBytes<uint8_t>(data.ConsumeIntegralInRange<size_t>(0, 400))));
    return result;
}

void use(const toy::Tokenizer& tokenizer, const std::string& text, bool special) {
    const std::vector<int32_t> ids = tokenizer.encode(text, {.add_special = special, .parse_special = special});
    for (const int32_t id : ids) {
        if (id < 0 || id >= tokenizer.size()) std::abort();
    }
    toy::Detokenizer stream(tokenizer, {}, special);
    std::string streamed;
    for (const int32_t id : ids) {
        const std::string part = stream.push(id);
        if (toy::utf8::valid_prefix(part) != part.size()) std::abort();
        streamed += part;
    }
    streamed += stream.finish();
    if (streamed != toy::utf8::repaired(tokenizer.decode(ids, {.render_special = special}))) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    toy::logging::set_level(toy::logging::Level::error);
    Provider data(bytes, size);
    try {
        const auto tokenizer = toy::Tokenizer::from_metadata(metadata(data));
        const std::string text = data.ConsumeRemainingBytesAsString();
        use(*tokenizer, text, false);
        use(*tokenizer, text, true);
    } catch (const toy::Error& error) {
        if (std::string(error.what()).find('\n') != std::string::npos) std::abort();
    }
    return 0;
}
