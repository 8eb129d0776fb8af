#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "text/token_store.h"

namespace toy {

/// Tokens [begin, end) of a store.
struct TokenRange {
    int64_t begin, end;
    int64_t size() const { return end - begin; }
};

struct CorpusCounts {
    int64_t documents = 0;
    int64_t tokens = 0;
    int64_t targets = 0;                   ///< tokens to be predicted; a document's first never is
    int64_t documents_without_target = 0;  ///< nothing can be learnt from them: an empty text, a single token
};

/// Documents to train on or to validate with. Cheap to copy but for the list of ranges.
struct Corpus {
    std::shared_ptr<const TokenStore> tokens;
    std::vector<TokenRange> documents;

    int32_t id(int64_t at) const { return tokens->id(at); }
    bool is_target(int64_t at) const { return tokens->is_target(at); }
    /// How many tokens of the range are to be predicted.
    int64_t targets_in(TokenRange range) const;
    CorpusCounts count() const;
};

struct CorpusSplit {
    Corpus train, validation;
};

/// Parts a corpus: where it is one document by position (the first part trains, the last `fraction` validates), else by
/// documents. Which of them validate depends on their number alone, so that runs with different seeds compare; they are
/// spread evenly, round(fraction * documents) of them, at least one and not all. A fraction of 0 leaves all for
/// training.
CorpusSplit split_corpus(const Corpus& whole, double fraction);

}  // namespace toy
