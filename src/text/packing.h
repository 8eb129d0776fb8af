#pragma once
#include <cstdint>
#include <vector>

#include "text/corpus.h"

namespace toy {

/// B rows of T tokens, each array [B, T] by rows. Padding has the id 0, no target, and a document of its own.
struct Batch {
    static constexpr int32_t k_ignored = -1;

    int64_t rows = 0, length = 0;  ///< B, T
    std::vector<int32_t> ids;      ///< the model's input
    std::vector<int32_t> targets;  ///< the token that follows in the document; k_ignored where none is to be predicted
    std::vector<int32_t> positions;  ///< 0, 1, … from the start of each piece of a document
    std::vector<int32_t> starts;     ///< where in its row the piece begins that the token belongs to: attention reaches
                                     ///< from `starts` up to the token itself, and no further back
    int64_t n_targets = 0;           ///< entries of `targets` that are not ignored

    Batch(int64_t n_rows, int64_t n_columns);
};

struct PackingOptions {
    int32_t length = 0;              ///< T: tokens of a row
    bool one_piece_per_row = false;  ///< for models whose state cannot be reset inside a row (recurrent ones)
    bool shuffle = true;             ///< false, for validation: every epoch is the same, in the order of the corpus
    uint64_t seed = 0;
};

struct PackingCounts {
    int64_t rows = 0;
    int64_t pieces = 0;                 ///< of documents, in these rows
    int64_t targets = 0;                ///< the same in every epoch: all that the corpus has
    int64_t cut_documents = 0;          ///< longer than a row, so cut into windows
    int64_t pieces_without_target = 0;  ///< left out, since nothing is to be predicted in them (a long prompt's start)
    int64_t padding = 0;                ///< tokens that fill rows up
};

/// How one epoch lays a corpus out in rows; a function of the corpus, the options and the number of the epoch alone.
///
/// A document of L tokens has L - 1 places to predict from. They are cut into windows of T, each of which brings the
/// token that follows its last; so every target of the corpus is in exactly one row. With `shuffle`, the first window
/// of a document longer than a row has a random length in each epoch, so that windows differ (not of documents with
/// prompts, whose start belongs to the first window), and pieces and rows come in a random order. Pieces shorter than T
/// share rows: the longest first, each where it leaves the least room (best-fit decreasing).
class PackedEpoch {
 public:
    /// The corpus must outlive this. Throws Error{bad_input} where it has no token to predict or T is not in [1, 2^24].
    PackedEpoch(const Corpus& corpus, const PackingOptions& options, uint64_t epoch);

    int64_t rows() const { return static_cast<int64_t>(row_begins_.size()) - 1; }
    const PackingCounts& counts() const { return counts_; }
    /// Fills row `to` of the batch, all of padding, with row `from` of the epoch.
    void write_row(int64_t from, Batch& batch, int64_t to) const;
    /// `n` rows from `first` on; those after the last are padding. For evaluation.
    Batch batch(int64_t first, int64_t n) const;

 private:
    /// Inputs [begin, begin + length) of the corpus; the targets are one further.
    struct Piece {
        int64_t begin;
        int32_t length;
    };
    void cut_documents(uint64_t epoch);
    void cut(TokenRange document, int64_t first_length);
    void sort_by_length();
    std::vector<int64_t> assign_rows();
    void collect_rows(const std::vector<int64_t>& row_of, uint64_t epoch);

    const Corpus& corpus_;
    PackingOptions options_;
    std::vector<Piece> pieces_;        // by rows
    std::vector<int64_t> row_begins_;  // into pieces_, one more than rows
    PackingCounts counts_;
};

}  // namespace toy
