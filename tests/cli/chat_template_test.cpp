// toy chat-template, run as a user runs it.
#include <gtest/gtest.h>

#include "io/gguf.h"
#include "io/gguf_writer.h"
#include "program.h"

namespace toy {
namespace {

using test::run_toy;
using Json = nlohmann::ordered_json;

// A vocabulary of the pinned package with a template of ours.
class ChatTemplateCommand : public testing::Test {
 protected:
    std::string model(const std::string& source) const {
        const Gguf vocabulary = Gguf::open(std::string(TOY_VOCAB_DIR) + "/ggml-vocab-llama-spm.gguf");
        GgufWriter writer;
        for (const auto& [key, value] : vocabulary.metadata().entries()) writer.set(key, value);
        if (!source.empty()) writer.set("tokenizer.chat_template", Value(source));
        writer.set("tokenizer.chat_template.short", Value(std::string("{{ messages | length }}")));
        const std::filesystem::path path = folder_.path() / "model.gguf";
        writer.write(path);
        return path;
    }
    std::string instruct() const {
        return model(
            "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
            "{% else %} {{ m.content }}{{ eos_token }}{% endif %}{% endfor %}"
            "{% if tools %}{{ tools | length }}{% endif %}{{ mood }}");
    }
    std::string file(const std::string& json) const { return folder_.write("chat.json", json); }

    test::TemporaryFolder folder_;
    test::Setting no_input_ = {.null_input = true};
};

constexpr const char* k_chat = R"([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}])";

TEST_F(ChatTemplateCommand, PrintsTheText) {
    const std::string path = instruct();
    EXPECT_EQ(run_toy({"chat-template", path, "--messages", file(k_chat)}).out, "<s>[INST] Hi [/INST] Ho</s>");
    EXPECT_EQ(run_toy({"chat-template", path}, {.input = k_chat}).out, "<s>[INST] Hi [/INST] Ho</s>");
    const auto object = R"({"messages": [{"role": "user", "content": "Hi"}], "tools": [1, 2], "mood": "!"})";
    EXPECT_EQ(run_toy({"chat-template", path, "-m", file(object)}).out, "<s>[INST] Hi [/INST]2!");
    EXPECT_EQ(run_toy({"chat-template", path, "-m", file(k_chat), "--variant", "short"}).out, "2");
    EXPECT_EQ(run_toy({"chat-template", path}, no_input_).out.rfind("<s>[INST] Hello! [/INST]", 0), 0u);
}

TEST_F(ChatTemplateCommand, ShowsTheGenerationPromptOrNot) {
    const std::string path = model("{{ add_generation_prompt }}");
    EXPECT_EQ(run_toy({"chat-template", path, "-m", file(k_chat)}).out, "True");
    EXPECT_EQ(run_toy({"chat-template", path, "-m", file(k_chat), "--no-generation-prompt"}).out, "False");
}

TEST_F(ChatTemplateCommand, ShowsWhatIsTrained) {
    const std::string path = instruct();
    const std::string lines = run_toy({"chat-template", path, "-m", file(k_chat), "--mask"}).out;
    EXPECT_EQ(lines.rfind("-\t1\t'<s>'\n", 0), 0u) << lines;
    EXPECT_TRUE(lines.ends_with("+\t2\t'</s>'\n")) << lines;
    const Json json = test::run_toy_json({"chat-template", path, "-m", file(k_chat), "--mask", "--json"});
    EXPECT_EQ(json["format"], "toy/chat-template-v1");
    EXPECT_EQ(json["text"], "<s>[INST] Hi [/INST] Ho</s>");
    ASSERT_EQ(json["ids"].size(), json["is_target"].size());
    EXPECT_EQ(json["ids"][0], 1);
    EXPECT_EQ(json["is_target"][0], 0);
    EXPECT_EQ(json["is_target"].back(), 1);
    EXPECT_FALSE(test::run_toy_json({"chat-template", path, "-m", file(k_chat), "--json"}).contains("is_target"));
}

TEST_F(ChatTemplateCommand, RefusesInOneSentence) {
    const std::string path = instruct();
    const auto with = [&](const std::string& json) { return run_toy({"chat-template", path, "-m", file(json)}); };
    EXPECT_REFUSED(with("{"), 2, "is not JSON");
    EXPECT_REFUSED(with("{}"), 2, "has no \"messages\"");
    EXPECT_REFUSED(with("3"), 2, "no array");
    EXPECT_REFUSED(with("[{}]"), 2, "message 1 has no \"role\"");
    EXPECT_REFUSED(run_toy({"chat-template", path, "-m", file(R"([{"role": "user", "content": "Hi"}])"), "--mask"}), 2,
                   "chat.json: the assistant says nothing");
    EXPECT_REFUSED(run_toy({"chat-template", path, "--variant", "long"}, no_input_), 2, "tokenizer.chat_template.long");
    EXPECT_REFUSED(run_toy({"chat-template", model("\n{{ raise_exception('never') }}")}, no_input_), 2,
                   "line 2: the template refuses this conversation: 'never'");
    EXPECT_REFUSED(run_toy({"chat-template", model("")}, no_input_), 2, "its other chat templates are: 'short'");
}

}  // namespace
}  // namespace toy
