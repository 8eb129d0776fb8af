// What is encoded comes back: random Unicode, every byte, every token, long runs of one character.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>

#include "fixtures.h"
#include "small_vocabularies.h"
#include "text/pretokenizers.h"
#include "text/regex_split.h"
#include "text/utf8.h"
#include "vocabularies.h"

namespace toy::test {
namespace {

using Ids = std::vector<int32_t>;

// Vocabularies that hold every byte of valid UTF-8, in some way; bert and t5 normalise, so that theirs do not come
// back.
constexpr const char* lossless[] = {"aquila", "baichuan",  "command-r", "deepseek-coder", "deepseek-llm", "gemma-4",
                                    "gpt-2",  "llama-bpe", "llama-spm", "phi-3",          "qwen2",        "qwen35"};

std::string random_text(std::mt19937& random, size_t characters) {
    std::string text;
    const auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random()) % bound; };
    for (size_t i = 0; i < characters; ++i) {
        switch (below(8)) {
            case 0: utf8::append(text, below(0x80)); break;
            case 1: utf8::append(text, below(0x800)); break;
            case 2: utf8::append(text, below(0xD800)); break;
            case 3: utf8::append(text, 0xE000 + below(0x102000)); break;
            case 4: text += ' '; break;
            case 5: text += '\n'; break;
            default: utf8::append(text, 'a' + below(26)); break;
        }
    }
    return text;
}

TEST(RoundTrip, RandomUnicode) {
    for (const char* name : lossless) {
        const Tokenizer& tokenizer = vocabulary(name);
        std::mt19937 random(1);
        for (int round = 0; round < 200; ++round) {
            const std::string text = random_text(random, random() % 60);
            EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text) << name;
        }
    }
}

TEST(RoundTrip, FixtureTexts) {
    for (const char* name : lossless) {
        const Tokenizer& tokenizer = vocabulary(name);
        for (const std::string& text : fixture_texts()) {
            std::string expected = text;
            if (tokenizer.kind() != "gpt2") {  // these spell a space as "▁" and cannot tell the two apart
                for (size_t at; (at = expected.find("\u2581")) != expected.npos;) expected.replace(at, 3, " ");
            }
            EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), expected) << name;
        }
    }
}

TEST(RoundTrip, EveryByteAndRandomBytes) {
    for (const char* name : {"gpt-2", "llama-bpe", "llama-spm", "gemma-4", "qwen2"}) {
        const Tokenizer& tokenizer = vocabulary(name);
        for (int byte = 0; byte < 256; ++byte) {
            for (const std::string& around : {std::string(), std::string("a")}) {
                const std::string text = around + static_cast<char>(byte) + around;
                EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text) << name << ' ' << byte;
            }
        }
        std::mt19937 random(2);
        for (int round = 0; round < 100; ++round) {
            std::string text;
            for (size_t n = random() % 50; n > 0; --n) text += static_cast<char>(random() % 256);
            EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text) << name;
        }
    }
    // Where the vocabulary lacks a byte that no character has, it becomes U+FFFD.
    const Tokenizer& starcoder = vocabulary("starcoder");
    EXPECT_EQ(starcoder.decode(starcoder.encode("a\xFF"
                                                "b")),
              "a\uFFFDb");
    const Tokenizer& unigram = vocabulary("nomic-bert-moe");
    const Ids around_unknown = {*unigram.find("\u2581a"), *unigram.unknown(), *unigram.find("b")};
    EXPECT_EQ(unigram.encode("a\xFF"
                             "b",
                             {.add_special = false}),
              around_unknown);
    EXPECT_EQ(vocabulary("bert-bge")
                  .encode("a\xFF"
                          "b"),
              vocabulary("bert-bge").encode("ab"));
}

// As llama.cpp's test-tokenizer-1: the text of every token, encoded again, gives the same text.
class EveryToken : public testing::TestWithParam<const char*> {};

TEST_P(EveryToken, ComesBack) {
    const Tokenizer& tokenizer = vocabulary(GetParam());
    int failures = 0;
    for (int32_t id = 0; id < tokenizer.size(); ++id) {
        const std::string text = tokenizer.decode({&id, 1}, {.continuation = true});
        const std::string back = tokenizer.decode(tokenizer.encode(text, {.add_special = false}));
        if (back != text && ++failures < 5) ADD_FAILURE() << id << ": '" << text << "' gives '" << back << "'";
    }
    EXPECT_EQ(failures, 0);
}

INSTANTIATE_TEST_SUITE_P(All, EveryToken, testing::ValuesIn(lossless));

// lcpp#17786, #21113, #21257: std::regex overflows the stack on ten thousand repeats. Nothing here recurses, and a
// merge costs a logarithm: the test would run for hours if any step took the square of the length.
TEST(LongRuns, AreEncodedInLinearTime) {
    const std::vector<std::string> units = {"a",   "A",    " ", "\n",     "1", "!",      "\u4e2d",
                                            "ab ", "\t\n", "'", "\u00e9", "<", "a\u0301"};
    for (const char* name : {"gpt-2", "llama-bpe", "llama-spm", "gemma-4", "qwen2", "nomic-bert-moe", "bert-bge"}) {
        const Tokenizer& tokenizer = vocabulary(name);
        for (const std::string& unit : units) {
            std::string text;
            for (int i = 0; i < 100'000; ++i) text += unit;
            const Ids ids = tokenizer.encode(text, {.parse_special = true});
            const bool normalises = tokenizer.kind() == "t5" || tokenizer.kind() == "bert";
            EXPECT_TRUE(normalises || tokenizer.decode(ids) == text) << name << " '" << unit << "'";
        }
    }
}

TEST(LongRuns, EveryPreTokenizerStandsThem) {
    std::map<const void*, const PreTokenizer*> rules;
    for (const PreTokenizer& rule : all_pretokenizers()) rules.emplace(rule.steps.data(), &rule);
    for (const auto& [steps, rule] : rules) {
        const RegexSplit split(rule->steps);
        for (const char* unit :
             {"a", "A", " ", "\n", "1", "!", "\u4e2d", "a ", "'s", "1a", "a\u0301", "\u0301", "\r", "/"}) {
            std::string text;
            for (int i = 0; i < 20'000; ++i) text += unit;
            for (const char* end : {"", "x", "1", "\n"}) {
                std::vector<std::string_view> words;
                split.split(text + end, words);
                size_t total = 0;
                for (const std::string_view word : words) total += word.size();
                const bool drops = rule->steps[0].kind == SplitStep::Kind::pattern_only;
                EXPECT_TRUE(drops || total == text.size() + std::string_view(end).size())
                    << rule->name << " '" << unit << "'";
            }
        }
    }
}

TEST(Threads, ShareOneTokenizer) {
    for (const char* name : {"llama-bpe", "llama-spm", "nomic-bert-moe", "bert-bge"}) {
        const Tokenizer& tokenizer = vocabulary(name);
        std::vector<Ids> expected;
        for (const std::string& text : fixture_texts()) expected.push_back(tokenizer.encode(text));
        std::vector<std::thread> threads;
        std::vector<int> wrong(4, 0);
        for (int& count : wrong) {
            threads.emplace_back([&] {
                for (size_t i = 0; i < fixture_texts().size(); ++i) {
                    count += tokenizer.encode(fixture_texts()[i]) != expected[i];
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        EXPECT_EQ(wrong, std::vector<int>(4, 0)) << name;
    }
}

}  // namespace
}  // namespace toy::test
