// Tokenizers made here: what was trained on comes back exactly, from our own reader and from libllama's.
#include "text/train_tokenizer.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "core/temp_folder.h"
#include "fixtures.h"
#include "io/gguf.h"
#include "refusal.h"
#include "small_vocabularies.h"

namespace toy::test {
namespace {

using Ids = std::vector<int32_t>;
using Texts = std::vector<std::string>;

std::shared_ptr<const Tokenizer> byte_tokenizer() { return Tokenizer::from_metadata(make_byte_tokenizer({})); }

std::shared_ptr<const Tokenizer> bpe_tokenizer(const Texts& texts, int32_t size) {
    BpeTrainer trainer;
    for (const std::string& text : texts) trainer.add(text);
    return Tokenizer::from_metadata(make_bpe_tokenizer(trainer.train(size), {}));
}

/// A file with a text a line, as JSON: what oracle/record_trained.py trained on.
std::string jsonl(const Texts& texts) {
    std::string lines;
    for (const std::string& text : texts) lines += nlohmann::json{{"text", text}}.dump() + "\n";
    return lines;
}

/// The texts of the fixture that a vocabulary of characters can hold.
Texts holdable_texts() {
    Texts texts;
    for (const std::string& text : fixture_texts()) {
        if (text.find("\u2581") == text.npos && text.find('\0') == text.npos) texts.push_back(text);
    }
    return texts;
}

// The vocabularies that record_trained.py gave to libllama, made again and read by our own tokenizer.
class Trained : public testing::TestWithParam<int> {};

TEST_P(Trained, IsReadAsLibllamaReadsIt) {
    const auto kind = static_cast<TokenizerKind>(GetParam());
    const nlohmann::json expected = fixture("trained").at(k_tokenizer_kind_names[GetParam()]);
    const TempFolder folder;
    const TokenizerRecipe recipe{
        .kind = kind, .size = kind == TokenizerKind::bpe ? 420 : 0, .special_tokens = {"<|im_start|>", "<|im_end|>"}};
    const Texts texts = holdable_texts();
    const TrainedTokenizer trained = train_tokenizer(recipe, folder.file("texts.jsonl", jsonl(texts)), {});
    write_tokenizer(trained.metadata, folder / "vocabulary.gguf");
    const auto tokenizer = Tokenizer::from_metadata(Gguf::open(folder / "vocabulary.gguf").metadata());

    ASSERT_EQ(tokenizer->size(), expected["size"]);
    EXPECT_EQ(trained.size, tokenizer->size());
    std::string plain, special, pieces;
    for (const std::string& text : texts) {
        plain += digest(tokenizer->encode(text, {.add_special = false}));
        special += digest(tokenizer->encode(text, {.add_special = false, .parse_special = true}));
        EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
    }
    EXPECT_EQ(plain, expected["plain"].get<std::string>());
    EXPECT_EQ(special, expected["special"].get<std::string>());
    for (int32_t id = 0; id < tokenizer->size(); ++id) {
        const std::string_view piece = tokenizer->piece(id);
        pieces += static_cast<char>(piece.size() & 255);
        pieces += static_cast<char>(piece.size() >> 8);
        pieces += piece;
    }
    EXPECT_EQ(fmt::format("{:08x}", fnv1a(pieces)), expected["pieces"].get<std::string>());
    EXPECT_EQ(tokenizer->encode("a"), expected["framed"].get<Ids>());
    EXPECT_EQ(*tokenizer->bos(), expected["roles"]["bos"]);
    EXPECT_EQ(*tokenizer->eos(), expected["roles"]["eos"]);
    EXPECT_EQ(*tokenizer->eot(), expected["roles"]["eot"]);
    EXPECT_EQ(tokenizer->end_of_generation(), expected["end_of_generation"].get<Ids>());
}

INSTANTIATE_TEST_SUITE_P(Kinds, Trained, testing::Values(0, 1, 2),
                         [](const auto& kind) { return std::string(k_tokenizer_kind_names[kind.param]); });

TEST(TrainTokenizer, BytesAreTheirOwnIds) {
    const auto tokenizer = byte_tokenizer();
    EXPECT_EQ(tokenizer->size(), 257);
    EXPECT_EQ(tokenizer->encode("a\xFF\n"), (Ids{'a', 255, '\n'}));
    EXPECT_EQ(*tokenizer->eos(), 256);
    EXPECT_EQ(tokenizer->text(256), "<|endoftext|>");
    EXPECT_EQ(tokenizer->type(256), TokenType::control);
    EXPECT_FALSE(tokenizer->add_bos() || tokenizer->add_eos());
}

RC_GTEST_PROP(TrainTokenizer, ArbitraryBytesComeBack, (const std::string& text)) {
    static const auto bytes = byte_tokenizer();
    static const auto bpe = bpe_tokenizer(fixture_texts(), 400);
    const Ids ids = bytes->encode(text);
    RC_ASSERT(ids.size() == text.size());
    RC_ASSERT(bytes->decode(ids) == text);
    RC_ASSERT(bpe->decode(bpe->encode(text)) == text);
}

// nanoGPT numbers the characters of its text in order of code points; so do we.
TEST(TrainTokenizer, CharactersAreNumberedInOrder) {
    const TempFolder folder;
    const TokenizerRecipe recipe{.kind = TokenizerKind::character};
    const std::string text = "hello w\u00f6rld!\n\U0001F600 \u00f6";
    const TrainedTokenizer trained = train_tokenizer(recipe, folder.file("a.txt", text), {});
    const auto tokenizer = Tokenizer::from_metadata(trained.metadata);
    const Texts expected = {"\n", " ", "!", "d", "e", "h", "l", "o", "r", "w", "\u00f6", "\U0001F600"};
    ASSERT_EQ(tokenizer->size(), 13);
    for (int32_t id = 0; id < 12; ++id) EXPECT_EQ(tokenizer->piece(id), expected[id]);
    const Ids ids = tokenizer->encode(text);
    EXPECT_EQ(ids.size(), 16u);
    EXPECT_EQ(tokenizer->decode(ids), text);
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(" l  h")), " l  h");
    EXPECT_EQ(*tokenizer->eos(), 12);
}

TEST(TrainTokenizer, AnUnknownCharacterIsNamed) {
    const std::u32string known = U"ab";
    const auto tokenizer = Tokenizer::from_metadata(make_character_tokenizer(known, {}));
    EXPECT_REFUSAL("no token for the character '\u00fc' (U+00FC)", tokenizer->encode("ab\u00fc"));
    EXPECT_REFUSAL("no token for the character U+000A,", tokenizer->encode("\n"));
    EXPECT_REFUSAL("no token for the character", tokenizer->encode(" "));
    EXPECT_REFUSAL("no token for the byte 0xFF", tokenizer->encode("\xFF"));
    EXPECT_EQ(tokenizer->encode("abba"), (Ids{0, 1, 1, 0}));
}

TEST(TrainTokenizer, RefusesCharactersThatTheFileCannotHold) {
    const std::u32string block = U"a\u2581", null(1, U'\0');
    EXPECT_REFUSAL("the character U+2581", make_character_tokenizer(block, {}));
    EXPECT_REFUSAL("the character U+0000", make_character_tokenizer(null, {}));
}

TEST(TrainTokenizer, SpecialTokensAreControlTokens) {
    const Texts specials = {"<|im_start|>", "<|im_end|>"};
    const std::u32string known = U"<|im_star>";
    for (const Metadata& metadata : {make_byte_tokenizer(specials), make_character_tokenizer(known, specials)}) {
        const auto tokenizer = Tokenizer::from_metadata(metadata);
        const int32_t start = *tokenizer->find("<|im_start|>");
        EXPECT_EQ(start, tokenizer->size() - 2);
        EXPECT_EQ(tokenizer->type(start), TokenType::control);
        EXPECT_EQ(tokenizer->encode("<|im_start|>", {.parse_special = true}), Ids{start});
        EXPECT_EQ(tokenizer->encode("<|im_start|>").size(), 12u);
        EXPECT_EQ(*tokenizer->eot(), tokenizer->size() - 1);
    }
    const auto bytes_with = [](const Texts& special) { make_byte_tokenizer(special); };
    EXPECT_REFUSAL("is no text of 1 to", bytes_with({""}));
    EXPECT_REFUSAL("is no text of 1 to", bytes_with({"\xFF"}));
    EXPECT_REFUSAL("'a' is in the vocabulary already", bytes_with({"a"}));
    EXPECT_REFUSAL("'<a>' is in the vocabulary already", bytes_with({"<a>", "<a>"}));
    EXPECT_REFUSAL("'<|endoftext|>' is in the vocabulary already", bytes_with({"<|endoftext|>"}));
}

TEST(TrainTokenizer, TheSameTextsGiveTheSameFile) {
    const TempFolder folder;
    folder.file("data/a.txt", "the cat sat on the mat, the cat sat");
    folder.file("data/b.jsonl", R"({"prompt": "the cat", "completion": " sat on the mat"})");
    for (const char* name : {"one.gguf", "two.gguf"}) {
        const TrainedTokenizer trained = train_tokenizer({.size = 266}, folder / "data", {});
        EXPECT_EQ(trained.size, 266);
        EXPECT_EQ(trained.source.files, 2);
        write_tokenizer(trained.metadata, folder / name);
    }
    EXPECT_EQ(read_file(folder / "one.gguf"), read_file(folder / "two.gguf"));
}

TEST(TrainTokenizer, RefusesSizesThatCannotBe) {
    const TempFolder folder;
    const auto text = folder.file("a.txt", "aaab");
    EXPECT_REFUSAL("a vocabulary of 256 tokens has no room for the 256 bytes and 1 special",
                   train_tokenizer({.size = 256}, text, {}));
    EXPECT_REFUSAL("after 257 no pair of tokens occurs twice", train_tokenizer({.size = 300}, text, {}));
    EXPECT_REFUSAL("follows from the text", train_tokenizer({.kind = TokenizerKind::byte, .size = 300}, text, {}));
    EXPECT_REFUSAL("no such file", train_tokenizer({.size = 300}, folder / "none", {}));
    EXPECT_REFUSAL("is not UTF-8", train_tokenizer({.size = 300}, folder.file("b.txt", "\xFF"), {}));
}

}  // namespace
}  // namespace toy::test
