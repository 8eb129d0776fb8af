// Rows: every target of the corpus is in exactly one, and nothing in them crosses from one document to another. Test
// rows of traps.md B10: nanoVLM#204, LlamaFactory#4224 and #7318, torchtune#875, trl#1230, transformers#46634,
// unsloth#126 (attention across documents, positions not reset, trailing samples dropped), ainode#186 (padding trained
// on).
#include "text/packing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "refusal.h"

namespace toy::test {
namespace {

/// Documents of those lengths. The ids count up through the whole corpus, so an id tells its place. A token is a target
/// where `is_target` says so for its place.
template <class IsTarget>
Corpus corpus_of(const std::vector<int>& lengths, const IsTarget& is_target) {
    auto tokens = std::make_shared<TokenStore>();
    Corpus corpus;
    int32_t next = 0;
    for (const int length : lengths) {
        Document document;
        for (int i = 0; i < length; ++i, ++next) document.append(next, is_target(next));
        const int64_t begin = tokens->size();
        tokens->append(document);
        corpus.documents.push_back({begin, tokens->size()});
    }
    corpus.tokens = tokens;
    return corpus;
}
Corpus corpus_of(const std::vector<int>& lengths) {
    return corpus_of(lengths, [](int32_t) { return true; });
}

Batch all_rows(const PackedEpoch& epoch) { return epoch.batch(0, epoch.rows()); }

/// What holds for every batch whatever the corpus: positions count from the start of each piece, and a piece is a run
/// of neighbouring tokens.
void check_rows(const Batch& batch, const Corpus& corpus) {
    std::map<int64_t, int64_t> document_of;  // begin -> end
    for (const TokenRange& range : corpus.documents) document_of[range.begin] = range.end;
    for (int64_t i = 0; i < batch.rows * batch.length; ++i) {
        const int64_t column = i % batch.length, start = batch.starts[i];
        RC_ASSERT(start >= 0 && start <= column);
        RC_ASSERT(batch.positions[i] == column - start);
        RC_ASSERT(batch.starts[i - column + start] == start);
        if (column > start) RC_ASSERT(batch.starts[i - 1] == start);
    }
    for (int64_t i = 0; i < batch.rows * batch.length; ++i) {
        if (batch.targets[i] == Batch::k_ignored) continue;
        RC_ASSERT(batch.targets[i] == batch.ids[i] + 1);
        // Target and input, and all that attention reaches from here, belong to one document.
        const auto document = std::prev(document_of.upper_bound(batch.ids[i]));
        RC_ASSERT(batch.targets[i] < document->second);
        const int64_t first = i - i % batch.length + batch.starts[i];
        RC_ASSERT(batch.ids[first] >= document->first);
        RC_ASSERT(batch.ids[i] - batch.ids[first] == i - first);
    }
}

std::vector<int32_t> targets_of(const Batch& batch) {
    std::vector<int32_t> targets;
    std::copy_if(batch.targets.begin(), batch.targets.end(), std::back_inserter(targets),
                 [](int32_t id) { return id != Batch::k_ignored; });
    std::sort(targets.begin(), targets.end());
    return targets;
}

std::vector<int32_t> targets_of(const Corpus& corpus) {
    std::vector<int32_t> targets;
    for (const TokenRange& range : corpus.documents) {
        for (int64_t at = range.begin + 1; at < range.end; ++at) {
            if (corpus.is_target(at)) targets.push_back(corpus.id(at));
        }
    }
    return targets;
}

RC_GTEST_PROP(Packing, LosesNoTargetDuplicatesNoneCrossesNoDocument, ()) {
    const auto lengths = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 40)));
    const auto share = *rc::gen::inRange(1, 5);
    const auto hash = *rc::gen::arbitrary<uint32_t>();
    const Corpus corpus = corpus_of(
        lengths, [&](int32_t at) { return share == 4 || (static_cast<uint32_t>(at) * 2654435761u ^ hash) % 4 < 2; });
    const PackingOptions options{.length = *rc::gen::inRange(1, 20),
                                 .one_piece_per_row = *rc::gen::arbitrary<bool>(),
                                 .shuffle = *rc::gen::arbitrary<bool>(),
                                 .seed = *rc::gen::arbitrary<uint64_t>()};
    const auto epoch_number = *rc::gen::inRange<uint64_t>(0, 5);
    const std::vector<int32_t> expected = targets_of(corpus);
    RC_PRE(!expected.empty());

    const PackedEpoch epoch(corpus, options, epoch_number);
    const Batch batch = all_rows(epoch);
    check_rows(batch, corpus);
    RC_ASSERT(targets_of(batch) == expected);
    RC_ASSERT(batch.n_targets == static_cast<int64_t>(expected.size()));
    RC_ASSERT(epoch.counts().targets == batch.n_targets);
    RC_ASSERT(corpus.count().targets == batch.n_targets);
    RC_ASSERT(epoch.counts().rows == epoch.rows());
    // Padding and pieces fill the rows exactly.
    int64_t starts = 0;
    for (int64_t i = 0; i < batch.rows * batch.length; ++i) starts += batch.starts[i] == i % batch.length;
    RC_ASSERT(starts >= epoch.counts().pieces);
    if (options.one_piece_per_row) RC_ASSERT(epoch.counts().pieces == epoch.rows());
    // The same again: nothing but corpus, options and epoch counts.
    RC_ASSERT(all_rows(PackedEpoch(corpus, options, epoch_number)).ids == batch.ids);
}

TEST(Packing, PositionsAreResetAndDocumentsKeptApart) {
    const Corpus corpus = corpus_of({3, 4});  // ids 0 1 2 | 3 4 5 6
    const PackedEpoch epoch(corpus, {.length = 6, .shuffle = false}, 0);
    ASSERT_EQ(epoch.rows(), 1);
    const Batch batch = all_rows(epoch);
    EXPECT_EQ(batch.ids, (std::vector<int32_t>{3, 4, 5, 0, 1, 0}));  // the longest first, padding last
    EXPECT_EQ(batch.targets, (std::vector<int32_t>{4, 5, 6, 1, 2, -1}));
    EXPECT_EQ(batch.positions, (std::vector<int32_t>{0, 1, 2, 0, 1, 0}));
    EXPECT_EQ(batch.starts, (std::vector<int32_t>{0, 0, 0, 3, 3, 5}));
    EXPECT_EQ(batch.n_targets, 5);
    EXPECT_EQ(epoch.counts().padding, 1);
}

// The last input of a window is to predict the token that the next window begins with.
TEST(Packing, WindowsBringTheTokenThatFollows) {
    const Corpus corpus = corpus_of({8});
    const PackedEpoch epoch(corpus, {.length = 3, .shuffle = false}, 0);
    const Batch batch = all_rows(epoch);
    EXPECT_EQ(batch.ids, (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 0, 0}));
    EXPECT_EQ(batch.targets, (std::vector<int32_t>{1, 2, 3, 4, 5, 6, 7, -1, -1}));  // the trailing one is trained on
    EXPECT_EQ(epoch.counts().cut_documents, 1);
    EXPECT_EQ(epoch.counts().pieces, 3);
}

TEST(Packing, PaddingIsNeverATarget) {
    const Corpus corpus = corpus_of({2, 2});
    const Batch batch = PackedEpoch(corpus, {.length = 4, .one_piece_per_row = true, .shuffle = false}, 0).batch(0, 3);
    EXPECT_EQ(batch.targets, (std::vector<int32_t>{1, -1, -1, -1, 3, -1, -1, -1, -1, -1, -1, -1}));
    EXPECT_EQ(batch.starts, (std::vector<int32_t>{0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0}));
    EXPECT_EQ(batch.positions, (std::vector<int32_t>{0, 0, 1, 2, 0, 0, 1, 2, 0, 1, 2, 3}));
    EXPECT_EQ(batch.n_targets, 2);
}

TEST(Packing, RowsAreWellFilled) {
    std::vector<int> lengths;
    for (int i = 0; i < 1000; ++i) lengths.push_back(2 + i * 7919 % 97);
    const Corpus corpus = corpus_of(lengths);
    const PackedEpoch epoch(corpus, {.length = 128}, 0);
    EXPECT_LT(epoch.counts().padding, epoch.rows() * 128 / 50);
}

TEST(Packing, ARowIsFilledToItsLastToken) {
    const Corpus corpus = corpus_of({5, 4, 3, 3, 2});
    const PackedEpoch epoch(corpus, {.length = 5}, 0);  // 4 + 1, 3 + 2, 2 tokens to predict from
    EXPECT_EQ(epoch.rows(), 3);
    EXPECT_EQ(epoch.counts().padding, 3);
}

TEST(Packing, EpochsDifferAndSeedsToo) {
    const Corpus corpus = corpus_of({2000});
    const PackingOptions options{.length = 64, .seed = 1};
    std::vector<std::vector<int32_t>> first_columns;
    for (uint64_t epoch = 0; epoch < 4; ++epoch) {
        const PackedEpoch packed(corpus, options, epoch);
        EXPECT_EQ(packed.rows(), 32) << epoch;  // ceil(1999 / 64), whatever the phase
        first_columns.push_back(packed.batch(0, 1).ids);
    }
    PackingOptions other = options;
    other.seed = 2;
    first_columns.push_back(PackedEpoch(corpus, other, 0).batch(0, 1).ids);
    std::sort(first_columns.begin(), first_columns.end());
    EXPECT_EQ(std::unique(first_columns.begin(), first_columns.end()), first_columns.end());
    // The windows themselves move, not their order alone.
    std::vector<int32_t> begins;
    for (uint64_t epoch = 0; epoch < 8; ++epoch) {
        const Batch batch = all_rows(PackedEpoch(corpus, options, epoch));
        for (int64_t row = 0; row < batch.rows; ++row) begins.push_back(batch.ids[row * 64] % 64);
    }
    std::sort(begins.begin(), begins.end());
    begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
    EXPECT_GT(begins.size(), 4u);
    const PackingOptions still{.length = 64, .shuffle = false};
    EXPECT_EQ(all_rows(PackedEpoch(corpus, still, 0)).ids, all_rows(PackedEpoch(corpus, still, 3)).ids);
}

// A prompt belongs into the window in which its completion begins.
TEST(Packing, WindowsOfDocumentsWithPromptsDoNotMove) {
    const Corpus corpus = corpus_of({30}, [](int32_t at) { return at >= 5; });
    for (uint64_t epoch = 0; epoch < 8; ++epoch) {
        const Batch batch = all_rows(PackedEpoch(corpus, {.length = 10}, epoch));
        for (int64_t row = 0; row < batch.rows; ++row) EXPECT_EQ(batch.ids[row * 10] % 10, 0);
    }
}

TEST(Packing, CountsWindowsThatOnlyHoldPrompt) {
    const Corpus corpus = corpus_of({30}, [](int32_t at) { return at >= 25; });
    const PackedEpoch epoch(corpus, {.length = 10}, 0);
    EXPECT_EQ(epoch.counts().pieces_without_target, 2);
    EXPECT_EQ(epoch.rows(), 1);
    EXPECT_EQ(epoch.counts().targets, 5);
}

TEST(Packing, RefusesWhatCannotBePacked) {
    EXPECT_REFUSAL("no token to predict", PackedEpoch(corpus_of({1, 0, 1}), {.length = 4}, 0));
    EXPECT_REFUSAL("no token to predict", PackedEpoch(corpus_of({9}, [](int32_t) { return false; }), {.length = 4}, 0));
    EXPECT_REFUSAL("rows of 0 tokens", PackedEpoch(corpus_of({9}), {.length = 0}, 0));
}

}  // namespace
}  // namespace toy::test
