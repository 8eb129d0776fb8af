#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "text/packing.h"

namespace toy {

/// Batches of B rows without end: when an epoch's rows are used up, the next epoch's follow, in the same batch too, so
/// that no row is left over. The whole state is the seed, the number of the epoch and how many of its rows have been
/// handed out. Not thread-safe.
class BatchSource {
 public:
    /// Throws Error{bad_input} as PackedEpoch does, and where `rows` is not positive.
    BatchSource(Corpus corpus, const PackingOptions& options, int64_t rows);
    BatchSource(const BatchSource&) = delete;
    BatchSource& operator=(const BatchSource&) = delete;

    Batch next();
    /// As if `batches` had been handed out.
    void skip(int64_t batches);

    /// {"seed": …, "epoch": …, "position": …}
    nlohmann::ordered_json state() const;
    /// Goes to where a source of the same corpus and options had that state; the batches after it are the same. Throws
    /// Error{bad_input} where it is none, or lies behind the end of its epoch, as it may when the corpus has changed.
    void restore(const nlohmann::ordered_json& state);

    const Corpus& corpus() const { return corpus_; }
    uint64_t epoch() const { return epoch_; }
    /// Of the current epoch. Rows can differ by a few from one epoch to the next; targets do not.
    PackingCounts counts();

 private:
    PackedEpoch& packed();
    void begin_next_epoch();

    Corpus corpus_;
    PackingOptions options_;
    int64_t rows_;
    uint64_t epoch_ = 0;
    int64_t position_ = 0;               // rows of the epoch that have been handed out
    std::optional<PackedEpoch> packed_;  // of `epoch_`, once it is needed
};

}  // namespace toy
