// Tokenizer metadata is untrusted: what does not fit together is refused with a sentence that names the key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "small_vocabularies.h"
#include "text/tokenizer.h"

namespace toy::test {
namespace {

using testing::HasSubstr;
using Strings = std::vector<std::string>;
using Integers = std::vector<int32_t>;

TEST(SmallVocabularies, AreValid) {
    for (const Metadata& metadata : {small_gpt2(), small_llama(), small_t5(), small_bert()}) {
        EXPECT_EQ(refusal(metadata), "");
    }
}

TEST(Malformed, NoTokenizerSaysSo) {
    Metadata none("ids.gguf");
    EXPECT_FALSE(Tokenizer::is_present(none));
    EXPECT_THAT(refusal(none), HasSubstr("ids.gguf: the file has no tokenizer"));
    set(none, "model", "none");
    EXPECT_FALSE(Tokenizer::is_present(none));
    EXPECT_THAT(refusal(none), HasSubstr("give prompts as token ids"));
    EXPECT_TRUE(Tokenizer::is_present(small_gpt2()));
}

TEST(Malformed, UnsupportedKindsAreRefusedByName) {
    for (const char* kind : {"rwkv", "plamo2", "hybriddna", "whitespace", "test", "", "gpt-2"}) {
        Metadata metadata = small_gpt2();
        set(metadata, "model", kind);
        EXPECT_THAT(refusal(metadata), testing::AllOf(HasSubstr(std::string("'") + kind + "'"),
                                                      HasSubstr("tokenizer.ggml.model"), HasSubstr("not supported")));
    }
}

TEST(Malformed, UnknownPreTokenizerIsRefused) {
    Metadata metadata = small_gpt2();
    set(metadata, "pre", "gpt-3");
    EXPECT_EQ(refusal(metadata), "small.gguf: the pre-tokenizer 'gpt-3' of key 'tokenizer.ggml.pre' is unknown");
}

// lcpp#3502, lcpp#6920: a wrong split is a loss of quality that nobody sees, so a file that names none is not silent.
TEST(Malformed, MissingPreTokenizerIsDefaultWithAWarningThatNamesTheKey) {
    Metadata metadata = small_gpt2();
    metadata.erase("tokenizer.ggml.pre");
    testing::internal::CaptureStderr();
    const auto tokenizer = Tokenizer::from_metadata(metadata);
    const std::string warning = testing::internal::GetCapturedStderr();
    EXPECT_THAT(warning, HasSubstr("tokenizer.ggml.pre"));
    EXPECT_EQ(std::count(warning.begin(), warning.end(), '\n'), 1);
    EXPECT_EQ(tokenizer->pre(), "default");
}

TEST(Malformed, ArraysOfOtherLengthsThanTheVocabulary) {
    Metadata types = small_gpt2();
    set(types, "token_type", Integers(260, 1));
    EXPECT_EQ(refusal(types), "small.gguf: key 'tokenizer.ggml.token_type' has 260 entries for 261 tokens");
    Metadata scores = small_llama();
    set(scores, "scores", std::vector<float>(7, 0.f));
    EXPECT_THAT(refusal(scores), HasSubstr("key 'tokenizer.ggml.scores' has 7 entries for 268 tokens"));
}

TEST(Malformed, KeysThatAreMissingOrOfAnotherType) {
    for (const char* key : {"tokens", "merges"}) {
        Metadata metadata = small_gpt2();
        metadata.erase(std::string("tokenizer.ggml.") + key);
        EXPECT_THAT(refusal(metadata), HasSubstr(std::string("'tokenizer.ggml.") + key + "' is missing"));
        set(metadata, key, Integers{1, 2});
        EXPECT_THAT(refusal(metadata), HasSubstr(std::string("'tokenizer.ggml.") + key + "'"));
    }
    for (Metadata metadata : {small_llama(), small_t5()}) {
        metadata.erase("tokenizer.ggml.scores");
        EXPECT_THAT(refusal(metadata), HasSubstr("'tokenizer.ggml.scores' is missing"));
    }
    Metadata text_id = small_gpt2();
    set(text_id, "eos_token_id", "</s>");
    EXPECT_THAT(refusal(text_id), HasSubstr("tokenizer.ggml.eos_token_id"));
    Metadata number = small_gpt2();
    set(number, "pre", 3u);
    EXPECT_THAT(refusal(number), HasSubstr("tokenizer.ggml.pre"));
}

TEST(Malformed, TypesAndScoresOutOfRange) {
    Metadata types = small_gpt2();
    Integers codes(261, 1);
    codes[5] = 7;
    set(types, "token_type", codes);
    EXPECT_THAT(refusal(types), HasSubstr("gives token 5 the type 7"));
    codes[5] = -1;
    set(types, "token_type", codes);
    EXPECT_THAT(refusal(types), HasSubstr("gives token 5 the type -1"));
    for (const float wrong : {std::nanf(""), INFINITY, -INFINITY}) {
        Metadata scores = small_llama();
        std::vector<float> values(268, -1.f);
        values[264] = wrong;
        set(scores, "scores", values);
        EXPECT_THAT(refusal(scores), HasSubstr("gives token 264 the score"));
    }
}

TEST(Malformed, TwoTokensOfOneText) {
    Metadata metadata = small_gpt2();
    Strings tokens = strings(metadata, "tokens");
    tokens[258] = "he";
    set(metadata, "tokens", tokens);
    EXPECT_THAT(refusal(metadata), HasSubstr("tokens 256 and 258 of key 'tokenizer.ggml.tokens' are both 'he'"));
}

TEST(Malformed, ATokenWithoutEnd) {
    Metadata metadata = small_gpt2();
    Strings tokens = strings(metadata, "tokens");
    tokens[258] = std::string(70000, 'x');
    set(metadata, "tokens", tokens);
    EXPECT_THAT(refusal(metadata), HasSubstr("token 258 of key 'tokenizer.ggml.tokens' has 70000 bytes"));
}

TEST(Malformed, MergesOfUnknownTokensAreNamed) {
    const auto with = [](const char* merge) {
        Metadata metadata = small_gpt2();
        set(metadata, "merges", Strings{"h e", merge});
        return refusal(metadata);
    };
    EXPECT_THAT(with("zz o"), HasSubstr("merge 1 of key 'tokenizer.ggml.merges', 'zz o', begins with a text"));
    EXPECT_THAT(with("l zz"), HasSubstr("merge 1 of key 'tokenizer.ggml.merges', 'l zz', ends with a text"));
    EXPECT_THAT(with("l o"), HasSubstr("'l o', makes a text that is no token"));
    for (const char* merge : {"", " ", "ll", "l ", " l"}) {
        EXPECT_THAT(with(merge), HasSubstr("merge 1 of key 'tokenizer.ggml.merges'"));
    }
}

// lcpp#26506: ids of special tokens outside the vocabulary.
TEST(Malformed, SpecialTokenIdsOutsideTheVocabulary) {
    for (const char* role :
         {"bos", "eos", "eot", "eom", "unknown", "seperator", "padding", "mask", "fim_pad", "fim_pre"}) {
        const std::string key = std::string(role) + "_token_id";
        Metadata metadata = small_gpt2();
        set(metadata, key.c_str(), 261u);
        EXPECT_EQ(refusal(metadata),
                  "small.gguf: key 'tokenizer.ggml." + key + "' is 261, outside the vocabulary of 261 tokens");
        metadata.set("tokenizer.ggml." + key, Value(int32_t{-7}));
        EXPECT_THAT(refusal(metadata), HasSubstr(key + "' is -7"));
        set(metadata, key.c_str(), 4294967295u);  // how some converters write "none"
        set(metadata, "add_bos_token", false);
        set(metadata, "add_eos_token", false);
        EXPECT_EQ(refusal(metadata), "");
    }
}

// lcpp#18321: a vocabulary without BOS or EOS crashed where one was asked for.
TEST(Malformed, VocabularyWithoutBosAndEos) {
    Metadata metadata = small_gpt2();
    metadata.erase("tokenizer.ggml.bos_token_id");
    metadata.erase("tokenizer.ggml.eos_token_id");
    const auto tokenizer = Tokenizer::from_metadata(metadata);
    EXPECT_EQ(tokenizer->bos(), std::nullopt);
    EXPECT_EQ(tokenizer->eos(), std::nullopt);
    EXPECT_EQ(tokenizer->encode("hello"), Integers{259});
    EXPECT_EQ(tokenizer->encode(""), Integers{});

    for (const char* role : {"bos", "eos"}) {
        Metadata asks = metadata;
        set(asks, (std::string("add_") + role + "_token").c_str(), true);
        EXPECT_EQ(refusal(asks), std::string("small.gguf: key 'tokenizer.ggml.add_") + role +
                                     "_token' is true, but key 'tokenizer.ggml." + role + "_token_id' names no token");
    }
}

TEST(Malformed, ConventionAsksForATokenThatTheFileLacks) {
    Metadata metadata = small_gpt2();
    set(metadata, "pre", "llama-bpe");  // adds BOS where the file does not say
    metadata.erase("tokenizer.ggml.bos_token_id");
    testing::internal::CaptureStderr();
    const auto tokenizer = Tokenizer::from_metadata(metadata);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("tokenizer.ggml.bos_token_id"));
    EXPECT_FALSE(tokenizer->add_bos());
    EXPECT_EQ(tokenizer->encode("hello"), Integers{259});
}

// lcpp#14301, lcpp#14145: integer and heap overflows with tiny vocabularies and long texts.
TEST(Malformed, TinyVocabularies) {
    Metadata one("tiny.gguf");
    set(one, "model", "gpt2");
    set(one, "pre", "gpt-2");
    set(one, "tokens", Strings{"a"});
    set(one, "merges", Strings{});
    const auto bpe = Tokenizer::from_metadata(one);
    EXPECT_EQ(bpe->encode("aaa"), (Integers{0, 0, 0}));
    EXPECT_THROW(bpe->encode("b"), Error);
    EXPECT_EQ(bpe->decode(std::vector<int32_t>{0, 0}), "aa");

    set(one, "model", "llama");
    set(one, "scores", std::vector<float>{0});
    set(one, "add_bos_token", false);
    const auto spm = Tokenizer::from_metadata(one);
    EXPECT_THROW(spm->encode("a"), Error);  // the space before it is no token, and there is no unknown token
    set(one, "add_space_prefix", false);
    EXPECT_EQ(Tokenizer::from_metadata(one)->encode("aa"), (Integers{0, 0}));

    set(one, "model", "t5");
    EXPECT_THAT(refusal(one), HasSubstr("tokenizer.ggml.unknown_token_id"));
    set(one, "model", "bert");
    EXPECT_THAT(refusal(one), HasSubstr("_token_id"));
    set(one, "tokens", Strings{});
    EXPECT_THAT(refusal(one), HasSubstr("holds 0 tokens"));
    set(one, "tokens", Strings{""});
    set(one, "model", "gpt2");
    EXPECT_EQ(Tokenizer::from_metadata(one)->decode(std::vector<int32_t>{0}), "");
}

// lmstudio-bug-tracker#2289: byte tokens that name no byte. (The kind of that report, plamo2, is refused by name.)
TEST(Malformed, ByteTokensThatNameNoByte) {
    for (const char* text : {"<0x1>", "<0xGG>", "<0x123>", "<0x-1>", "0x0A", "", "x"}) {
        Metadata metadata = small_llama();
        Strings tokens = strings(metadata, "tokens");
        tokens[13] = text;
        set(metadata, "tokens", tokens);
        EXPECT_THAT(refusal(metadata), HasSubstr("token 13 of key 'tokenizer.ggml.tokens'")) << text;
    }
}

TEST(Malformed, IdsOutsideTheVocabularyAreNotDecoded) {
    const auto tokenizer = Tokenizer::from_metadata(small_gpt2());
    for (const int32_t id : {-1, 261, INT32_MAX, INT32_MIN}) {
        EXPECT_THROW(tokenizer->decode(std::vector<int32_t>{id}), Error);
        EXPECT_THROW(tokenizer->piece(id), Error);
        EXPECT_THROW(tokenizer->type(id), Error);
        EXPECT_FALSE(tokenizer->is_end_of_generation(id));
    }
}

/// The bytes of a `precompiled_charsmap`.
std::vector<uint8_t> charsmap(std::vector<uint32_t> units, const std::string& replacements) {
    std::vector<uint8_t> bytes;
    const auto append = [&](uint32_t word) {
        for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<uint8_t>(word >> shift));
    };
    append(static_cast<uint32_t>(units.size() * 4));
    for (const uint32_t unit : units) append(unit);
    bytes.insert(bytes.end(), replacements.begin(), replacements.end());
    return bytes;
}

/// A map of one text, "x", to the replacement at that offset: the root's children are at XOR 256.
std::vector<uint32_t> map_of_x(uint32_t offset) {
    std::vector<uint32_t> units(512, 0);
    units[0] = 256u << 10;
    const uint32_t child = 256 ^ 'x', value = 1;
    units[child] = 'x' | 1u << 8 | (child ^ value) << 10;
    units[value] = 1u << 31 | offset;
    return units;
}

TEST(Charsmap, Replaces) {
    Metadata metadata = small_t5();
    set(metadata, "precompiled_charsmap", charsmap(map_of_x(2), std::string("?\0ab\0", 5)));
    EXPECT_EQ(Tokenizer::from_metadata(metadata)->encode("x", {.add_special = false}), Integers{7});
}

// lcpp#18750: reads outside the map.
TEST(Charsmap, PointsOutsideItself) {
    const auto message = [](std::vector<uint8_t> bytes) {
        Metadata metadata = small_t5();
        set(metadata, "precompiled_charsmap", std::move(bytes));
        const std::string at_load = refusal(metadata);
        if (!at_load.empty()) return at_load;
        try {
            Tokenizer::from_metadata(metadata)->encode("xxaxx");
            return std::string("accepted");
        } catch (const Error& error) {
            return std::string(error.what());
        }
    };
    const std::string replacements("ab\0", 3);
    EXPECT_THAT(message({1, 0}), HasSubstr("too short for its size"));
    EXPECT_THAT(message({255, 255, 255, 255, 0}), HasSubstr("has an array beyond its end"));
    EXPECT_THAT(message({3, 0, 0, 0, 1, 2, 3, 0}), HasSubstr("has an array beyond its end"));
    EXPECT_THAT(message(charsmap(map_of_x(0), "ab")), HasSubstr("ends within a replacement"));
    EXPECT_THAT(message(charsmap(map_of_x(0), "")), HasSubstr("ends within a replacement"));
    EXPECT_THAT(message(charsmap(map_of_x(3), replacements)), HasSubstr("points to byte 3 of its replacements"));
    EXPECT_THAT(message(charsmap(map_of_x(0x7FFFFFFF), replacements)), HasSubstr("points to byte 2147483647"));
    std::vector<uint32_t> far = map_of_x(0);
    far[0] = 0x1FFFFFu << 10;
    EXPECT_THAT(message(charsmap(far, replacements)), HasSubstr("points to unit"));
    EXPECT_EQ(message(charsmap(map_of_x(0), replacements)), "accepted");
    EXPECT_EQ(message(charsmap({}, replacements)), "accepted");  // a map of nothing
    Metadata floats = small_t5();
    set(floats, "precompiled_charsmap", std::vector<float>{1});
    EXPECT_THAT(refusal(floats), HasSubstr("must be an array of u8"));
}

TEST(Charsmap, AnyUnitsAreSafe) {
    uint32_t state = 1;
    for (int round = 0; round < 300; ++round) {
        std::vector<uint32_t> units(64);
        for (uint32_t& unit : units) {
            state = state * 1664525 + 1013904223;
            unit = round % 2 ? state : (state >> 8 & 0x3FF) << 10 | (state & 0x1FF);
        }
        Metadata metadata = small_t5();
        set(metadata, "precompiled_charsmap", charsmap(units, std::string("ab\0c\0", 5)));
        const auto tokenizer = Tokenizer::from_metadata(metadata);
        try {
            tokenizer->encode("abcdefgh \u00e9\u4e2d xyz\x01\x02\x7f");
        } catch (const Error& error) {
            EXPECT_THAT(error.what(), HasSubstr("precompiled_charsmap"));
        }
    }
}

}  // namespace
}  // namespace toy::test
