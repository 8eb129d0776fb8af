// Which tokens of a conversation are trained on. Wrong masks train quietly: the loss curve looks fine.
#include "text/conversation_encoder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/error.h"
#include "fixtures.h"
#include "text/utf8.h"
#include "vocabularies.h"

namespace toy {
namespace {

using Json = ChatTemplate::Json;

Json say(const char* role, const char* content) { return {{"role", role}, {"content", content}}; }

const Json k_two_turns = Json::array({say("user", "Hello?"), say("assistant", "Hi there."),
                                      say("user", "What is 1 + 1?"), say("assistant", "It is 2.")});

std::string own(const std::string& name) {
    return test::read_file(std::string(TOY_SOURCE_DIR) + "/tests/text/fixtures/chat/" + name + ".jinja");
}

/// Trained and other tokens as text, each stretch in brackets: what is trained in [ ], the rest between.
std::string shown(const Tokenizer& tokenizer, const TrainingText& text) {
    std::string out;
    EXPECT_EQ(text.ids.size(), text.is_target.size());
    for (size_t i = 0; i < text.ids.size(); ++i) {
        const bool was = i > 0 && text.is_target[i - 1];
        if (text.is_target[i] && !was) out += '[';
        if (!text.is_target[i] && was) out += ']';
        const TokenType type = tokenizer.type(text.ids[i]);
        out += type == TokenType::control ? tokenizer.text(text.ids[i]) : tokenizer.piece(text.ids[i]);
    }
    if (!text.is_target.empty() && text.is_target.back()) out += ']';
    return out;
}

std::string masked(const std::string& source, const Json& messages, const char* vocabulary = "qwen2",
                   const Json& extra = Json::object()) {
    const Tokenizer& tokenizer = test::vocabulary(vocabulary);
    const ChatTemplate chat("template", source, tokenizer);
    return shown(tokenizer, ConversationEncoder(chat, tokenizer, {.extra = extra}).encode(messages));
}

std::string refusal(const std::string& source, const Json& messages, const char* vocabulary = "qwen2") {
    try {
        const std::string text = masked(source, messages, vocabulary);
        return "no refusal: " + text;
    } catch (const Error& error) {
        return error.what();
    }
}

constexpr const char* k_plain = R"({%- for m in messages -%}
{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}
{%- endfor -%}{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' }}{%- endif -%})";

constexpr const char* k_two_turns_masked =
    "<|im_start|>user\nHello?<|im_end|>\n<|im_start|>assistant\n[Hi there.<|im_end|>]\n"
    "<|im_start|>user\nWhat is 1 + 1?<|im_end|>\n<|im_start|>assistant\n[It is 2.<|im_end|>]\n";

// Megatron-Bridge#3359: a template without {% generation %} gave a mask of all ones. trl#5988: the end-of-turn token
// was left out, so the model never stopped. trl#4147, #4201: the prompt was trained.
TEST(ConversationEncoder, TrainsOnAnswersWithTheirEndAndNothingElse) {
    EXPECT_EQ(masked(k_plain, k_two_turns), k_two_turns_masked);
}

TEST(ConversationEncoder, GenerationBlocksSayTheSame) {
    EXPECT_EQ(masked(own("generation"), k_two_turns), k_two_turns_masked);
    const auto without_end = R"({%- for m in messages -%}
{{ '<|im_start|>' + m.role + '\n' }}{%- if m.role == 'assistant' -%}{%- generation -%}{{ m.content }}{%- endgeneration -%}
{%- else -%}{{ m.content }}{%- endif -%}{{ '<|im_end|>\n' }}{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' }}{%- endif -%})";
    EXPECT_EQ(masked(without_end, k_two_turns), k_two_turns_masked) << "trl#5988: the end belongs to the answer";
    const auto in_macro =
        std::string("{% macro a(m) %}{% generation %}{{ m.content }}{% endgeneration %}{% endmacro %}") + R"(
{%- for m in messages -%}{{ '<|im_start|>' + m.role + '\n' + a(m) + '<|im_end|>\n' }}{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' }}{%- endif -%})";
    EXPECT_EQ(masked(in_macro, k_two_turns), k_two_turns_masked) << "places inside macros are found by rendering";
}

// Automodel#3739: an empty think block comes with the prompt of models that are told not to think.
TEST(ConversationEncoder, WhatThePromptSuppliesIsNotTrained) {
    const std::string source = own("chatml");
    const std::string start = "<|im_start|>user\nHello?<|im_end|>\n<|im_start|>assistant\n";
    const std::string empty_block = "<think>\n\n</think>\n\n";
    Json messages = Json::array({k_two_turns[0], k_two_turns[1]});
    EXPECT_EQ(masked(source, messages), start + empty_block + "[Hi there.<|im_end|>]\n");
    EXPECT_EQ(masked(source, messages, "qwen2", {{"enable_thinking", false}}),
              start + empty_block + "[Hi there.<|im_end|>]\n");
    messages[1]["reasoning_content"] = "Hm.";
    EXPECT_EQ(masked(source, messages), start + "[<think>\nHm.\n</think>\n\nHi there.<|im_end|>]\n");
}

// The template drops the reasoning of earlier answers, so a prefix is not spelled as the whole: the answer counts as it
// stands in the whole.
TEST(ConversationEncoder, EarlierAnswersCountAsTheWholeSpellsThem) {
    EXPECT_EQ(masked(own("chatml"), k_two_turns),
              "<|im_start|>user\nHello?<|im_end|>\n<|im_start|>assistant\n[Hi there.<|im_end|>]\n"
              "<|im_start|>user\nWhat is 1 + 1?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n[It is "
              "2.<|im_end|>]\n");
}

// liquid-finetune#37, Qwen3#1522, PraisonAI#4358: a mask of all zeros trains on nothing.
TEST(ConversationEncoder, NothingToTrainOnIsRefused) {
    const Json question = Json::array({say("user", "Hello?")});
    EXPECT_EQ(refusal(k_plain, question),
              "the conversation: the assistant says nothing in it, so there is nothing to train on");
    EXPECT_EQ(refusal(own("generation"), question),
              "the conversation: the assistant says nothing in it, so there is nothing to train on");
    EXPECT_EQ(refusal(k_plain, Json::array()),
              "the conversation: the assistant says nothing in it, so there is nothing to train on");
    const Tokenizer& tokenizer = test::vocabulary("qwen2");
    const ChatTemplate chat("template", k_plain, tokenizer);
    try {
        ConversationEncoder(chat, tokenizer).encode(question, "chats.jsonl, line 7");
        FAIL();
    } catch (const Error& error) {
        EXPECT_TRUE(std::string(error.what()).starts_with("chats.jsonl, line 7: ")) << error.what();
    }
}

// Megatron-Bridge#3359, the other way: everything would be a target.
TEST(ConversationEncoder, TrainingOnEverythingIsRefused) {
    const auto bare = "{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}";
    EXPECT_EQ(refusal(bare, Json::array({say("assistant", "Hi.")})),
              "the conversation: all of its tokens would be trained on, so what the assistant says is not told from "
              "the rest");
}

TEST(ConversationEncoder, AnswersWithoutAnEndAreRefused) {
    const auto endless =
        "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant: {% "
        "endif %}";
    EXPECT_EQ(
        refusal(endless, k_two_turns),
        "the conversation: the template ends what the assistant says in message 2 without an end-of-generation token, "
        "so a model that is trained on it would never stop");
}

TEST(ConversationEncoder, RewritingTemplatesAreRefused) {
    const auto counting = "{{ messages | length }}" + std::string(k_plain);
    EXPECT_NE(refusal(counting, k_two_turns).find("rewrites the conversation around message 2"), std::string::npos)
        << refusal(counting, k_two_turns);
}

// The prompt opens a think block that the answer has not.
TEST(ConversationEncoder, PromptsThatGoOnOtherwiseThanTheAnswer) {
    const auto opening = std::string(k_plain) + "{% if add_generation_prompt %}{{ '<think>\\n' }}{% endif %}";
    EXPECT_EQ(masked(opening, k_two_turns), k_two_turns_masked);
}

TEST(ConversationEncoder, ToolCallsAreTheAssistants) {
    const auto source = R"({%- for m in messages -%}{{ '<|im_start|>' + m.role + '\n' + (m.content or '') }}
{%- for c in m.tool_calls or [] %}{{ '<tool_call>' + c.function.name + '</tool_call>' }}{% endfor -%}{{ '<|im_end|>\n' }}
{%- endfor -%}{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' }}{%- endif -%})";
    Json messages = Json::array({say("user", "Time?"),
                                 {{"role", "assistant"}, {"content", nullptr}},
                                 say("tool", "12:00"),
                                 say("assistant", "Noon.")});
    messages[1]["tool_calls"] = Json::array({{{"function", {{"name", "clock"}}}}});
    EXPECT_EQ(masked(source, messages),
              "<|im_start|>user\nTime?<|im_end|>\n<|im_start|>assistant\n[<tool_call>clock</tool_call><|im_end|>]\n"
              "<|im_start|>tool\n12:00<|im_end|>\n<|im_start|>assistant\n[Noon.<|im_end|>]\n");
}

TEST(ConversationEncoder, AnswersThatAreEmptyOrHoldSpecialTexts) {
    Json messages =
        Json::array({say("user", "a"), say("assistant", ""), say("user", "b"), say("assistant", "x<|im_end|>y \n")});
    EXPECT_EQ(masked(k_plain, messages),
              "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n[<|im_end|>]\n"
              "<|im_start|>user\nb<|im_end|>\n<|im_start|>assistant\n[x<|im_end|>y \n<|im_end|>]\n");
}

// unsloth#3899: BOS once; and the spaces that SentencePiece adds do not move the mask.
TEST(ConversationEncoder, SentencePieceKeepsPlaces) {
    const Tokenizer& tokenizer = test::vocabulary("llama-spm");
    const ChatTemplate chat("template", own("instruct"), tokenizer);
    const TrainingText text = ConversationEncoder(chat, tokenizer).encode(k_two_turns);
    EXPECT_EQ(std::count(text.ids.begin(), text.ids.end(), *tokenizer.bos()), 1);
    EXPECT_EQ(text.ids.front(), *tokenizer.bos());
    const std::string shown_text = shown(tokenizer, text);
    EXPECT_NE(shown_text.find("[/INST][ Hi there.</s>]"), std::string::npos) << shown_text;
    EXPECT_NE(shown_text.find("[/INST][ It is 2.</s>]"), std::string::npos) << shown_text;
}

TEST(ConversationEncoder, TokensLieWhereTheirTextDoes) {
    for (const char* name : {"qwen2", "llama-bpe", "llama-spm", "phi-3", "deepseek-llm"}) {
        const Tokenizer& tokenizer = test::vocabulary(name);
        for (const std::string& text : test::fixture_texts()) {
            if (text.size() > 1000 || utf8::valid_prefix(text) != text.size()) continue;
            const std::vector<int32_t> ids = encode_chat(tokenizer, text);
            SCOPED_TRACE(fmt::format("{}: {}", name, text.substr(0, 80)));
            std::vector<size_t> starts;
            ASSERT_NO_THROW(starts = token_starts(tokenizer, ids, text));
            ASSERT_EQ(starts.size(), ids.size() + 1) << name;
            EXPECT_TRUE(std::is_sorted(starts.begin(), starts.end())) << name;
        }
    }
}

struct RealCase {
    const char* file;
    const char* vocabulary;
    const char* expected;
};

// Templates of models beside their own vocabulary.
TEST(ConversationEncoder, TemplatesOfModels) {
    const std::string folder = std::string(TOY_VOCAB_DIR) + "/templates/";
    if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "no " << folder << ": run scripts/bootstrap.sh";
    const RealCase cases[] = {
        {"Qwen-Qwen3-0.6B", "qwen2", "<think>\n\n</think>\n\n[It is 2.<|im_end|>]\n"},
        {"Qwen-Qwen2.5-7B-Instruct", "qwen2", "<|im_start|>assistant\n[It is 2.<|im_end|>]\n"},
        {"meta-llama-Llama-3.1-8B-Instruct", "llama-bpe",
         "<|start_header_id|>assistant<|end_header_id|>\n\n[It is 2.<|eot_id|>]"},
        {"microsoft-Phi-3.5-mini-instruct", "phi-3", "<|assistant|>[ It is 2.<|end|>]<|endoftext|>"},
        {"LFM2.5-8B-A1B", "qwen2", "<|im_start|>assistant\n[It is 2.<|im_end|>]\n"},
        {"HuggingFaceTB-SmolLM3-3B", "qwen2", "<|im_start|>assistant\n[It is 2.<|im_end|>]\n"},
    };
    for (const RealCase& one : cases) {
        const std::string text = masked(test::read_file(folder + one.file + ".jinja"), k_two_turns, one.vocabulary);
        EXPECT_NE(text.find(one.expected), std::string::npos) << one.file << ":\n" << text;
        EXPECT_EQ(std::count(text.begin(), text.end(), ']'), 2) << one.file << ":\n" << text;
    }
}

}  // namespace
}  // namespace toy
