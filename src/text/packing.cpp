#include "text/packing.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/random.h"

namespace toy {
namespace {

constexpr int32_t max_length = 1 << 24;

// What the random numbers of an epoch are for.
enum class Draw : uint64_t { phase = 1, pieces, rows };

Random random_for(const PackingOptions& options, uint64_t epoch, Draw what) {
    return Random(mix64(options.seed) ^ mix64(mix64(epoch) + static_cast<uint64_t>(what)));
}

/// Fisher and Yates (Knuth, TAOCP 2, algorithm P).
template <class T>
void shuffle(std::vector<T>& items, Random random) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.bits() % i]);
}

/// Rows that still have room, and the one with the least that takes a piece.
class Rows {
 public:
    explicit Rows(int32_t length) : length_(length), by_room_(static_cast<size_t>(length)) {}

    /// The row that the piece goes to: the tightest that takes it, else a new one.
    int64_t place(int32_t piece) {
        const auto tightest = rooms_.lower_bound(piece);
        int32_t room = length_;
        int64_t row = count_;
        if (tightest == rooms_.end()) {
            ++count_;
        } else {
            room = *tightest;
            std::vector<int64_t>& rows = by_room_[static_cast<size_t>(room)];
            row = rows.back();
            rows.pop_back();
            if (rows.empty()) rooms_.erase(tightest);
        }
        if (room > piece) {
            by_room_[static_cast<size_t>(room - piece)].push_back(row);
            rooms_.insert(room - piece);
        }
        return row;
    }
    int64_t count() const { return count_; }

 private:
    int32_t length_;
    int64_t count_ = 0;
    std::vector<std::vector<int64_t>> by_room_;  // rows with that much room, 1 to T - 1
    std::set<int32_t> rooms_;                    // those of which there are any
};

}  // namespace

Batch::Batch(int64_t n_rows, int64_t n_columns) : rows(n_rows), length(n_columns) {
    const auto size = static_cast<size_t>(rows * length);
    ids.assign(size, 0);
    targets.assign(size, k_ignored);
    starts.assign(size, 0);
    positions.resize(size);
    for (size_t i = 0; i < size; ++i) positions[i] = static_cast<int32_t>(i % static_cast<size_t>(length));
}

PackedEpoch::PackedEpoch(const Corpus& corpus, const PackingOptions& options, uint64_t epoch)
    : corpus_(corpus), options_(options) {
    if (options.length < 1 || options.length > max_length) {
        bad_input("rows of {} tokens cannot be packed; 1 to {} are possible", options.length, max_length);
    }
    cut_documents(epoch);
    if (pieces_.empty()) bad_input("the corpus has no token to predict");
    if (options_.shuffle) shuffle(pieces_, random_for(options_, epoch, Draw::pieces));
    std::vector<int64_t> row_of(pieces_.size());
    if (options_.one_piece_per_row) {
        std::iota(row_of.begin(), row_of.end(), int64_t{0});
        counts_.rows = static_cast<int64_t>(pieces_.size());
    } else {
        sort_by_length();
        row_of = assign_rows();
    }
    collect_rows(row_of, epoch);
    counts_.pieces = static_cast<int64_t>(pieces_.size());
    counts_.padding = counts_.rows * options_.length;
    for (const Piece& piece : pieces_) counts_.padding -= piece.length;
}

void PackedEpoch::cut_documents(uint64_t epoch) {
    Random random = random_for(options_, epoch, Draw::phase);
    for (const TokenRange& document : corpus_.documents) {
        const int64_t inputs = document.size() - 1;
        int64_t first_length = options_.length;
        if (inputs > options_.length) {
            ++counts_.cut_documents;
            const bool may_move = options_.shuffle && corpus_.targets_in({document.begin + 1, document.end}) == inputs;
            if (may_move) first_length = 1 + static_cast<int64_t>(random.bits() % static_cast<uint64_t>(first_length));
        }
        cut(document, first_length);
    }
}

void PackedEpoch::cut(TokenRange document, int64_t first_length) {
    int64_t length = first_length;
    for (int64_t begin = document.begin; begin < document.end - 1; begin += length, length = options_.length) {
        length = std::min(length, document.end - 1 - begin);
        const int64_t targets = corpus_.targets_in({begin + 1, begin + 1 + length});
        if (targets == 0) {
            ++counts_.pieces_without_target;
            continue;
        }
        counts_.targets += targets;
        pieces_.push_back({begin, static_cast<int32_t>(length)});
    }
}

/// The longest first; equal ones keep their order.
void PackedEpoch::sort_by_length() {
    std::stable_sort(pieces_.begin(), pieces_.end(),
                     [](const Piece& a, const Piece& b) { return a.length > b.length; });
}

std::vector<int64_t> PackedEpoch::assign_rows() {
    Rows rows(options_.length);
    std::vector<int64_t> row_of;
    row_of.reserve(pieces_.size());
    for (const Piece& piece : pieces_) row_of.push_back(rows.place(piece.length));
    counts_.rows = rows.count();
    return row_of;
}

/// Puts the pieces of a row side by side, and the rows into their final order.
void PackedEpoch::collect_rows(const std::vector<int64_t>& row_of, uint64_t epoch) {
    std::vector<int64_t> order(static_cast<size_t>(counts_.rows));
    std::iota(order.begin(), order.end(), int64_t{0});
    if (options_.shuffle) shuffle(order, random_for(options_, epoch, Draw::rows));
    std::vector<int64_t> place(order.size());
    for (size_t i = 0; i < order.size(); ++i) place[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);

    row_begins_.assign(order.size() + 1, 0);
    for (const int64_t row : row_of) ++row_begins_[static_cast<size_t>(place[static_cast<size_t>(row)]) + 1];
    std::partial_sum(row_begins_.begin(), row_begins_.end(), row_begins_.begin());
    std::vector<int64_t> next(row_begins_.begin(), row_begins_.end() - 1);
    std::vector<Piece> sorted(pieces_.size());
    for (size_t i = 0; i < pieces_.size(); ++i) {
        const auto row = static_cast<size_t>(place[static_cast<size_t>(row_of[i])]);
        sorted[static_cast<size_t>(next[row]++)] = pieces_[i];
    }
    pieces_ = std::move(sorted);
}

void PackedEpoch::write_row(int64_t from, Batch& batch, int64_t to) const {
    int64_t column = 0;
    const auto begin_piece = [&](int64_t first) {
        for (int64_t c = first; c < batch.length; ++c) {
            const auto at = static_cast<size_t>(to * batch.length + c);
            batch.positions[at] = static_cast<int32_t>(c - first);
            batch.starts[at] = static_cast<int32_t>(first);
        }
    };
    const auto first = pieces_.begin() + row_begins_[static_cast<size_t>(from)];
    const auto last = pieces_.begin() + row_begins_[static_cast<size_t>(from) + 1];
    for (auto piece = first; piece != last; ++piece) {
        begin_piece(column);
        for (int64_t i = 0; i < piece->length; ++i, ++column) {
            const auto at = static_cast<size_t>(to * batch.length + column);
            const int64_t target = piece->begin + i + 1;
            batch.ids[at] = corpus_.id(target - 1);
            if (!corpus_.is_target(target)) continue;
            batch.targets[at] = corpus_.id(target);
            ++batch.n_targets;
        }
    }
    if (column < batch.length) begin_piece(column);
}

Batch PackedEpoch::batch(int64_t first, int64_t n) const {
    Batch batch(n, options_.length);
    for (int64_t i = 0; i < std::min(n, rows() - first); ++i) write_row(first + i, batch, i);
    return batch;
}

}  // namespace toy
