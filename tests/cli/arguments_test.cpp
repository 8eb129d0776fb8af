#include "cli/arguments.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "cli/numbers.h"
#include "cli/suggest.h"
#include "core/error.h"

namespace toy::cli {
namespace {

const Command k_test{
    .name = "test",
    .summary = "",
    .description = "",
    .positionals = {{.name = "model", .summary = "a file", .is_required = true}, {.name = "text", .summary = "a text"}},
    .flags =
        {{.name = "prompt", .letter = 'p', .kind = Kind::text, .value = "TEXT", .fallback = "hello"},
         {.name = "n", .letter = 'n', .kind = Kind::integer, .value = "N", .fallback = "16", .least = -1, .most = 99},
         {.name = "temperature", .kind = Kind::real, .value = "T", .fallback = "0", .low = 0, .high = 2},
         {.name = "kind", .kind = Kind::choice, .fallback = "a", .choices = {"a", "b"}},
         {.name = "fused", .kind = Kind::on_off, .fallback = "on"},
         {.name = "stop", .kind = Kind::text, .value = "TEXT", .repeats = true},
         {.name = "threads", .kind = Kind::integer, .value = "N", .fallback = "1,2", .least = 1, .is_list = true},
         {.name = "special", .starts_on = true, .can_be_negated = true},
         {.name = "quiet", .letter = 'q'}},
    .refused = {{"mirostat*", "no"}, {"xtc", "no"}},
    .examples = {},
    .run = nullptr,
};

Arguments read(const std::vector<std::string_view>& words) { return Arguments(k_test, words); }

std::string refusal(const std::vector<std::string_view>& words) {
    try {
        read(words);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::Kind::bad_input);
        return error.what();
    }
    return "";
}

TEST(Arguments, ReadsEverySpelling) {
    const Arguments a =
        read({"m", "--prompt", "x", "-n5", "--temperature=0.5", "--kind", "b", "-q", "--stop", "s", "--stop=t"});
    EXPECT_EQ(a.positional(0), "m");
    EXPECT_EQ(a.positional(1), "");
    EXPECT_EQ(a.text("prompt"), "x");
    EXPECT_EQ(a.integer("n"), 5);
    EXPECT_EQ(a.real("temperature"), 0.5);
    EXPECT_EQ(a.text("kind"), "b");
    EXPECT_TRUE(a.on("quiet"));
    EXPECT_EQ(a.texts("stop"), (std::vector<std::string>{"s", "t"}));
}

TEST(Arguments, HasFallbacks) {
    const Arguments a = read({"m"});
    EXPECT_FALSE(a.given("prompt"));
    EXPECT_EQ(a.text("prompt"), "hello");
    EXPECT_EQ(a.integer("n"), 16);
    EXPECT_TRUE(a.on("fused"));
    EXPECT_TRUE(a.on("special"));
    EXPECT_FALSE(a.on("quiet"));
    EXPECT_EQ(a.integers("threads"), (std::vector<int64_t>{1, 2}));
    EXPECT_TRUE(a.texts("stop").empty());
}

TEST(Arguments, ReadsListsNegationsAndNegativeNumbers) {
    const Arguments a = read({"m", "--threads", "4,8", "--no-special", "--fused", "0", "-n", "-1"});
    EXPECT_EQ(a.integers("threads"), (std::vector<int64_t>{4, 8}));
    EXPECT_FALSE(a.on("special"));
    EXPECT_FALSE(a.on("fused"));
    EXPECT_EQ(a.integer("n"), -1);
}

// Debian's CLI11 cuts "[a,b]" in two and takes the next word as the value of "--prompt=".
TEST(Arguments, PassesTextsAsTheyAre) {
    for (std::string_view text : {"", "[a,b]", "-x", "--x", "a=b", " ", "\n", "\"", "{}", "%s", "--"}) {
        EXPECT_EQ(read({"m", "--prompt", text}).text("prompt"), text);
        EXPECT_EQ(read({"m", "--stop", text}).texts("stop"), (std::vector<std::string>{std::string(text)}));
        EXPECT_EQ(read({"m", "--prompt=" + std::string(text)}).text("prompt"), text);
    }
}

TEST(Arguments, AfterTwoDashesNothingIsAFlag) {
    const Arguments a = read({"--", "--prompt", "-n"});
    EXPECT_EQ(a.positional(0), "--prompt");
    EXPECT_EQ(a.positional(1), "-n");
}

TEST(Arguments, TogglesMayBeRepeated) {
    EXPECT_TRUE(read({"m", "-q", "--quiet"}).on("quiet"));
    EXPECT_FALSE(read({"m", "--special", "--no-special"}).on("special"));
    EXPECT_TRUE(read({"m", "--no-special", "--special"}).on("special"));
}

TEST(Arguments, HelpNeedsNothingElse) {
    EXPECT_TRUE(read({"--help"}).wants_help());
    EXPECT_TRUE(read({"m", "-h", "--nonsense"}).wants_help());
    EXPECT_FALSE(read({"m", "--prompt=--help"}).wants_help());
}

TEST(Arguments, RefusesInOneSentence) {
    EXPECT_NE(refusal({}).find("needs <model>"), std::string::npos);
    EXPECT_NE(refusal({"m", "t", "u"}).find("'u' is one word too many"), std::string::npos);
    EXPECT_NE(refusal({"m", "--promt", "x"}).find("did you mean '--prompt'?"), std::string::npos);
    EXPECT_NE(refusal({"m", "--temp", "1"}).find("did you mean '--temperature'?"), std::string::npos);
    EXPECT_NE(refusal({"m", "-z"}).find("has no flag '-z'"), std::string::npos);
    EXPECT_NE(refusal({"m", "--n"}).find("--n needs a value"), std::string::npos);
    EXPECT_NE(refusal({"m", "-n"}).find("-n needs a value"), std::string::npos);
    EXPECT_NE(refusal({"m", "--prompt", "--n", "5"}).find("--n follows, which is a flag"), std::string::npos);
    EXPECT_NE(refusal({"m", "--n", "1", "--n", "2"}).find("given twice"), std::string::npos);
    EXPECT_NE(refusal({"m", "--quiet=1"}).find("takes no value"), std::string::npos);
    EXPECT_NE(refusal({"m", "-qx"}).find("takes no value"), std::string::npos);
    EXPECT_NE(refusal({"m", "--no-quiet"}).find("has no flag '--no-quiet'"), std::string::npos);
    EXPECT_NE(refusal({"m", "--mirostat-lr", "1"}).find("--mirostat-lr is not served: no"), std::string::npos);
    EXPECT_NE(refusal({"m", "--xtc=1"}).find("--xtc is not served: no"), std::string::npos);
}

TEST(Arguments, ChecksValues) {
    for (std::string_view bad : {"", "x", "5x", "1.5", "0x5", " 5", "5 ", "99999999999999999999", "-2", "100", "++5"}) {
        EXPECT_NE(refusal({"m", "--n", bad}), "") << bad;
    }
    for (std::string_view bad : {"", "x", "1,5", "nan", "inf", "-inf", "1e999", "-0.1", "2.1"}) {
        EXPECT_NE(refusal({"m", "--temperature", bad}), "") << bad;
    }
    for (std::string_view bad : {"", "c", "A", "a,b"}) EXPECT_NE(refusal({"m", "--kind", bad}), "") << bad;
    for (std::string_view bad : {"", "yes", "2", "ON"}) EXPECT_NE(refusal({"m", "--fused", bad}), "") << bad;
    for (std::string_view bad : {"", ",", "1,", "1,,2", "1;2", "0"}) {
        EXPECT_NE(refusal({"m", "--threads", bad}), "") << bad;
    }
    EXPECT_EQ(refusal({"m", "--n", "+5"}), "");
    EXPECT_EQ(refusal({"m", "--temperature", "1e-1"}), "");
}

RC_GTEST_PROP(Arguments, AnyWordsAreReadOrRefused, (const std::vector<std::string>& tails)) {
    const std::vector<std::string> heads{
        "", "-", "--", "--prompt", "--n=", "-n", "--stop=", "--threads=", "--no-", "-q"};
    std::vector<std::string> words;
    for (const std::string& tail : tails) words.push_back(*rc::gen::elementOf(heads) + tail);
    const std::vector<std::string_view> views(words.begin(), words.end());
    try {
        read(views);
    } catch (const Error& error) {
        RC_ASSERT(error.kind() == Error::Kind::bad_input);
        RC_ASSERT(!std::string(error.what()).empty());
    }
}

TEST(Suggest, FindsTheNearestName) {
    const std::vector<std::string_view> names{"infer", "list", "describe", "detokenize", "tokenize"};
    EXPECT_EQ(did_you_mean("infre", names), "; did you mean 'infer'?");
    EXPECT_EQ(did_you_mean("desc", names), "; did you mean 'describe'?");
    EXPECT_EQ(did_you_mean("tokenise", names), "; did you mean 'tokenize'?");
    EXPECT_EQ(did_you_mean("lst", names), "; did you mean 'list'?");
    EXPECT_EQ(did_you_mean("quantise", names), "");
    EXPECT_EQ(did_you_mean("", names), "");
    EXPECT_EQ(did_you_mean(std::string(100000, 'x'), names), "");
}

TEST(Numbers, ParsesIds) {
    EXPECT_EQ(parse_ids("1 2,3\n4\t5"), (std::vector<int32_t>{1, 2, 3, 4, 5}));
    EXPECT_EQ(parse_ids("ids: 7 8\n"), (std::vector<int32_t>{7, 8}));
    EXPECT_TRUE(parse_ids(" , ").empty());
    for (std::string_view bad : {"x", "1.5", "-1", "2147483648", "1 2 ids:", "1;2"}) {
        EXPECT_THROW(parse_ids(bad), Error) << bad;
    }
}

TEST(Numbers, WritesThemForPeople) {
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(1000), "1,000");
    EXPECT_EQ(grouped(-1234567), "-1,234,567");
    EXPECT_EQ(grouped(std::numeric_limits<int64_t>::min()), "-9,223,372,036,854,775,808");
    EXPECT_EQ(human_count(999), "999");
    EXPECT_EQ(human_count(134515008), "134.5M");
    EXPECT_EQ(human_bytes(1023), "1023 B");
    EXPECT_EQ(human_bytes(145915616), "139.2 MiB");
}

}  // namespace
}  // namespace toy::cli
