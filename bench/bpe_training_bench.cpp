// Speed of training byte-level BPE, words counted and merged, in bytes of text per second; the goal is 1 MB/s for 4096
// merges. English (../shared/data/tinyshakespeare.txt where it is present, otherwise words drawn at random).
#include <benchmark/benchmark.h>

#include <filesystem>

#include "core/mapped_file.h"
#include "core/random.h"
#include "text/bpe_trainer.h"

namespace toy {
namespace {

/// Words of one to nine letters, the shorter and earlier ones more often, as in a language.
std::string drawn_words() {
    Random random(1);
    std::vector<std::string> words(30'000);
    for (std::string& word : words) {
        for (auto n = 1 + random.bits() % 9; n > 0; --n) {
            word += "etaoinshrdlucmfwyp"[static_cast<size_t>(18 * random.uniform() * random.uniform())];
        }
    }
    std::string text;
    while (text.size() < 1'100'000) {
        const double u = random.uniform();
        text += words[static_cast<size_t>(30'000 * u * u * u)];
        text += random.bits() % 12 == 0 ? '\n' : ' ';
    }
    return text;
}

const std::string& english() {
    static const std::string text = [] {
        const std::string path = std::string(TOY_SOURCE_DIR) + "/../shared/data/tinyshakespeare.txt";
        if (!std::filesystem::exists(path)) return drawn_words();
        const auto file = MappedFile::open(path);
        return std::string(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
    }();
    return text;
}

void train_bpe(benchmark::State& state) {
    const auto merges = static_cast<int32_t>(state.range(0));
    size_t tokens = 0;
    for (auto _ : state) {
        BpeTrainer trainer;
        trainer.add(english());
        tokens = trainer.train(256 + merges).tokens.size();
    }
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * english().size()));
    state.counters["tokens"] = static_cast<double>(tokens);
}

void count_words(benchmark::State& state) {
    for (auto _ : state) {
        BpeTrainer trainer;
        trainer.add(english());
        benchmark::DoNotOptimize(trainer.words());
    }
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * english().size()));
}

BENCHMARK(count_words)->Unit(benchmark::kMillisecond);
BENCHMARK(train_bpe)->Arg(256)->Arg(4096)->Arg(8192)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace toy
