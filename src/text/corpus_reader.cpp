#include "text/corpus_reader.h"

#include <utility>

#include "core/error.h"
#include "core/mapped_file.h"
#include "core/sha256.h"
#include "text/document_encoder.h"
#include "text/jsonl.h"

namespace toy {
namespace {

std::string_view text_of(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

/// Opens the files of a corpus in turn, sums them up, and tells how far it is.
class Files {
 public:
    Files(const std::filesystem::path& path, const CorpusOptions& options)
        : files_(find_data_files(path, options.format)), progress_(options.progress) {
        source_.path = path;
        is_folder_ = std::filesystem::is_directory(path);
        for (const DataFile& file : files_) {
            std::error_code error;
            const auto size = std::filesystem::file_size(file.path, error);
            if (!error) total_ += static_cast<int64_t>(size);
        }
    }

    const std::vector<DataFile>& list() const { return files_; }

    std::shared_ptr<const MappedFile> open(const DataFile& file) {
        std::shared_ptr<const MappedFile> mapped = MappedFile::open(file.path);
        if (mapped->bytes().empty()) bad_input("{}: is empty", file.path.native());
        Sha256 sum;
        sum.update(mapped->bytes());
        source_.sha256 = sum.hex();
        if (is_folder_) listing_.update(source_.sha256 + "  " + file.name + "\n");
        source_.files += 1;
        source_.bytes += static_cast<int64_t>(mapped->bytes().size());
        return mapped;
    }
    /// The file opened last has been dealt with.
    void done() const {
        if (progress_) progress_(source_.bytes, total_);
    }

    CorpusSource source() {
        if (is_folder_) source_.sha256 = listing_.hex();
        return source_;
    }

 private:
    std::vector<DataFile> files_;
    std::function<void(int64_t, int64_t)> progress_;
    CorpusSource source_;
    bool is_folder_ = false;
    int64_t total_ = 0;
    Sha256 listing_;
};

/// The documents of a corpus as they are read.
struct Growing {
    std::shared_ptr<TokenStore> tokens = std::make_shared<TokenStore>();
    std::vector<TokenRange> documents;

    void add(const Document& document) {
        const int64_t begin = tokens->size();
        tokens->append(document);
        documents.push_back({begin, tokens->size()});
    }
};

/// `make()`, whose complaints get the file's name put before them.
template <class Make>
Document named(const std::filesystem::path& path, const Make& make) {
    try {
        return make();
    } catch (const Error& error) {
        if (error.kind() != Error::Kind::bad_input) throw;
        bad_input("{}: {}", path.native(), error.what());
    }
}

void check_fraction(double fraction) {
    if (!(fraction >= 0 && fraction < 1)) bad_input("a validation fraction of {} is not in [0, 1)", fraction);
}

void check_targets(const LoadedCorpus& loaded, const CorpusOptions& options) {
    const std::string path = loaded.source.path.native();
    if (loaded.train.count().targets == 0) bad_input("{}: holds no token to train on", path);
    if (options.val_fraction > 0 && loaded.validation.count().targets == 0) {
        bad_input("{}: a fraction of {} leaves no token to validate with; give a larger one, or 0", path,
                  options.val_fraction);
    }
}

std::vector<TokenRange> documents_of_pack(const TokenStore& tokens, std::optional<int32_t> document_end) {
    std::vector<TokenRange> documents;
    int64_t begin = 0;
    for (int64_t at = 0; document_end && at < tokens.size(); ++at) {
        if (tokens.id(at) != *document_end) continue;
        documents.push_back({begin, at + 1});
        begin = at + 1;
    }
    if (begin < tokens.size()) documents.push_back({begin, tokens.size()});
    return documents;
}

/// A corpus that is one text: cut before it is encoded, so that no token lies across the cut.
LoadedCorpus read_single_text(Files& files, const DocumentEncoder& encoder, const CorpusOptions& options) {
    const DataFile& file = files.list()[0];
    const auto mapped = files.open(file);
    const std::string_view text = text_of(*mapped);
    check_utf8(text, file.path);
    Growing all;
    if (options.val_fraction == 0) {
        all.add(named(file.path, [&] { return encoder.text(text); }));
        files.done();
        return {{all.tokens, all.documents}, {all.tokens, {}}, files.source()};
    }
    const TextHalves halves = split_text(text, options.val_fraction);
    all.add(named(file.path, [&] { return encoder.stretch(halves.train); }));
    all.add(named(file.path, [&] { return encoder.stretch(halves.validation); }));
    files.done();
    return {{all.tokens, {all.documents[0]}}, {all.tokens, {all.documents[1]}}, files.source()};
}

LoadedCorpus read_documents(Files& files, const DocumentEncoder& encoder, const CorpusOptions& options) {
    Growing all;
    for (const DataFile& file : files.list()) {
        const auto mapped = files.open(file);
        const std::string_view text = text_of(*mapped);
        check_utf8(text, file.path);
        if (file.format == DataFormat::jsonl) {
            read_jsonl(text, file.path, [&](const Sample& sample, size_t) { all.add(encoder.encode(sample)); });
        } else {
            all.add(named(file.path, [&] { return encoder.text(text); }));
        }
        files.done();
    }
    CorpusSplit split = split_corpus({all.tokens, all.documents}, options.val_fraction);
    return {std::move(split.train), std::move(split.validation), files.source()};
}

DataFormat format_of_pack(const DataFile& file, const MappedFile& mapped, const CorpusOptions& options) {
    const bool by_extension = options.format == DataFormat::automatic;
    return by_extension && is_toyc(mapped) ? DataFormat::toyc : file.format;
}

LoadedCorpus read_pack_of(Files& files, int32_t vocabulary, const CorpusOptions& options) {
    if (options.document_end && (*options.document_end < 0 || *options.document_end >= vocabulary)) {
        bad_input("the id {} that ends documents is outside the vocabulary of {} tokens", *options.document_end,
                  vocabulary);
    }
    const DataFile& file = files.list()[0];
    const auto mapped = files.open(file);
    Corpus whole;
    whole.tokens = TokenStore::of_pack(mapped, format_of_pack(file, *mapped, options), vocabulary);
    whole.documents = documents_of_pack(*whole.tokens, options.document_end);
    files.done();
    CorpusSplit split = split_corpus(whole, options.val_fraction);
    return {std::move(split.train), std::move(split.validation), files.source()};
}

}  // namespace

LoadedCorpus read_corpus(const std::filesystem::path& path, const Tokenizer& tokenizer, const CorpusOptions& options) {
    check_fraction(options.val_fraction);
    Files files(path, options);
    const DocumentEncoder encoder(tokenizer,
                                  {.parse_special = options.parse_special, .conversations = options.conversations});
    const DataFormat first = files.list()[0].format;
    const bool is_single_text = files.list().size() == 1 && first == DataFormat::text;
    LoadedCorpus loaded = is_pack(first)   ? read_pack_of(files, tokenizer.size(), options)
                          : is_single_text ? read_single_text(files, encoder, options)
                                           : read_documents(files, encoder, options);
    check_targets(loaded, options);
    return loaded;
}

LoadedCorpus read_pack(const std::filesystem::path& path, int32_t vocabulary, const CorpusOptions& options) {
    check_fraction(options.val_fraction);
    Files files(path, options);
    if (!is_pack(files.list()[0].format)) {
        bad_input("{}: a model without a tokenizer trains on packs of token ids only; the format of this is {}",
                  path.native(), name(files.list()[0].format));
    }
    LoadedCorpus loaded = read_pack_of(files, vocabulary, options);
    check_targets(loaded, options);
    return loaded;
}

CorpusSource read_texts(const std::filesystem::path& path, const CorpusOptions& options,
                        const std::function<void(std::string_view text)>& take) {
    Files files(path, options);
    for (const DataFile& file : files.list()) {
        if (is_pack(file.format)) bad_input("{}: holds token ids, no text", file.path.native());
        const auto mapped = files.open(file);
        check_utf8(text_of(*mapped), file.path);
        if (file.format != DataFormat::jsonl) {
            take(text_of(*mapped));
            files.done();
            continue;
        }
        read_jsonl(text_of(*mapped), file.path, [&](const Sample& sample, size_t) {
            if (const auto* plain = std::get_if<PlainSample>(&sample)) {
                take(plain->text);
            } else if (const auto* pair = std::get_if<CompletionSample>(&sample)) {
                take(pair->prompt);
                take(pair->completion);
            } else {
                for (const auto& message : std::get<ConversationSample>(sample).messages) {
                    const auto content = message.find("content");
                    if (content != message.end() && content->is_string()) take(content->get_ref<const std::string&>());
                }
            }
        });
        files.done();
    }
    return files.source();
}

}  // namespace toy
