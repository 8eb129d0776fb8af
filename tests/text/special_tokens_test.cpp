// Tokens with a role: which they are, when text becomes them, what is put around a text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "small_vocabularies.h"
#include "text/tokenizer.h"
#include "vocabularies.h"

namespace toy::test {
namespace {

using Ids = std::vector<int32_t>;
using Strings = std::vector<std::string>;
using testing::HasSubstr;

/// small_gpt2 with more tokens, from id 261 on.
Metadata with_tokens(const Strings& texts, int32_t type) {
    Metadata metadata = small_gpt2();
    Strings tokens = strings(metadata, "tokens");
    tokens.insert(tokens.end(), texts.begin(), texts.end());
    Ids types(261, 1);
    types[260] = 3;
    types.resize(tokens.size(), type);
    set(metadata, "tokens", tokens);
    set(metadata, "token_type", types);
    return metadata;
}

TEST(EndOfGeneration, IsFoundByKeysAndWellKnownNames) {
    const Strings names = {"<|eot_id|>", "<|im_end|>", "<end_of_turn>", "<|eom_id|>", "<EOT>", "[e~["};
    const auto tokenizer = Tokenizer::from_metadata(with_tokens(names, 3));
    EXPECT_EQ(tokenizer->end_of_generation(), (Ids{260, 261, 262, 263, 264, 265, 266}));
    EXPECT_EQ(tokenizer->eot(), 261);  // the first of the list wins, whatever the order of ids
    EXPECT_EQ(tokenizer->eom(), 264);
    EXPECT_TRUE(tokenizer->is_end_of_generation(262));
    EXPECT_FALSE(tokenizer->is_end_of_generation(5));

    Metadata keyed = with_tokens({"stop", "turn", "message", "pad"}, 3);
    set(keyed, "eos_token_id", 261u);
    set(keyed, "eot_token_id", 262u);
    set(keyed, "eom_token_id", 263u);
    set(keyed, "fim_pad_token_id", 264u);
    const auto by_key = Tokenizer::from_metadata(keyed);
    EXPECT_EQ(by_key->end_of_generation(), (Ids{260, 261, 262, 263, 264}));
    EXPECT_EQ(by_key->eot(), 262);
}

TEST(EndOfGeneration, MakesControlTokensOfThem) {
    const auto tokenizer = Tokenizer::from_metadata(with_tokens({"<|im_end|>", "<|fim_prefix|>"}, 4));
    EXPECT_EQ(tokenizer->type(261), TokenType::control);
    EXPECT_EQ(tokenizer->type(262), TokenType::control);
    EXPECT_FALSE(tokenizer->is_end_of_generation(262));
    EXPECT_EQ(tokenizer->decode(Ids{259, 261}), "hello");
}

TEST(EndOfGeneration, NotWhereAMessageEndsButTheAnswerGoesOn) {
    const auto gpt_oss = Tokenizer::from_metadata(with_tokens({"<|end|>", "<|return|>", "<|call|>", "<|channel|>"}, 3));
    EXPECT_FALSE(gpt_oss->is_end_of_generation(261));
    EXPECT_TRUE(gpt_oss->is_end_of_generation(262));
    EXPECT_EQ(gpt_oss->decode(Ids{264, 259, 261}), "<|channel|>hello<|end|>");
    EXPECT_TRUE(Tokenizer::from_metadata(with_tokens({"<|end|>", "<|return|>"}, 3))->is_end_of_generation(261));

    const auto gemma = Tokenizer::from_metadata(with_tokens({"</s>", "<|tool_response>"}, 1));
    EXPECT_FALSE(gemma->is_end_of_generation(261));
    EXPECT_EQ(gemma->decode(Ids{261}), "</s>");
    EXPECT_TRUE(Tokenizer::from_metadata(with_tokens({"</s>"}, 1))->is_end_of_generation(261));
}

TEST(AddedTokens, ControlTokensAreTextUnlessAskedFor) {
    const auto tokenizer = Tokenizer::from_metadata(small_gpt2());
    const std::string text = "hello<|endoftext|>hello";
    EXPECT_EQ(tokenizer->encode(text, {.parse_special = true}), (Ids{259, 260, 259}));
    const Ids plain = tokenizer->encode(text);
    EXPECT_EQ(std::count(plain.begin(), plain.end(), 260), 0);
    EXPECT_EQ(tokenizer->decode(plain), text);
    EXPECT_EQ(tokenizer->decode(Ids{259, 260, 259}), "hellohello");
    EXPECT_EQ(tokenizer->decode(Ids{259, 260, 259}, {.render_special = true}), text);
}

TEST(AddedTokens, UserDefinedOnesAlwaysMatchTheLongestFirst) {
    const auto tokenizer = Tokenizer::from_metadata(with_tokens({"<t>", "<t><u>", "  ", "    "}, 4));
    EXPECT_EQ(tokenizer->encode("<t>"), Ids{261});
    EXPECT_EQ(tokenizer->encode("<t><u><t>"), (Ids{262, 261}));
    EXPECT_EQ(tokenizer->encode("<t><t><u>"), (Ids{261, 262}));
    EXPECT_EQ(tokenizer->encode("      hello"), (Ids{264, 263, 259}));
    EXPECT_EQ(tokenizer->decode(Ids{261, 263}), "<t>  ");
    EXPECT_EQ(tokenizer->encode("<t").size(), 2u);
}

TEST(AddedTokens, SwallowSpaceWhereTheModelIsKnownTo) {
    Metadata phi = with_tokens({"<|user|>"}, 3);
    phi.set("general.name", Value(std::string("Phi-3 mini")));
    EXPECT_EQ(Tokenizer::from_metadata(phi)->encode("<|user|> \n hello", {.parse_special = true}), (Ids{261, 259}));
    EXPECT_EQ(
        Tokenizer::from_metadata(with_tokens({"<|user|>"}, 3))->encode("<|user|> h", {.parse_special = true}).size(),
        3u);
    Metadata masked = with_tokens({"<mask>"}, 3);
    set(masked, "pre", "jina-v2-de");
    EXPECT_EQ(Tokenizer::from_metadata(masked)->encode("hello \t <mask>", {.parse_special = true}), (Ids{259, 261}));
}

// lcpp#4772, lcpp#2310, lcpp#167: where a text begins, and after every control token, SentencePiece sees a space.
TEST(SpacePrefix, IsPutAtTheStartAndAfterEachControlToken) {
    const auto tokenizer = Tokenizer::from_metadata(small_llama());
    const int32_t bos = 1, eos = 2, hi = *tokenizer->find("\u2581hi"), h = *tokenizer->find("h"),
                  i = *tokenizer->find("i");
    EXPECT_EQ(tokenizer->encode("hi"), (Ids{bos, hi}));
    EXPECT_EQ(tokenizer->encode("<s>hi</s>hi", {.add_special = false, .parse_special = true}), (Ids{bos, hi, eos, hi}));
    Metadata without = small_llama();
    set(without, "add_space_prefix", false);
    EXPECT_EQ(Tokenizer::from_metadata(without)->encode("hi"), (Ids{bos, h, i}));
}

// lcpp#23840: a space in the text after a control token comes on top of that one. (Hugging Face's fast tokenizers cut
// before each "▁" for some models, which a GGUF file does not say; SentencePiece itself does as here.)
TEST(SpacePrefix, ComesOnTopOfTheSpaceAfterAControlToken) {
    const auto small = Tokenizer::from_metadata(small_llama());
    const int32_t space = *small->find("\u2581"), hi = *small->find("\u2581hi");
    EXPECT_EQ(small->encode("<s> hi", {.add_special = false, .parse_special = true}), (Ids{1, space, hi}));
    const Tokenizer& llama = vocabulary("llama-spm");
    const Ids ids = llama.encode("a</s>  b", {.parse_special = true});
    EXPECT_EQ(llama.decode(ids, {.render_special = true}), "<s>a</s>   b");
}

TEST(Framing, FollowsTheFile) {
    Metadata metadata = small_llama();
    EXPECT_EQ(Tokenizer::from_metadata(metadata)->encode(""), Ids{1});
    set(metadata, "add_bos_token", false);
    set(metadata, "add_eos_token", true);
    EXPECT_EQ(Tokenizer::from_metadata(metadata)->encode(""), Ids{2});
    EXPECT_EQ(Tokenizer::from_metadata(metadata)->encode("", {.add_special = false}), Ids{});
    EXPECT_EQ(Tokenizer::from_metadata(small_bert())->encode(""), (Ids{2, 3}));
    EXPECT_EQ(Tokenizer::from_metadata(small_t5())->encode(""), Ids{1});
    Metadata tekken = small_gpt2();
    set(tekken, "pre", "tekken");
    EXPECT_EQ(Tokenizer::from_metadata(tekken)->encode(""), Ids{260});
}

TEST(Framing, Gemma4AlwaysBeginsWithBos) {
    Metadata metadata = vocabulary_metadata("gemma-4");
    set(metadata, "add_bos_token", false);
    testing::internal::CaptureStderr();
    const auto tokenizer = Tokenizer::from_metadata(metadata);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("tokenizer.ggml.add_bos_token"));
    EXPECT_EQ(tokenizer->encode(""), Ids{2});
}

}  // namespace
}  // namespace toy::test
