// The template language, against what Jinja2 makes of the same templates (oracle/chat_templates.py and
// random_templates.py recorded it), and the bounds that hold for templates from files.
#include "text/jinja/template.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "fixtures.h"
#include "vocabularies.h"

namespace toy::jinja {
namespace {

using Json = nlohmann::ordered_json;

// Sunday, 26 July 2026, noon: what the oracle saw.
std::tm noon() {
    std::tm time = {};
    time.tm_year = 126;
    time.tm_mon = 6;
    time.tm_mday = 26;
    time.tm_hour = 12;
    time.tm_yday = 206;
    return time;
}

std::string render(std::string_view source, const Json& variables = Json::object(), const Limits& limits = {}) {
    return Template::compile("t", source, limits).render(variables, noon()).text;
}

// The sentence of the Error; "" where there is none.
std::string refusal(std::string_view source, const Json& variables = Json::object(), const Limits& limits = {}) {
    try {
        render(source, variables, limits);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::Kind::bad_input);
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
        return error.what();
    }
    return "";
}

// With the order of keys as in the file, which templates see.
Json ordered_fixture(const std::string& name) {
    return Json::parse(test::read_file(std::string(TOY_SOURCE_DIR) + "/tests/text/fixtures/" + name + ".json"));
}

std::string digest(std::string_view bytes) { return fmt::format("{}:{:08x}", bytes.size(), test::fnv1a(bytes)); }

std::string summary(std::string_view source, const Json& variables) {
    try {
        return digest(render(source, variables));
    } catch (const Error&) {
        return "refused";
    }
}

// Every template of the pinned package, over all conversations: the same bytes as Jinja2, refused where Jinja2 raises
// (utilityai/llama-cpp-rs#1096: heuristics matched transformers on a third of the models; lcpp#24624: white space).
TEST(Jinja, ChatTemplatesRenderAsJinja2DoesByteForByte) {
    const std::filesystem::path folder = std::string(TOY_VOCAB_DIR) + "/templates";
    if (!std::filesystem::is_directory(folder)) {
        GTEST_SKIP() << "no " << folder << ": run scripts/bootstrap.sh, which unpacks the chat templates";
    }
    const Json fixture = ordered_fixture("chat_templates");
    const Json& conversations = fixture["conversations"];
    size_t rendered = 0;
    for (const auto& [name, expected] : fixture["templates"].items()) {
        const std::string source = test::read_file(folder / name);
        ASSERT_EQ(digest(source), expected["source"].get<std::string>()) << name << " is not the recorded one";
        for (size_t i = 0; i < conversations.size(); ++i) {
            const auto result = expected["results"][i].get<std::string>();
            EXPECT_EQ(summary(source, conversations[i][1]), result) << name << " " << conversations[i][0];
            rendered += result != "refused";
        }
    }
    EXPECT_EQ(fixture["templates"].size(), 70);
    EXPECT_EQ(rendered, 1411);
}

TEST(Jinja, OwnTemplatesRenderAsJinja2Does) {
    const Json conversations = ordered_fixture("chat_templates")["conversations"];
    const Json own = ordered_fixture("own_chat_templates");
    for (const auto& [name, expected] : own.items()) {
        const std::string source = test::read_file(std::string(TOY_SOURCE_DIR) + "/tests/text/fixtures/chat/" + name);
        for (size_t i = 0; i < conversations.size(); ++i) {
            const Json& variables = conversations[i][1];
            if (expected[i].is_null()) {
                EXPECT_NE(refusal(source, variables), "") << name << " " << conversations[i][0];
            } else {
                EXPECT_EQ(render(source, variables), expected[i].get<std::string>())
                    << name << " " << conversations[i][0];
            }
        }
    }
}

TEST(Jinja, RandomTemplatesRenderAsJinja2Does) {
    const Json fixture = ordered_fixture("random_templates");
    size_t refused = 0;
    for (const Json& one : fixture["cases"]) {
        const auto source = one["template"].get<std::string>();
        if (one.contains("expected")) {
            ASSERT_NO_THROW(EXPECT_EQ(render(source, fixture["variables"]), one["expected"].get<std::string>())
                            << source)
                << source;
        } else {
            EXPECT_NE(refusal(source, fixture["variables"]), "") << source << "\n" << one["error"];
            ++refused;
        }
    }
    EXPECT_GE(fixture["cases"].size(), 400);
    EXPECT_GT(refused, 5);
}

TEST(Jinja, ReassigningAGivenVariableIsSeenFromThereOn) {
    EXPECT_EQ(render("{{ x }}{% set x = x + 1 %}{{ x }}", {{"x", 1}}), "12");
    EXPECT_EQ(render("{% for i in [1, 2] %}{% set x = x + i %}{{ x }} {% endfor %}{{ x }}", {{"x", 1}}), "2 3 1");
}

// Jinja2 runs the else of a loop also where no turn came to its end.
TEST(Jinja, ElseOfALoopThatWasCutShort) {
    EXPECT_EQ(render("{% for i in [1, 2] %}{{ i }}{% break %}{% else %}else{% endfor %}"), "1else");
    EXPECT_EQ(render("{% for i in [1, 2] %}{{ i }}{% if i == 2 %}{% break %}{% endif %}{% else %}else{% endfor %}"),
              "12");
    EXPECT_EQ(render("{% for i in [] %}{{ i }}{% else %}else{% endfor %}"), "else");
}

TEST(Jinja, SaysWhereAndWhat) {
    EXPECT_EQ(refusal("a\n{{ x.y }}"), "t, line 2: 'x' is undefined");
    EXPECT_EQ(refusal("{% if true %}\n\n{% endfor %}"), "t, line 3: there is no tag 'endfor'");
    EXPECT_EQ(refusal("{% if true %}\n"), "t, line 1: a block has no {% endif %}");
    EXPECT_EQ(refusal("\n\n{{ 1 + }}"), "t, line 3: expected an expression, found }}");
    EXPECT_EQ(refusal("{{ 'a"), "t, line 1: a string has no end");
    EXPECT_EQ(refusal("{# a"), "t, line 1: a comment has no end");
    EXPECT_EQ(refusal("{{ (1] }}"), "t, line 1: unexpected ']'");
    EXPECT_EQ(refusal("{{ 1|nothing_like_it }}"), "t, line 1: there is no filter 'nothing_like_it'");
    EXPECT_EQ(refusal("{{ 1 is nothing_like_it }}"), "t, line 1: there is no test 'nothing_like_it'");
    EXPECT_EQ(refusal("{{ raise_exception('no\nway') }}"),
              "t, line 1: the template refuses this conversation: 'no\\x0away'");
    EXPECT_EQ(refusal("{% include 'x' %}"), "t, line 1: the tag 'include' is not for chat templates");
    EXPECT_EQ(refusal("{{ x.append(1) }}", {{"x", {1}}}),
              "t, line 1: 'append' is not allowed: templates cannot change a value in place");
    EXPECT_EQ(refusal("{{ '\xFF' }}"), "t, line 1: the template is not UTF-8");
    EXPECT_EQ(refusal("{{ 9223372036854775807 + 1 }}"), "t, line 1: a whole number beyond 64 bits");
    EXPECT_EQ(refusal("{{ 1 // 0 }}"), "t, line 1: division by zero");
    EXPECT_NE(refusal("{% break %}"), "");
    EXPECT_NE(refusal("{{ x }}", {{"x", std::numeric_limits<uint64_t>::max()}}), "");
}

// A template in a model file is a program of a stranger: it ends, and in bounded memory.
TEST(Jinja, HostileTemplatesEnd) {
    const Limits limits = {.steps = 100'000, .text_bytes = 1 << 20, .memory_bytes = 8 << 20};
    const auto refused = [&](std::string_view source, std::string_view why) {
        const std::string sentence = refusal(source, Json::object(), limits);
        EXPECT_NE(sentence.find(why), std::string::npos) << source.substr(0, 200) << "\n" << sentence;
    };
    refused("{% for a in range(1000) %}{% for b in range(1000) %}{% endfor %}{% endfor %}", "steps");
    refused("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "inside each other");
    refused("{% set ns = namespace(x='0123456789') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
            "too long");
    refused("{{ 'x' * 1000000000000 }}", "too large");
    refused("{{ [1] * 1000000000000 }}", "too large");
    refused("{{ range(1000000) }}", "range");
    refused("{{ 'x'.center(100000000000) }}", "too long");
    refused("{{ '%1000000000d' % 1 }}", "a format asks");
    refused("{% set ns = namespace(x=[]) %}{% for i in range(1000) %}{% set ns.x = [ns.x] %}{% endfor %}",
            "inside each other");
    refused("{% set x = 'a' * 300000 %}{% for i in range(100) %}{{ x }}{% endfor %}", "bytes");
    refused("{% set x = 'ab' * 300000 %}{% for i in range(10000) %}{{ 'c' in x }}{% endfor %}", "steps");
    const auto repeated = [](std::string_view text, int count) {
        std::string all;
        for (int i = 0; i < count; ++i) all += text;
        return all;
    };
    refused("{{ " + repeated("(", 100000) + "1" + repeated(")", 100000) + " }}", "inside each other");
    refused("{{ " + repeated("not ", 100000) + "1 }}", "inside each other");
    refused("{{ " + repeated("-", 100000) + "1 }}", "inside each other");
    refused("{{ 1" + repeated(" + 1", 100000) + " }}", "inside each other");
    refused("{{ x" + repeated(".y", 100000) + " }}", "inside each other");
    refused("{{ 1" + repeated("|abs", 100000) + " }}", "inside each other");
    refused(repeated("{% if 1 %}", 100000), "inside each other");
    refused(repeated("x", (1 << 20) + 1), "at most");
    // The limits that models get; deep enough for the stack of a thread.
    EXPECT_NE(refusal("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}").find("inside each other"), std::string::npos);
    Json deep = 1;
    for (int i = 0; i < 300; ++i) deep = Json::array({std::move(deep)});
    EXPECT_NE(refusal("{{ x }}", {{"x", deep}}).find("nest"), std::string::npos);
}

// Values that refer to each other in circles are let go of (the leak checker of the sanitizer build watches).
TEST(Jinja, CirclesAreLetGo) {
    EXPECT_EQ(render("{% set ns = namespace() %}{% set ns.me = ns %}{% macro m() %}{% endmacro %}{% set ns.m = m %}"
                     "{% for i in [1] %}{% set ns.l = loop %}{% endfor %}{{ ns.me.l.index }}"),
              "1");
}

TEST(Jinja, GenerationBlocksTellTheirPlaces) {
    const auto source =
        "é{% generation %}ab{% endgeneration %}-{% for i in [1, 2] %}{% generation %}{{ i }}{% endgeneration %}{% "
        "endfor %}";
    const Template::Output output = Template::compile("t", source).render(Json::object(), noon());
    EXPECT_EQ(output.text, "éab-12");
    EXPECT_EQ(output.generation, (std::vector<Span>{{2, 4}, {5, 6}, {6, 7}}));
    EXPECT_FALSE(output.has_hidden_generation);
    const auto hidden = "{% macro m() %}{% generation %}a{% endgeneration %}{% endmacro %}{{ m() | upper }}";
    EXPECT_TRUE(Template::compile("t", hidden).render(Json::object(), noon()).has_hidden_generation);
}

}  // namespace
}  // namespace toy::jinja
