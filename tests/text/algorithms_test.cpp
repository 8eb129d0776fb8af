// The five algorithms on vocabularies small enough to follow by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "small_vocabularies.h"
#include "text/byte_letters.h"
#include "text/tokenizer.h"
#include "vocabularies.h"

namespace toy::test {
namespace {

using Ids = std::vector<int32_t>;
using Strings = std::vector<std::string>;

TEST(ByteLetters, AreGpt2s) {
    EXPECT_EQ(byte_to_letter(' '), U'\u0120');
    EXPECT_EQ(byte_to_letter('\n'), U'\u010A');
    EXPECT_EQ(byte_to_letter('a'), U'a');
    EXPECT_EQ(byte_to_letter(0xAD), U'\u0143');
    std::string bytes = "x";
    EXPECT_TRUE(append_bytes_of_letters(bytes, "\u0120a\u010A"));
    EXPECT_EQ(bytes, "x a\n");
    EXPECT_FALSE(append_bytes_of_letters(bytes, "ab\u4e2d"));
    EXPECT_FALSE(append_bytes_of_letters(bytes, "a b"));  // the space itself is no letter
    EXPECT_EQ(bytes, "x a\n");
}

TEST(BytePairs, MergeInOrderOfRank) {
    Metadata metadata = small_gpt2();
    const auto tokenizer = Tokenizer::from_metadata(metadata);
    EXPECT_EQ(tokenizer->encode("hello"), Ids{259});
    EXPECT_EQ(tokenizer->encode("hell"), (Ids{256, 257}));
    EXPECT_EQ(tokenizer->encode("lll"), (Ids{257, 'l'}));  // the leftmost of equals
    EXPECT_EQ(tokenizer->encode("llllo"), (Ids{257, 258}));

    set(metadata, "merges", Strings{"ll o", "l l", "h e", "he llo", "l l"});
    EXPECT_EQ(Tokenizer::from_metadata(metadata)->encode("hello"), Ids{259});
    set(metadata, "merges", Strings{"h e", "ll o", "l l"});
    EXPECT_EQ(Tokenizer::from_metadata(metadata)->encode("hello"), (Ids{256, 258}));
}

TEST(BytePairs, WholeWordsWhereMergesAreIgnored) {
    Metadata metadata = small_gpt2();
    set(metadata, "merges", Strings{});
    set(metadata, "add_bos_token", false);
    EXPECT_EQ(Tokenizer::from_metadata(metadata)->encode("hello").size(), 5u);
    set(metadata, "pre", "llama-bpe");
    EXPECT_EQ(Tokenizer::from_metadata(metadata)->encode("hello"), Ids{259});
    EXPECT_EQ(Tokenizer::from_metadata(metadata)->encode("hellos").size(), 6u);
}

TEST(BytePairs, SayWhichByteHasNoToken) {
    const Tokenizer& falcon = vocabulary("falcon");
    try {
        falcon.encode("a\x0b");
        FAIL();
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "the model's vocabulary has no token for the byte 0x0B");
    }
}

TEST(BytePairs, WhitespaceRuleDropsWhiteSpace) {
    Metadata metadata("words.gguf");
    set(metadata, "model", "gpt2");
    set(metadata, "pre", "whitespace");
    set(metadata, "tokens", Strings{"a", "b", "ab", "\u4e2d"});
    set(metadata, "merges", Strings{"a b"});
    EXPECT_EQ(Tokenizer::from_metadata(metadata)->encode("  ab a b\u3000\n\u4e2d "), (Ids{2, 0, 1, 3}));
}

TEST(SentencePiece, JoinsTheHighestScoreFirst) {
    Metadata metadata = small_llama();
    const auto tokenizer = Tokenizer::from_metadata(metadata);
    EXPECT_EQ(tokenizer->encode("hi", {.add_special = false}), Ids{*tokenizer->find("\u2581hi")});
    EXPECT_EQ(tokenizer->encode("lll", {.add_special = false}),
              (Ids{*tokenizer->find("\u2581"), *tokenizer->find("ll"), *tokenizer->find("l")}));
    // The text of control, unknown and byte tokens is text.
    for (const char* text : {"<s>", "<unk>", "<0x0A>"}) {
        const Ids ids = tokenizer->encode(text, {.add_special = false});
        EXPECT_EQ(ids.size(), std::string(text).size() + 1) << text;
        EXPECT_EQ(tokenizer->decode(ids), text);
    }
}

TEST(SentencePiece, JoinsAcrossSpacesWhereATokenDoes) {
    // Texts are taken word by word; not so where a token holds a space inside, as Gemma's "> </" does.
    Metadata metadata = small_llama();
    Strings tokens = strings(metadata, "tokens");
    for (const char* more : {"i\u2581", "i\u2581h"}) tokens.push_back(more);
    Ids types = {2, 3, 3};
    types.resize(259, 6);
    types.resize(tokens.size(), 1);
    std::vector<float> scores(tokens.size(), -1.f);
    scores[268] = scores[269] = 5.f;
    set(metadata, "tokens", tokens);
    set(metadata, "token_type", types);
    set(metadata, "scores", scores);
    const auto tokenizer = Tokenizer::from_metadata(metadata);
    const Ids ids = tokenizer->encode("i hi", {.add_special = false});
    EXPECT_EQ(ids, (Ids{*tokenizer->find("\u2581"), 269, *tokenizer->find("i")}));
    EXPECT_EQ(tokenizer->decode(ids), "i hi");
}

TEST(SentencePiece, UnknownCharactersAreBytesOrOneUnknownToken) {
    Metadata metadata = small_llama();
    const auto tokenizer = Tokenizer::from_metadata(metadata);
    EXPECT_EQ(tokenizer->encode("\u00e9", {.add_special = false}),
              (Ids{*tokenizer->find("\u2581"), 3 + 0xC3, 3 + 0xA9}));
    set(metadata, "tokens", Strings{"<unk>", "<s>", "</s>", "\u2581", "h"});
    set(metadata, "token_type", Ids{2, 3, 3, 1, 1});
    set(metadata, "scores", std::vector<float>(5, 0.f));
    EXPECT_EQ(Tokenizer::from_metadata(metadata)->encode("xyzhx", {.add_special = false}), (Ids{3, 0, 4, 0}));
}

TEST(Unigram, TakesTheBestSum) {
    const auto tokenizer = Tokenizer::from_metadata(small_t5());
    const auto encode = [&](const char* text) { return tokenizer->encode(text, {.add_special = false}); };
    EXPECT_EQ(encode("ab"), Ids{7});           // -5, against -4 - 3
    EXPECT_EQ(encode("aab"), (Ids{6, 4, 5}));  // -4 - 3 - 3
    EXPECT_EQ(encode("  ab   a "), (Ids{7, 6}));
    EXPECT_EQ(encode("xyz"), (Ids{3, 2}));  // unknown characters in a row are one token
    EXPECT_EQ(encode("axa"), (Ids{6, 2, 4}));
    EXPECT_EQ(encode(""), Ids{});
    EXPECT_EQ(encode("   "), Ids{});
}

TEST(WordPiece, IsGreedyFromTheLeft) {
    const auto tokenizer = Tokenizer::from_metadata(small_bert());
    const auto encode = [&](const std::string& text) { return tokenizer->encode(text, {.add_special = false}); };
    EXPECT_EQ(encode("unaffable"), (Ids{4, 5, 6}));
    EXPECT_EQ(encode("UnAff\u00e0ble a"), (Ids{4, 5, 6, 7}));
    EXPECT_EQ(encode("unaffx a"), (Ids{1, 7}));
    EXPECT_EQ(encode("a\u4e2da"), (Ids{7, 1, 7}));
    EXPECT_EQ(encode("a" + std::string(100, 'a')), Ids{1});
    EXPECT_EQ(tokenizer->decode(Ids{2, 4, 5, 6, 7, 3}), "unaffable a");
    Metadata cased = small_bert();
    set(cased, "normalizer.lowercase", false);
    EXPECT_EQ(Tokenizer::from_metadata(cased)->encode("Un un", {.add_special = false}), (Ids{1, 4}));
}

}  // namespace
}  // namespace toy::test
