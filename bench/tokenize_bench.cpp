// Speed of the tokenizers: making one from a file's metadata, and encoding English (../shared/data/tinyshakespeare.txt
// where it is present, otherwise a paragraph repeated).
#include <benchmark/benchmark.h>

#include <fstream>
#include <map>
#include <sstream>

#include "io/gguf.h"
#include "text/tokenizer.h"

namespace toy {
namespace {

const Metadata& metadata(const std::string& name) {
    static std::map<std::string, Metadata> all;
    const auto known = all.find(name);
    if (known != all.end()) return known->second;
    const std::string path = std::string(TOY_VOCAB_DIR) + "/ggml-vocab-" + name + ".gguf";
    return all.emplace(name, Gguf::open(path).metadata()).first->second;
}

const std::string& english() {
    static const std::string text = [] {
        std::ifstream file(std::string(TOY_SOURCE_DIR) + "/../shared/data/tinyshakespeare.txt", std::ios::binary);
        std::ostringstream read;
        read << file.rdbuf();
        std::string result = read.str();
        while (result.size() < 1'000'000) {
            result +=
                "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my "
                "purse, and nothing particular to interest me on shore, I thought I would sail about a little and "
                "see the watery part of the world. It's a way I have of driving off the spleen (1851).\n\n";
        }
        return result;
    }();
    return text;
}

void load(benchmark::State& state, const std::string& name) {
    const Metadata& data = metadata(name);
    for (auto _ : state) benchmark::DoNotOptimize(Tokenizer::from_metadata(data));
}

void encode(benchmark::State& state, const std::string& name) {
    const auto tokenizer = Tokenizer::from_metadata(metadata(name));
    size_t tokens = 0;
    for (auto _ : state) tokens = tokenizer->encode(english()).size();
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * english().size()));
    state.counters["tokens"] = static_cast<double>(tokens);
}

void decode(benchmark::State& state, const std::string& name) {
    const auto tokenizer = Tokenizer::from_metadata(metadata(name));
    const std::vector<int32_t> ids = tokenizer->encode(english());
    for (auto _ : state) benchmark::DoNotOptimize(tokenizer->decode(ids));
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * english().size()));
}

BENCHMARK_CAPTURE(load, llama_bpe, std::string("llama-bpe"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(load, gpt_2, std::string("gpt-2"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(load, starcoder, std::string("starcoder"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(load, command_r, std::string("command-r"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(load, gemma_4, std::string("gemma-4"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(load, llama_spm, std::string("llama-spm"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(load, unigram, std::string("nomic-bert-moe"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(load, bert, std::string("bert-bge"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, llama_bpe, std::string("llama-bpe"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, gpt_2, std::string("gpt-2"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, qwen2, std::string("qwen2"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, deepseek_llm, std::string("deepseek-llm"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, gemma_4, std::string("gemma-4"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, llama_spm, std::string("llama-spm"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, unigram, std::string("nomic-bert-moe"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, bert, std::string("bert-bge"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode, llama_bpe, std::string("llama-bpe"))->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace toy
