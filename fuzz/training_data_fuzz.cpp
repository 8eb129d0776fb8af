// Feeds arbitrary bytes to the readers of training data: as JSON Lines, and as a pack in each of its formats. What is
// refused is refused with one sentence; what is read is packed into rows, which have every target once.
//
//   training_data_fuzz CORPUS
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "core/error.h"
#include "core/log.h"
#include "text/corpus_reader.h"
#include "text/packing.h"
#include "text/train_tokenizer.h"

namespace {

/// A file in memory, opened again by its path, as any file is.
std::string path_of(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

/// A template of a kind, so that conversations are read too.
toy::Document encode_conversation(const toy::Tokenizer& tokenizer, const nlohmann::ordered_json& messages) {
    toy::Document document;
    for (const auto& message : messages) {
        const bool says = message["role"] == "assistant";
        document.append(tokenizer.encode(message["role"].get<std::string>()), false);
        document.append(tokenizer.encode(message.dump()), says);
        document.append(*tokenizer.eos(), says);
    }
    return document;
}

void pack(const toy::Corpus& corpus, int32_t length, uint64_t seed) {
    if (corpus.documents.empty()) return;
    const toy::PackedEpoch epoch(corpus, {.length = length, .one_piece_per_row = seed % 2 == 0, .seed = seed}, seed);
    if (epoch.counts().targets != corpus.count().targets) std::abort();
    if (epoch.batch(0, epoch.rows()).n_targets != epoch.counts().targets) std::abort();
}

template <class Read>
void read_and_pack(const Read& read, int32_t length, uint64_t seed) {
    try {
        const toy::LoadedCorpus loaded = read();
        pack(loaded.train, length, seed);
        pack(loaded.validation, length, seed);
    } catch (const toy::Error& error) {
        if (error.kind() != toy::Error::Kind::bad_input) std::abort();
        if (std::string(error.what()).find('\n') != std::string::npos) std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    toy::logging::set_level(toy::logging::Level::error);
    static const int descriptor = ::memfd_create("fuzz", 0);
    static const auto tokenizer = toy::Tokenizer::from_metadata(toy::make_byte_tokenizer({}));
    if (size < 2) return 0;
    const int32_t length = 1 + data[0] % 32;
    const uint64_t seed = data[1];
    if (::ftruncate(descriptor, 0) != 0) std::abort();
    if (::pwrite(descriptor, data + 2, size - 2, 0) != static_cast<ssize_t>(size - 2)) std::abort();

    toy::CorpusOptions options{.val_fraction = seed % 3 == 0 ? 0.25 : 0};
    options.conversations = [](const nlohmann::ordered_json& messages) {
        return encode_conversation(*tokenizer, messages);
    };
    const std::string path = path_of(descriptor);
    for (const toy::DataFormat format : {toy::DataFormat::jsonl, toy::DataFormat::text}) {
        options.format = format;
        read_and_pack([&] { return toy::read_corpus(path, *tokenizer, options); }, length, seed);
    }
    for (const toy::DataFormat format : {toy::DataFormat::i32, toy::DataFormat::u16, toy::DataFormat::toyc}) {
        options.format = format;
        if (seed % 5 != 0) options.document_end = static_cast<int32_t>(seed);
        read_and_pack([&] { return toy::read_pack(path, 65536, options); }, length, seed);
    }
    return 0;
}
