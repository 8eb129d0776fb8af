#include "text/detokenizer.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "fixtures.h"
#include "small_vocabularies.h"
#include "text/utf8.h"
#include "vocabularies.h"

namespace toy::test {
namespace {

using Ids = std::vector<int32_t>;

std::string streamed(const Tokenizer& tokenizer, const Ids& ids) {
    Detokenizer stream(tokenizer);
    std::string text;
    for (const int32_t id : ids) {
        const std::string part = stream.push(id);
        EXPECT_EQ(utf8::valid_prefix(part), part.size());
        text += part;
    }
    return text + stream.finish();
}

TEST(Detokenizer, HoldsBackHalfCharacters) {
    const auto tokenizer = Tokenizer::from_metadata(small_llama());
    const auto byte = [](int value) { return 3 + value; };
    Detokenizer stream(*tokenizer);
    EXPECT_EQ(stream.push(byte('a')), "a");
    EXPECT_EQ(stream.push(byte(0xF0)), "");
    EXPECT_EQ(stream.push(byte(0x9F)), "");
    EXPECT_EQ(stream.push(byte(0x98)), "");
    EXPECT_EQ(stream.push(byte(0x80)), "\U0001F600");
    EXPECT_EQ(stream.push(byte(0xC3)), "");
    EXPECT_EQ(stream.push(byte('b')), "\uFFFDb");  // it will never be complete
    EXPECT_EQ(stream.push(byte(0x80)), "\uFFFD");
    EXPECT_EQ(stream.push(byte(0xE4)), "");
    EXPECT_EQ(stream.push(byte(0xB8)), "");
    EXPECT_EQ(stream.finish(), "\uFFFD\uFFFD");
    EXPECT_EQ(stream.finish(), "");
    EXPECT_EQ(stream.push(byte('c')), "c");
}

TEST(Detokenizer, EqualsDecodeOnText) {
    for (const char* name : {"gpt-2", "llama-spm", "gemma-4", "qwen2", "nomic-bert-moe"}) {
        const Tokenizer& tokenizer = vocabulary(name);
        for (const std::string& text : fixture_texts()) {
            const Ids ids = tokenizer.encode(text);
            EXPECT_EQ(streamed(tokenizer, ids), tokenizer.decode(ids));
        }
    }
}

TEST(Detokenizer, AnyIdsGiveValidText) {
    const Tokenizer& tokenizer = vocabulary("gpt-2");
    uint32_t state = 7;
    for (int round = 0; round < 200; ++round) {
        Ids ids;
        for (int i = 0; i < 40; ++i) {
            state = state * 1664525 + 1013904223;
            ids.push_back(static_cast<int32_t>((state >> 8) % (round % 2 ? 256u : 50257u)));
        }
        EXPECT_EQ(streamed(tokenizer, ids), utf8::repaired(tokenizer.decode(ids)));
    }
}

// A token spelled with a leading space loses it at the start of a text and after BOS, and nowhere else.
TEST(LeadingSpace, IsDroppedOnceAndOnlyAtTheStart) {
    const auto tokenizer = Tokenizer::from_metadata(small_llama());
    const int32_t bos = 1, eos = 2, hi = *tokenizer->find("\u2581hi"), space = *tokenizer->find("\u2581");
    EXPECT_EQ(tokenizer->decode(Ids{hi, hi}), "hi hi");
    EXPECT_EQ(tokenizer->decode(Ids{bos, hi, hi}), "hi hi");
    EXPECT_EQ(tokenizer->decode(Ids{bos, space, hi}), " hi");
    EXPECT_EQ(tokenizer->decode(Ids{hi, bos, hi}), "hihi");
    EXPECT_EQ(tokenizer->decode(Ids{hi, eos, hi}), "hi hi");
    EXPECT_EQ(tokenizer->decode(Ids{hi, hi}, {.continuation = true}), " hi hi");
    EXPECT_EQ(tokenizer->decode(Ids{bos, hi}, {.continuation = true}), "hi");
    EXPECT_EQ(tokenizer->decode(Ids{bos, hi, eos}, {.render_special = true}), "<s>hi</s>");

    EXPECT_EQ(Detokenizer(*tokenizer).push(hi), "hi");
    EXPECT_EQ(Detokenizer(*tokenizer, Ids{bos}).push(hi), "hi");
    EXPECT_EQ(Detokenizer(*tokenizer, Ids{bos, hi}).push(hi), " hi");  // the continuation of a prompt
    EXPECT_EQ(Detokenizer(*tokenizer, {}, true).push(eos), "</s>");
    EXPECT_EQ(Detokenizer(*tokenizer).push(eos), "");
    EXPECT_THROW(Detokenizer(*tokenizer).push(9999), Error);

    Metadata without = small_llama();
    set(without, "add_space_prefix", false);
    EXPECT_EQ(Tokenizer::from_metadata(without)->decode(Ids{hi}), " hi");
    EXPECT_EQ(vocabulary("gpt-2").decode(vocabulary("gpt-2").encode(" hello")), " hello");
}

}  // namespace
}  // namespace toy::test
