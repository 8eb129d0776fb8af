#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "text/corpus.h"
#include "text/data_files.h"
#include "text/document.h"
#include "text/tokenizer.h"

namespace toy {

struct CorpusOptions {
    DataFormat format = DataFormat::automatic;
    double val_fraction = 0;                   ///< in [0, 1)
    bool parse_special = false;                ///< control tokens that a text spells become those tokens
    std::optional<int32_t> document_end = {};  ///< in packs, a document ends after each token of this id: EOS
    EncodeConversation conversations = {};     ///< for the `messages` of JSONL; without one they are refused
    std::function<void(int64_t done, int64_t total)> progress = {};  ///< in bytes
};

/// Where a corpus comes from, for the record of a run and to notice on resume that it has changed.
struct CorpusSource {
    std::filesystem::path path;
    int64_t files = 0;
    int64_t bytes = 0;
    /// Of a file, its SHA-256. Of a folder, that of the list of its files as sha256sum prints it (sum, two spaces,
    /// name, line feed), sorted by name.
    std::string sha256;
};

struct LoadedCorpus {
    Corpus train;
    Corpus validation;  ///< no documents where `val_fraction` is 0
    CorpusSource source;
};

/// Reads the file or folder. A corpus that is a single plain text is cut by characters before it is encoded
/// (`split_text`), and neither part gets tokens around it; every other is parted by `split_corpus`. Throws
/// Error{bad_input} with one sentence for whatever cannot be read, is not what its format says, or leaves a part
/// without a token to predict.
LoadedCorpus read_corpus(const std::filesystem::path& path, const Tokenizer& tokenizer, const CorpusOptions& options);

/// A pack for a model whose vocabulary has that many tokens; no tokenizer is needed.
LoadedCorpus read_pack(const std::filesystem::path& path, int32_t vocabulary, const CorpusOptions& options);

/// Calls `take` with every text of the file or folder, those of all keys and messages in JSONL: what a tokenizer is
/// trained on. Throws as `read_corpus` does, and for packs, which have no text.
CorpusSource read_texts(const std::filesystem::path& path, const CorpusOptions& options,
                        const std::function<void(std::string_view text)>& take);

}  // namespace toy
