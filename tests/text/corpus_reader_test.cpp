// From files to documents: what is to be predicted, how validation is split off, and what is refused.
#include "text/corpus_reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/sha256.h"
#include "core/temp_folder.h"
#include "refusal.h"
#include "small_vocabularies.h"
#include "text/document_encoder.h"
#include "text/train_tokenizer.h"

namespace toy::test {
namespace {

using Ids = std::vector<int32_t>;
constexpr int32_t end = 256;  // "<|endoftext|>" of the byte tokenizer

std::shared_ptr<const Tokenizer> bytes() {
    static const auto tokenizer = Tokenizer::from_metadata(make_byte_tokenizer({}));
    return tokenizer;
}

/// A document as text: what is to be predicted in capitals, "$" for the end of text.
std::string shown(const Corpus& corpus, size_t document) {
    std::string text;
    const TokenRange range = corpus.documents.at(document);
    for (int64_t at = range.begin; at < range.end; ++at) {
        const int32_t id = corpus.id(at);
        const char c = id == end ? '$' : static_cast<char>(id);
        text += corpus.is_target(at) ? static_cast<char>(std::toupper(c)) : c;
    }
    return text;
}

std::vector<std::string> shown(const Corpus& corpus) {
    std::vector<std::string> result;
    for (size_t i = 0; i < corpus.documents.size(); ++i) result.push_back(shown(corpus, i));
    return result;
}

using Texts = std::vector<std::string>;

/// "user: " and so on stand for a template; what the assistant says and the end are to be predicted.
struct Template {
    bool marks_all = false, marks_none = false, refuses = false;
    Document encode(const nlohmann::ordered_json& messages) const {
        if (refuses) bad_input("the template wants a system message first");
        Document document;
        for (const auto& message : messages) {
            const bool says = (message["role"] == "assistant" || marks_all) && !marks_none;
            document.append(bytes()->encode(message["role"].get<std::string>().substr(0, 1) + ":"), marks_all);
            document.append(bytes()->encode(message["content"].get<std::string>()), says);
            document.append(end, says);
        }
        return document;
    }
};

TEST(CorpusReader, AFolderIsADocumentAFile) {
    const TempFolder folder;
    folder.file("b.txt", "two");
    folder.file("a/c.txt", "one");
    folder.file("z.jsonl", "{\"text\": \"three\"}\n{\"prompt\": \"four \", \"completion\": \"five\"}\n");
    const LoadedCorpus loaded = read_corpus(folder.path(), *bytes(), {});
    EXPECT_EQ(shown(loaded.train), (Texts{"ONE$", "TWO$", "THREE$", "four FIVE$"}));
    EXPECT_TRUE(loaded.validation.documents.empty());
    const CorpusCounts counts = loaded.train.count();
    EXPECT_EQ(counts.documents, 4);
    EXPECT_EQ(counts.tokens, 4 + 4 + 6 + 10);
    EXPECT_EQ(counts.targets, 3 + 3 + 5 + 5);
    EXPECT_EQ(loaded.source.files, 3);
    EXPECT_EQ(loaded.source.bytes, 3 + 3 + 60);
}

// ... as `sha256sum` prints it for a file, and for a folder of the list that it prints.
TEST(CorpusReader, SumsUpWhatWasRead) {
    const TempFolder folder;
    folder.file("b.txt", "two");
    folder.file("a/c.txt", "one");
    EXPECT_EQ(read_corpus(folder / "b.txt", *bytes(), {}).source.sha256, sha256_hex("two"));
    const std::string list = sha256_hex("one") + "  a/c.txt\n" + sha256_hex("two") + "  b.txt\n";
    const std::string sum = read_corpus(folder.path(), *bytes(), {}).source.sha256;
    EXPECT_EQ(sum, sha256_hex(list));
    folder.file("b.txt", "twO");
    EXPECT_NE(read_corpus(folder.path(), *bytes(), {}).source.sha256, sum);
    EXPECT_EQ(read_texts(folder.path(), {}, [](std::string_view) {}).sha256,
              read_corpus(folder.path(), *bytes(), {}).source.sha256);
}

TEST(CorpusReader, ASingleTextIsSplitByPosition) {
    const TempFolder folder;
    const auto path = folder.file("a.txt", "abcdefghij");
    EXPECT_EQ(shown(read_corpus(path, *bytes(), {}).train), Texts{"ABCDEFGHIJ$"});
    const LoadedCorpus loaded = read_corpus(path, *bytes(), {.val_fraction = 0.3});
    EXPECT_EQ(shown(loaded.train), Texts{"ABCDEFG"});
    EXPECT_EQ(shown(loaded.validation), Texts{"HIJ"});
}

// llama3-like BPE would have a token across the cut if the text were encoded first.
TEST(CorpusReader, ASingleTextIsSplitBeforeItIsEncoded) {
    const TempFolder folder;
    const auto tokenizer = Tokenizer::from_metadata(small_gpt2());
    const auto path = folder.file("a.txt", "hellohello");
    const LoadedCorpus loaded = read_corpus(path, *tokenizer, {.val_fraction = 0.2});
    EXPECT_EQ(tokenizer->decode(Ids{loaded.validation.id(loaded.validation.documents[0].begin)}), "l");
    EXPECT_EQ(loaded.validation.count().tokens, 2);
}

TEST(CorpusReader, DocumentsAreSplitWhole) {
    const TempFolder folder;
    std::string lines;
    for (char c = 'a'; c <= 'z'; ++c) lines += std::string("{\"text\": \"") + c + c + "\"}\n";
    const auto path = folder.file("a.jsonl", lines);
    const LoadedCorpus loaded = read_corpus(path, *bytes(), {.val_fraction = 0.2});
    EXPECT_EQ(loaded.validation.documents.size(), 5u);
    EXPECT_EQ(loaded.train.documents.size(), 21u);
    std::set<std::string> all;
    for (const std::string& text : shown(loaded.train)) all.insert(text);
    for (const std::string& text : shown(loaded.validation)) all.insert(text);
    EXPECT_EQ(all.size(), 26u);
    EXPECT_EQ(shown(read_corpus(path, *bytes(), {.val_fraction = 0.2}).validation), shown(loaded.validation));
    // However small or large the fraction, both parts get something.
    EXPECT_EQ(read_corpus(path, *bytes(), {.val_fraction = 0.001}).validation.documents.size(), 1u);
    EXPECT_EQ(read_corpus(path, *bytes(), {.val_fraction = 0.999}).train.documents.size(), 1u);
}

TEST(CorpusReader, ReadsPacks) {
    const TempFolder folder;
    const std::string u16("\1\0\2\0\3\0\4\0\5\0\3\0", 12);
    const auto path = folder.file("train.bin", u16);
    const LoadedCorpus loaded = read_pack(path, 6, {.document_end = 3});
    ASSERT_EQ(loaded.train.documents.size(), 2u);
    EXPECT_EQ(loaded.train.documents[0].size(), 3);
    EXPECT_EQ(loaded.train.count().targets, 4);
    EXPECT_EQ(loaded.source.sha256, sha256_hex(u16));
    EXPECT_EQ(read_pack(path, 6, {}).train.documents.size(), 1u);
    const LoadedCorpus split = read_corpus(path, *bytes(), {.val_fraction = 0.5});
    EXPECT_EQ(split.train.count().tokens, 3);
    EXPECT_EQ(split.validation.id(split.validation.documents[0].begin), 4);
    EXPECT_REFUSAL("the id 5 at byte offset 8", read_pack(path, 5, {}));
    EXPECT_REFUSAL("the id 9 that ends documents is outside", read_pack(path, 6, {.document_end = 9}));
    // A header is no guess: TOYC is told by it whatever the extension is.
    const std::string toyc = std::string("TOYC\1\0\0\0\6\0\0\0\0\0\0\0", 16) + std::string("\1\0\0\0\5\0\0\0", 8);
    EXPECT_EQ(read_pack(folder.file("corpus.bin", toyc), 6, {}).train.count().tokens, 2);
    EXPECT_REFUSAL("trains on packs of token ids only", read_pack(folder.file("a.txt", "x"), 6, {}));
    EXPECT_REFUSAL("holds token ids, no text", read_texts(path, {}, [](std::string_view) {}));
}

// Test rows of traps.md B10: Megatron-Bridge#3359 (all is predicted), liquid-finetune#37, trl#4147 and #4201,
// Qwen3#1522, PraisonAI#4358 (nothing is, or the prompt is), trl#5988 (the end of the turn is not).
TEST(CorpusReader, OnlyWhatTheAssistantSaysIsPredicted) {
    const TempFolder folder;
    const std::string line =
        R"({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]})";
    const auto path = folder.file("a.jsonl", line + "\n" + line);
    Template encoder;
    const CorpusOptions options{.conversations = [&](const auto& messages) { return encoder.encode(messages); }};
    EXPECT_EQ(shown(read_corpus(path, *bytes(), options).train)[0], "u:hi$a:HO$");
    const Corpus corpus = read_corpus(path, *bytes(), options).train;
    const int64_t last = corpus.documents[0].end - 1;
    EXPECT_TRUE(corpus.id(last) == end && corpus.is_target(last));
    EXPECT_FALSE(corpus.is_target(4));  // the end of the user's turn

    EXPECT_REFUSAL("a.jsonl: line 1: 'messages' need a chat template", read_corpus(path, *bytes(), {}));
    encoder.marks_all = true;
    EXPECT_REFUSAL("a.jsonl: line 1: everything of the conversation would be predicted",
                   read_corpus(path, *bytes(), options));
    encoder.marks_all = false;
    encoder.marks_none = true;
    EXPECT_REFUSAL("a.jsonl: line 1: nothing of the conversation is to be predicted",
                   read_corpus(path, *bytes(), options));
    encoder.marks_none = false;
    encoder.refuses = true;
    EXPECT_REFUSAL("a.jsonl: line 1: the template wants a system message first", read_corpus(path, *bytes(), options));
}

TEST(CorpusReader, ACompletionIsPredictedWithItsEnd) {
    const DocumentEncoder encoder(*bytes(), {});
    const Document document = encoder.completion("ab", "c");
    EXPECT_EQ(document.ids, (Ids{'a', 'b', 'c', end}));
    EXPECT_EQ(document.is_target, (std::vector<bool>{false, false, true, true}));  // trl#5988: the end too
    EXPECT_EQ(encoder.completion("ab", "").is_target, (std::vector<bool>{false, false, true}));

    Metadata endless = small_gpt2();
    endless.erase("tokenizer.ggml.eos_token_id");
    const auto tokenizer = Tokenizer::from_metadata(endless);
    EXPECT_REFUSAL("need an end-of-text token", DocumentEncoder(*tokenizer, {}).completion("a", "b"));
}

// SentencePiece's tokenizers put a space before a text, but a completion goes on where the prompt ends.
TEST(CorpusReader, ACompletionGetsNoSpaceOfItsOwn) {
    const auto tokenizer = Tokenizer::from_metadata(small_llama());
    const Document document = DocumentEncoder(*tokenizer, {}).completion("h", "i");
    EXPECT_EQ(tokenizer->decode(document.ids), "hi");
    EXPECT_EQ(document.ids.front(), *tokenizer->bos());
    EXPECT_FALSE(document.is_target.front());
    EXPECT_EQ(document.ids.back(), *tokenizer->eos());
    EXPECT_EQ(DocumentEncoder(*tokenizer, {}).text("hi").ids,
              (Ids{*tokenizer->bos(), *tokenizer->find("\u2581hi"), *tokenizer->eos()}));
    EXPECT_TRUE(DocumentEncoder(*tokenizer, {}).text("hi").is_target[2]);
}

TEST(CorpusReader, ControlTokensInATextAreTextUnlessAskedFor) {
    EXPECT_EQ(DocumentEncoder(*bytes(), {}).stretch("<|endoftext|>").ids.size(), 13u);
    EXPECT_EQ(DocumentEncoder(*bytes(), {.parse_special = true}).stretch("<|endoftext|>").ids, Ids{end});
}

// ainode#186 and #213: training on nothing reported as success.
TEST(CorpusReader, NothingToTrainOnIsAnError) {
    const TempFolder folder;
    const auto empty = folder.file("empty.txt", "");
    EXPECT_REFUSAL("empty.txt: is empty", read_corpus(empty, *bytes(), {}));
    EXPECT_REFUSAL("empty.txt: is empty", read_corpus(folder.path(), *bytes(), {}));
    EXPECT_REFUSAL("no such file", read_corpus(folder / "none", *bytes(), {}));
    const auto blank = folder.file("a.jsonl", "\n \n");
    EXPECT_REFUSAL("a.jsonl: holds no token to train on", read_corpus(blank, *bytes(), {}));
    EXPECT_REFUSAL("holds no token to train on",
                   read_corpus(folder.file("b.jsonl", "{\"text\": \"\"}\n"), *bytes(), {}));
    const auto single = folder.file("one.u16", std::string("\1\0", 2));
    EXPECT_REFUSAL("holds no token to train on", read_pack(single, 6, {}));
    const auto text = folder.file("text.txt", "abc");
    EXPECT_REFUSAL("leaves no token to validate with", read_corpus(text, *bytes(), {.val_fraction = 0.01}));
    EXPECT_REFUSAL("holds no token to train on", read_corpus(text, *bytes(), {.val_fraction = 0.99}));
    EXPECT_REFUSAL("not in [0, 1)", read_corpus(text, *bytes(), {.val_fraction = 1}));
    EXPECT_REFUSAL("not in [0, 1)", read_corpus(text, *bytes(), {.val_fraction = std::nan("")}));
    EXPECT_REFUSAL("bad.txt: is not UTF-8: the byte 0xFF at offset 1",
                   read_corpus(folder.file("bad.txt", "a\xFF"), *bytes(), {}));
    // Documents that teach nothing are counted, not hidden.
    const auto some = folder.file("some.jsonl", "{\"text\": \"\"}\n{\"text\": \"a\"}\n");
    EXPECT_EQ(read_corpus(some, *bytes(), {}).train.count().documents_without_target, 1);
}

TEST(CorpusReader, NamesTheFileOfACharacterThatTheVocabularyLacks) {
    const TempFolder folder;
    const std::u32string known = U"ab ";
    const auto tokenizer = Tokenizer::from_metadata(make_character_tokenizer(known, {}));
    EXPECT_REFUSAL("a.txt: the model's vocabulary has no token for the character 'c' (U+0063)",
                   read_corpus(folder.file("a.txt", "abc"), *tokenizer, {}));
    EXPECT_REFUSAL("a.jsonl: line 2: the model's vocabulary has no token for the character '\u00e9' (U+00E9)",
                   read_corpus(folder.file("a.jsonl", "{\"text\":\"a\"}\n{\"text\":\"\\u00e9\"}"), *tokenizer, {}));
}

TEST(CorpusReader, TellsHowFarItIs) {
    const TempFolder folder;
    folder.file("a.txt", "abc");
    folder.file("b.txt", "de");
    std::vector<std::pair<int64_t, int64_t>> told;
    read_corpus(folder.path(), *bytes(), {.progress = [&](int64_t a, int64_t b) { told.emplace_back(a, b); }});
    EXPECT_EQ(told, (std::vector<std::pair<int64_t, int64_t>>{{3, 5}, {5, 5}}));
}

}  // namespace
}  // namespace toy::test
