// Batches without end, whose state is three numbers. Test rows of traps.md B10: pytorch#35047, prime-diloco#97,
// the_well#77, keys_values#101 (the order of the data is not restored), transformers#11323 and #11648,
// Megatron-LM#1298, torchtitan#1720, tt-metal#47949 (results differ after resume).
#include "text/batch_source.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "refusal.h"

namespace toy::test {
namespace {

Corpus corpus_of(const std::vector<int>& lengths) {
    auto tokens = std::make_shared<TokenStore>();
    Corpus corpus;
    int32_t next = 0;
    for (const int length : lengths) {
        Document document;
        for (int i = 0; i < length; ++i) document.append(next++, true);
        const int64_t begin = tokens->size();
        tokens->append(document);
        corpus.documents.push_back({begin, tokens->size()});
    }
    corpus.tokens = tokens;
    return corpus;
}

bool same(const Batch& a, const Batch& b) {
    return a.ids == b.ids && a.targets == b.targets && a.positions == b.positions && a.starts == b.starts &&
           a.n_targets == b.n_targets;
}

RC_GTEST_PROP(BatchSource, RestoredAtAnyPointGivesTheSameBatches, ()) {
    auto lengths = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 60));
    lengths.push_back(2);
    const PackingOptions options{.length = *rc::gen::inRange(1, 16),
                                 .one_piece_per_row = *rc::gen::arbitrary<bool>(),
                                 .shuffle = *rc::gen::arbitrary<bool>(),
                                 .seed = *rc::gen::arbitrary<uint64_t>()};
    const auto rows = *rc::gen::inRange(1, 9);
    const auto before = *rc::gen::inRange(0, 30);

    BatchSource source(corpus_of(lengths), options, rows);
    for (int i = 0; i < before; ++i) source.next();
    const std::string saved = source.state().dump();

    PackingOptions other = options;
    other.seed = 99;  // the state brings its own
    BatchSource restored(corpus_of(lengths), other, rows);
    for (int i = *rc::gen::inRange(0, 3); i > 0; --i) restored.next();
    restored.restore(nlohmann::ordered_json::parse(saved));
    RC_ASSERT(restored.state() == source.state());

    BatchSource skipped(corpus_of(lengths), options, rows);
    skipped.skip(before);
    RC_ASSERT(skipped.state() == source.state());
    for (int i = 0; i < 20; ++i) {
        const Batch expected = source.next();
        RC_ASSERT(same(restored.next(), expected));
        RC_ASSERT(same(skipped.next(), expected));
        RC_ASSERT(restored.state() == source.state());
    }
}

// Trailing rows are not dropped: what an epoch has is handed out before the next begins, in the same batch if need be.
TEST(BatchSource, HandsOutEveryTargetOnceAnEpoch) {
    for (const int64_t rows : {1, 2, 3, 7}) {
        BatchSource source(corpus_of({30, 5, 2, 9, 17}), {.length = 4, .one_piece_per_row = true, .seed = 5}, rows);
        std::vector<int32_t> targets;
        while (source.epoch() == 0 || targets.size() < 58) {
            const Batch batch = source.next();
            EXPECT_EQ(batch.rows, rows);
            for (const int32_t target : batch.targets) {
                if (target != Batch::k_ignored) targets.push_back(target);
            }
        }
        targets.resize(58);  // 63 tokens, 5 of which begin a document
        std::sort(targets.begin(), targets.end());
        EXPECT_EQ(std::unique(targets.begin(), targets.end()), targets.end()) << rows;
    }
}

TEST(BatchSource, AnEpochSmallerThanABatchRepeats) {
    BatchSource source(corpus_of({3}), {.length = 2}, 5);
    EXPECT_EQ(source.next().n_targets, 10);
    EXPECT_EQ(source.state()["epoch"], 4);
    EXPECT_EQ(source.state()["position"], 1);
    EXPECT_EQ(source.counts().rows, 1);
}

TEST(BatchSource, OrderDependsOnSeedAndEpochAlone) {
    const PackingOptions options{.length = 4, .seed = 3};
    BatchSource one(corpus_of({100, 50}), options, 1), three(corpus_of({100, 50}), options, 3);
    std::vector<int32_t> by_one, by_three;
    for (int i = 0; i < 120; ++i) {
        const Batch batch = one.next();
        by_one.insert(by_one.end(), batch.ids.begin(), batch.ids.end());
    }
    for (int i = 0; i < 40; ++i) {
        const Batch batch = three.next();
        by_three.insert(by_three.end(), batch.ids.begin(), batch.ids.end());
    }
    EXPECT_EQ(by_one, by_three);
}

TEST(BatchSource, RefusesStatesThatAreNone) {
    BatchSource source(corpus_of({30}), {.length = 4, .seed = 1}, 2);
    source.next();
    const auto state = source.state();
    for (const char* bad : {"null", "[]", "{}", "3", R"({"seed":1,"epoch":0})", R"({"seed":1,"epoch":-1,"position":0})",
                            R"({"seed":1,"epoch":0,"position":"0"})", R"({"seed":1.5,"epoch":0,"position":0})"}) {
        EXPECT_REFUSAL("no object with the counts", source.restore(nlohmann::ordered_json::parse(bad)));
    }
    const auto beyond = nlohmann::ordered_json::parse(R"({"seed":1,"epoch":0,"position":9})");
    EXPECT_REFUSAL("row 9 of epoch 0, which has 8 rows", source.restore(beyond));
    EXPECT_EQ(source.state(), state);  // a refusal changes nothing
    EXPECT_REFUSAL("a batch of 0 rows", BatchSource(corpus_of({30}), {.length = 4}, 0));
    EXPECT_REFUSAL("no token to predict", BatchSource(corpus_of({1}), {.length = 4}, 1));
}

}  // namespace
}  // namespace toy::test
