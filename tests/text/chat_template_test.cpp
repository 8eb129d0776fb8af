// Chat templates from the metadata of a file, and how their text becomes ids.
#include "text/chat_template.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "core/error.h"
#include "small_vocabularies.h"
#include "vocabularies.h"

namespace toy {
namespace {

using test::refusal;
using Json = ChatTemplate::Json;

Metadata with_template(Metadata metadata, const std::string& source) {
    metadata.set("tokenizer.chat_template", Value(source));
    return metadata;
}

const Json k_hello = Json::array({{{"role", "user"}, {"content", "hello"}}});

std::string sentence(const std::function<void()>& act) {
    try {
        act();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

std::string rendered(const Metadata& metadata, const Json& messages, const ChatTemplate::Options& options = {}) {
    const auto tokenizer = Tokenizer::from_metadata(metadata);
    return ChatTemplate::from_metadata(metadata, *tokenizer).render(messages, options);
}

TEST(ChatTemplate, IsReadFromTheFileWithItsVariants) {
    Metadata metadata = with_template(test::small_llama(), "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}");
    metadata.set("tokenizer.chat_template.tool_use", Value(std::string("{{ tools | length }}")));
    EXPECT_EQ(rendered(metadata, k_hello), "<s>hello</s>");
    EXPECT_EQ(ChatTemplate::variants(metadata), std::vector<std::string>{"tool_use"});
    const auto tokenizer = Tokenizer::from_metadata(metadata);
    EXPECT_EQ(
        ChatTemplate::from_metadata(metadata, *tokenizer, "tool_use").render(k_hello, {.tools = Json::array({1, 2})}),
        "2");
    const auto missing = sentence([&] { ChatTemplate::from_metadata(metadata, *tokenizer, "rag"); });
    EXPECT_EQ(missing,
              "small.gguf: has no key 'tokenizer.chat_template.rag'; its other chat templates are: 'tool_use'");
}

// Never another template in its place: a wrong one makes a model look stupid without a word (lcpp#7062).
TEST(ChatTemplate, ModelsWithoutOneAreRefusedByName) {
    const Metadata metadata = test::small_llama();
    EXPECT_FALSE(ChatTemplate::is_present(metadata));
    EXPECT_EQ(sentence([&] { rendered(metadata, k_hello); }),
              "small.gguf: has no chat template (key 'tokenizer.chat_template'), so it cannot take conversations");
}

TEST(ChatTemplate, SentencesNameTheFileAndTheLine) {
    EXPECT_EQ(sentence([] { rendered(with_template(test::small_llama(), "\n{% if %}"), k_hello); }),
              "small.gguf: chat template, line 2: expected an expression, found %}");
    EXPECT_EQ(sentence([] { rendered(with_template(test::small_llama(), "{{ raise_exception('no') }}"), k_hello); }),
              "small.gguf: chat template, line 1: the template refuses this conversation: 'no'");
    const Metadata plain = with_template(test::small_llama(), "x");
    EXPECT_EQ(sentence([&] { rendered(plain, Json("hi")); }), "the messages of a conversation are no array");
    EXPECT_EQ(sentence([&] { rendered(plain, Json::array({1})); }), "message 1 is no object");
    EXPECT_EQ(sentence([&] {
                  rendered(plain, Json::array({{{"content", "x"}}}));
              }),
              "message 1 has no \"role\" that is a text");
}

TEST(ChatTemplate, SeesWhatTransformersPasses) {
    const auto show = [](const std::string& source, const ChatTemplate::Options& options) {
        return rendered(with_template(test::small_llama(), source), k_hello, options);
    };
    EXPECT_EQ(show("{{ tools is none }} {{ documents is none }} {{ pad_token is defined }} {{ unk_token }}", {}),
              "True True False <unk>");
    EXPECT_EQ(show("{{ add_generation_prompt }}", {.add_generation_prompt = false}), "False");
    EXPECT_EQ(show("{{ enable_thinking }}", {.extra = {{"enable_thinking", false}}}), "False");
    std::tm day = {};
    day.tm_year = 100;
    day.tm_mday = 1;
    EXPECT_EQ(show("{{ strftime_now('%Y-%m-%d') }}", {.now = day}), "2000-01-01");
}

// unsloth#3899, #695, #7792: BOS by the template and by the tokenizer would be two, in training or at inference only.
TEST(ChatTemplate, BosComesOnce) {
    const Metadata metadata = with_template(test::small_llama(), "{{ bos_token }}{{ messages[0].content }}");
    const auto tokenizer = Tokenizer::from_metadata(metadata);
    ASSERT_TRUE(tokenizer->add_bos());
    const auto count = [&](std::string_view text) {
        const std::vector<int32_t> ids = encode_chat(*tokenizer, text);
        return std::count(ids.begin(), ids.end(), 1);
    };
    EXPECT_EQ(count(rendered(metadata, k_hello)), 1);
    EXPECT_EQ(count("hello"), 1);  // a template that writes none
    EXPECT_EQ(count(""), 1);
}

// lcpp#8655: one space more or less, and the model sees another prompt.
TEST(ChatTemplate, MistralNemoPutsNoSpaceBehindInst) {
    const std::string path = std::string(TOY_VOCAB_DIR) + "/templates/mistralai-Mistral-Nemo-Instruct-2407.jinja";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path << ": run scripts/bootstrap.sh";
    const Metadata metadata = with_template(test::small_llama(), test::read_file(path));
    Json messages = k_hello;
    messages.push_back({{"role", "assistant"}, {"content", "hi"}});
    messages.push_back(k_hello[0]);
    EXPECT_EQ(rendered(metadata, messages), "<s>[INST]hello[/INST]hi</s>[INST]hello[/INST]");
}

// lcpp#15110: of gpt-oss's earlier answers, only the final channel is content; its analysis stays out.
TEST(ChatTemplate, GptOssLeavesEarlierReasoningOut) {
    const std::string path = std::string(TOY_VOCAB_DIR) + "/templates/openai-gpt-oss-120b.jinja";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path << ": run scripts/bootstrap.sh";
    const Metadata metadata = with_template(test::small_llama(), test::read_file(path));
    Json messages = k_hello;
    messages.push_back({{"role", "assistant"}, {"content", "hi"}, {"thinking", "A secret."}});
    messages.push_back(k_hello[0]);
    const std::string text = rendered(metadata, messages);
    EXPECT_EQ(text.find("A secret."), std::string::npos);
    EXPECT_NE(text.find("<|start|>assistant<|channel|>final<|message|>hi<|end|>"), std::string::npos);
}

}  // namespace
}  // namespace toy
