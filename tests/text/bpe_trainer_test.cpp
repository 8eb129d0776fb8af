// Byte-pair encoding against the definition: count all pairs anew for each merge.
#include "text/bpe_trainer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "refusal.h"
#include "text/pretokenizers.h"
#include "text/utf8.h"

namespace toy::test {
namespace {

using Word = std::vector<int32_t>;
using Pair = std::pair<int32_t, int32_t>;

/// Every merge counts every pair of every word; slow, and nothing to get wrong.
ByteMerges naive(const std::vector<std::string>& texts, size_t size) {
    std::vector<Word> words;
    const RegexSplit split(find_pretokenizer("gpt-2")->steps);
    for (const std::string& text : texts) {
        std::vector<std::string_view> cut;
        split.split(text, cut);
        for (const std::string_view word : cut) {
            Word& symbols = words.emplace_back();
            for (const char c : word) symbols.push_back(static_cast<uint8_t>(c));
        }
    }
    ByteMerges result;
    for (int byte = 0; byte < 256; ++byte) result.tokens.emplace_back(1, static_cast<char>(byte));
    while (result.tokens.size() < size) {
        std::map<Pair, int64_t> counts;
        for (const Word& word : words) {
            for (size_t i = 0; i + 1 < word.size(); ++i) ++counts[{word[i], word[i + 1]}];
        }
        Pair best = {0, 0};
        int64_t most = 1;
        for (const auto& [pair, count] : counts) {  // in ascending order: the first of equals stays
            if (count > most) best = pair, most = count;
        }
        if (most < 2) break;
        const std::string bytes = result.tokens[best.first] + result.tokens[best.second];
        const auto known = std::find(result.tokens.begin(), result.tokens.end(), bytes);
        const auto merged = static_cast<int32_t>(known - result.tokens.begin());
        if (known == result.tokens.end()) result.tokens.push_back(bytes);
        result.merges.push_back(best);
        for (Word& word : words) {
            Word joined;
            for (size_t i = 0; i < word.size(); ++i) {
                const bool here = i + 1 < word.size() && word[i] == best.first && word[i + 1] == best.second;
                joined.push_back(here ? merged : word[i]);
                i += here;
            }
            word = joined;
        }
    }
    return result;
}

ByteMerges train(const std::vector<std::string>& texts, int32_t size) {
    BpeTrainer trainer;
    for (const std::string& text : texts) trainer.add(text);
    return trainer.train(size);
}

RC_GTEST_PROP(BpeTrainer, EqualsTheDefinition, ()) {
    const auto alphabet = *rc::gen::element<std::string>("ab", "abc ", "aaab \n", "abcdefgh   '1.\n");
    const auto letter = rc::gen::elementOf(alphabet);
    const auto texts = *rc::gen::container<std::vector<std::string>>(rc::gen::scale(
        2.0, rc::gen::map(rc::gen::container<std::string>(letter), [](std::string text) { return text + "\u00e9"; })));
    const ByteMerges expected = naive(texts, 256 + 40);
    const auto size = static_cast<int32_t>(expected.tokens.size());
    const ByteMerges merges = train(texts, size);
    RC_ASSERT(merges.tokens == expected.tokens);
    const size_t n = std::min(merges.merges.size(), expected.merges.size());
    RC_ASSERT(n + 1 >= expected.merges.size());  // one more merge may make a text that is a token already
    RC_ASSERT(
        std::equal(merges.merges.begin(), merges.merges.begin() + static_cast<ptrdiff_t>(n), expected.merges.begin()));
    if (size < 256 + 40) EXPECT_REFUSAL("no pair of tokens occurs twice", train(texts, size + 1));
}

TEST(BpeTrainer, TiesGoToTheSmallerPair) {
    // "ab" and "cd" twice each: (a, b) comes before (c, d); then "efg" leaves (e, f) before (f, g).
    const ByteMerges merges = train({"cd ab cd ab"}, 258);
    EXPECT_EQ(merges.tokens[256], " a");  // 0x20 is the smallest left token of the pairs that occur twice
    EXPECT_EQ(train({"xab", "xcd", "yab", "ycd"}, 257).tokens[256], "ab");
}

// In a run of the same letter pairs overlap: the leftmost merge, as the tokenizer will do it.
TEST(BpeTrainer, OverlappingPairsMergeFromTheLeft) {
    const ByteMerges merges = train({"aaaaa", "aaaaa"}, 259);
    EXPECT_EQ(merges.tokens[256], "aa");
    EXPECT_EQ(merges.tokens[257], "aaa");  // aa aa a: (aa, a) and (aa, aa) occur twice each, and a comes before aa
    EXPECT_EQ(merges.tokens.size(), 259u);
}

TEST(BpeTrainer, LongTextsAreCutWithoutATrace) {
    std::string text;
    uint32_t state = 1;
    while (text.size() < 2'500'000) {
        state = state * 1664525 + 1013904223;
        text += "etaoin shrdlu\n \n,.'s"[state >> 27 & 15];
        if (state >> 24 == 0) text += "ab\ncd";
    }
    BpeTrainer whole;
    whole.add(text);
    const RegexSplit split(find_pretokenizer("gpt-2")->steps);
    std::vector<std::string_view> words;
    split.split(text, words);
    std::sort(words.begin(), words.end());
    EXPECT_EQ(whole.words(), static_cast<size_t>(std::unique(words.begin(), words.end()) - words.begin()));
}

TEST(BpeTrainer, OneLongWordCostsWhatItsMergesChange) {
    std::string word;
    uint32_t state = 1;
    for (int i = 0; i < 300'000; ++i) {
        state = state * 1664525 + 1013904223;
        word += static_cast<char>('a' + (state >> 16) % 26);
    }
    EXPECT_EQ(train({word}, 1000).tokens.size(), 1000u);
}

TEST(BpeTrainer, TakesAnyBytes) {
    const ByteMerges merges = train({"\xFF\xFE", std::string("\0\0\0\0", 4)}, 257);
    EXPECT_EQ(merges.tokens[256], std::string("\0\0", 2));
}

TEST(BpeTrainer, RefusesSizesThatCannotBe) {
    EXPECT_REFUSAL("255 tokens are too few", train({"aa"}, 255));
    EXPECT_REFUSAL("after 257 no pair of tokens occurs twice", train({"aab", "aac"}, 4096));
    EXPECT_EQ(train({}, 256).tokens.size(), 256u);
}

TEST(BpeTrainer, TellsHowFarItIs) {
    BpeTrainer trainer;
    trainer.add("abababab");
    std::vector<int32_t> told;
    trainer.train(258, [&](int32_t tokens) { told.push_back(tokens); });
    EXPECT_EQ(told, (std::vector<int32_t>{257, 258}));
}

}  // namespace
}  // namespace toy::test
