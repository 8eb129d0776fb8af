// JSON Lines: the three kinds of samples, and one sentence with the line for everything else.
#include "text/jsonl.h"

#include <gtest/gtest.h>

#include "refusal.h"

namespace toy::test {
namespace {

struct Read {
    Sample sample;
    size_t line;
};

std::vector<Read> read(std::string_view bytes) {
    std::vector<Read> samples;
    read_jsonl(bytes, "f.jsonl", [&](const Sample& sample, size_t line) { samples.push_back({sample, line}); });
    return samples;
}

TEST(Jsonl, ReadsTheThreeKinds) {
    const auto samples = read(
        "\xEF\xBB\xBF{\"text\": \"a\\u00e9\", \"id\": 7}\r\n"
        "\n"
        "{\"prompt\": \"p\", \"completion\": \"\"}\n"
        "   \n"
        R"({"messages": [{"role": "user", "content": "hi", "name": null}, {"role": "assistant", "content": "ho"}]})");
    ASSERT_EQ(samples.size(), 3u);
    EXPECT_EQ(std::get<PlainSample>(samples[0].sample).text, "a\u00e9");
    EXPECT_EQ(samples[1].line, 3u);
    EXPECT_EQ(std::get<CompletionSample>(samples[1].sample).prompt, "p");
    EXPECT_EQ(std::get<CompletionSample>(samples[1].sample).completion, "");
    EXPECT_EQ(samples[2].line, 5u);
    const auto& messages = std::get<ConversationSample>(samples[2].sample).messages;
    EXPECT_EQ(messages.dump(), R"([{"role":"user","content":"hi","name":null},{"role":"assistant","content":"ho"}])");
    EXPECT_TRUE(read("").empty());
}

TEST(Jsonl, RefusesWithTheLine) {
    const std::vector<std::pair<const char*, const char*>> cases = {
        {"{\"text\": 1}", "the key 'text' is number, expected a string"},
        {"{\"text\": \"a\"", "is no JSON"},
        {"{\"text\": \"a\"} x", "is no JSON: its byte 15 cannot"},
        {"{\"text\": \"\\ud800\"}", "is no JSON"},
        {"{\"text\": \"a\", \"x\": 1e999}", "out of range"},
        {"[]", "the line is array, expected a JSON object"},
        {"\"text\"", "the line is string"},
        {"{}", "none of the keys"},
        {"{\"Text\": \"a\"}", "none of the keys"},
        {"{\"text\": \"a\", \"messages\": []}", "several of the keys"},
        {"{\"text\": \"a\", \"prompt\": \"b\"}", "several of the keys"},
        {"{\"prompt\": \"b\"}", "the key 'completion' is missing"},
        {"{\"completion\": \"b\"}", "the key 'prompt' is missing"},
        {"{\"prompt\": [], \"completion\": \"b\"}", "the key 'prompt' is array"},
        {"{\"messages\": {}}", "the key 'messages' is object"},
        {"{\"messages\": []}", "the key 'messages' is empty"},
        {"{\"messages\": [1]}", "message 1 is number"},
        {R"({"messages": [{"role": "user"}, {"content": "a"}]})", "message 2 has no string under the key 'role'"},
        {R"({"messages": [{"role": 1}]})", "message 1 has no string under the key 'role'"},
        {R"({"messages": [{"role": "user"}], "tools": []})", "the key 'tools' would change the prompt"}};
    for (const auto& [line, part] : cases) {
        EXPECT_REFUSAL(part, read(std::string("{\"text\": \"fine\"}\n") + line + "\n"));
        EXPECT_REFUSAL("f.jsonl: line 2: ", read(std::string("{\"text\": \"fine\"}\n") + line));
    }
}

TEST(Jsonl, PutsTheLineBeforeComplaintsAboutASample) {
    const auto refuse = [](const Sample&, size_t) { bad_input("too short"); };
    EXPECT_REFUSAL("f.jsonl: line 1: too short", read_jsonl("{\"text\": \"\"}", "f.jsonl", refuse));
    const auto fail = [](const Sample&, size_t) { failure("disk full"); };
    EXPECT_THROW(read_jsonl("{\"text\": \"\"}", "f.jsonl", fail), Error);
}

// A hundred thousand brackets must not overflow the stack.
TEST(Jsonl, StandsDeepNesting) {
    const std::string deep = "{\"text\": \"a\", \"x\": " + std::string(100'000, '[');
    EXPECT_REFUSAL("is no JSON", read(deep));
    EXPECT_EQ(read(deep + std::string(100'000, ']') + "}").size(), 1u);
}

// The order of keys is kept for templates, by a search among those before: very many would take the square of time.
TEST(Jsonl, BoundsTheKeysOfAnObject) {
    const auto line = [](int keys) {
        std::string object = "{\"x\": {}, \"text\": \"a\", \"y\": {";
        for (int i = 0; i < keys; ++i) object += "\"" + std::to_string(i) + "\": {\"a\": 1},";
        return object + "\"z\": 1}}";
    };
    EXPECT_EQ(read(line(999)).size(), 1u);
    EXPECT_REFUSAL("has more than 1000 keys", read(line(1000)));
}

}  // namespace
}  // namespace toy::test
