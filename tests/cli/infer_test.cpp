// toy infer, run as a user runs it.
#include <gtest/gtest.h>

#include "program.h"
#include "support/random_model.h"
#include "support/stories.h"

namespace toy {
namespace {

using test::Outcome;
using test::run_on_terminal;
using test::run_toy;
using test::run_toy_json;
using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

// One thread: these models are too small for more, and the machine may be busy.
Words infer(const std::string& model, const Words& more) {
    Words words{"infer", model, "--threads", "1", "--kv-type", "f32"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}
Words on_random(const Words& more) { return infer(test::random_model("f32-d32"), more); }
Words on_stories(const Words& more) { return infer(test::stories_model(), more); }

TEST(InferStories, WritesTheExpectedTextByteForByte) {
    TOY_NEEDS_STORIES();
    const Outcome outcome = run_toy(on_stories({"--prompt", "", "--n", "200"}));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, test::stories_text());
    EXPECT_NE(outcome.err.find("tokens/s"), std::string::npos);
}

TEST(InferStories, IsTheSameForAnyChunkThreadsAndAttention) {
    TOY_NEEDS_STORIES();
    const std::string all = test::stories_text();
    // A prompt of many tokens: the first part of the text itself.
    const std::string prompt = all.substr(0, 180);
    for (const Words& how : {Words{"--chunk", "1"}, Words{"--chunk", "7"}, Words{"--threads=2"},
                             Words{"--flash-attention", "off"}, Words{"--repack", "off"}}) {
        Words words{"infer", test::stories_model(), "--kv-type", "f32", "--prompt", prompt, "--n", "40", "--quiet"};
        words.insert(words.end(), how.begin(), how.end());
        if (how.front() != "--threads=2") words.insert(words.end(), {"--threads", "1"});
        const Outcome outcome = run_toy(words);
        EXPECT_FALSE(outcome.out.empty());
        EXPECT_EQ(all.substr(180, outcome.out.size()), outcome.out) << how.front();
        EXPECT_EQ(outcome.err, "");
    }
}

// A continuation keeps its first space: prompt and continuation together read well.
TEST(InferStories, EchoAddsThePrompt) {
    TOY_NEEDS_STORIES();
    const Outcome plain = run_toy(on_stories({"--prompt", "Once upon a time", "--n", "20"}));
    const Outcome echo = run_toy(on_stories({"--prompt", "Once upon a time", "--n", "20", "--echo"}));
    EXPECT_EQ(plain.out.substr(0, 7), ", there");
    EXPECT_EQ(echo.out, "Once upon a time" + plain.out);
    EXPECT_EQ(run_toy(on_stories({"-p", "Once upon", "-n1"})).out, " a");
}

TEST(InferStories, DefaultPromptIsTheOldOne) {
    TOY_NEEDS_STORIES();
    const Outcome plain = run_toy(on_stories({"--prompt", "Once upon a time"}));
    EXPECT_EQ(run_toy(on_stories({}), {.null_input = true}).out, plain.out);
}

TEST(Infer, PromptsComeFromFiveSides) {
    const test::TemporaryFolder folder;
    const std::string text = "some text\nof two lines";
    const std::string file = folder.write("prompt.txt", text + "\n");
    const Outcome expected = run_toy(on_random({"--prompt", text, "--n", "8"}));
    EXPECT_EQ(expected.code, 0) << expected.err;
    EXPECT_FALSE(expected.out.empty());
    EXPECT_EQ(run_toy(on_random({"--prompt-file", file, "--n", "8"})).out, expected.out);
    EXPECT_EQ(run_toy(on_random({"--prompt-file", "-", "--n", "8"}), {.input = text}).out, expected.out);
    EXPECT_EQ(run_toy(on_random({"--n", "8"}), {.input = text + "\r\n"}).out, expected.out);
    const Json ids = run_toy_json(on_random({"--prompt", text, "--n", "0", "--json"}))["prompt_ids"];
    std::string list;
    for (int id : ids) list += std::to_string(id) + ",";
    EXPECT_EQ(run_toy(on_random({"--prompt-ids", list, "--n", "8"})).out, expected.out);
    // One line break at the end is no part of the prompt; a second one is.
    EXPECT_EQ(run_toy_json(on_random({"--n", "0", "--json"}), {.input = "x\n\n"})["prompt"], "x\n");
    EXPECT_EQ(run_toy_json(on_random({"--n", "0", "--json"}), {.input = ""})["prompt_ids"], Json({1}));
}

// lcpp#7384: shells pass "\n" as two characters.
TEST(Infer, EscapesOnTheCommandLineAreTakenAsTheyAreAndSaidSo) {
    const auto prompt = [](const Words& more, const std::string& text) {
        Words words = on_random({"--n", "0", "--json", "--prompt", text});
        words.insert(words.end(), more.begin(), more.end());
        return run_toy(words);
    };
    const Outcome plain = prompt({}, "a\\nb");
    EXPECT_EQ(Json::parse(plain.out)["prompt"], "a\\nb");
    EXPECT_NE(plain.err.find("toy: warning: --prompt holds a backslash"), std::string::npos);
    const Outcome escaped = prompt({"--escape"}, "a\\nb\\t\\\\n\\x41\\\"");
    EXPECT_EQ(Json::parse(escaped.out)["prompt"], "a\nb\t\\nA\"");
    EXPECT_EQ(escaped.err, "");
    EXPECT_EQ(prompt({"--no-escape"}, "a\\nb").err, "");
    EXPECT_EQ(prompt({}, "a\\alpha").err, "");
    EXPECT_REFUSED(prompt({"--escape"}, "a\\qb"), 2, "'\\q' is no escape");
    EXPECT_REFUSED(prompt({"--escape"}, "a\\"), 2, "is no escape");
    EXPECT_REFUSED(prompt({"--escape"}, "a\\x4"), 2, "two hexadecimal digits");
    EXPECT_REFUSED(prompt({"--escape"}, "a\\x-1"), 2, "two hexadecimal digits");
}

TEST(Infer, StopsEndTheTextAndStayOut) {
    const std::string all = run_toy(on_random({"--prompt", "q", "--n", "30"})).out;
    // Three characters somewhere in it, not half ones.
    const auto is_ascii = [&](size_t at) { return (all[at] & 0x80) == 0; };
    size_t at = 4;
    while (at + 3 < all.size() && !(is_ascii(at) && is_ascii(at + 1) && is_ascii(at + 2))) ++at;
    const std::string stop = all.substr(at, 3);
    ASSERT_EQ(stop.size(), 3u) << all;
    const Json json =
        run_toy_json(on_random({"--prompt", "q", "--n", "30", "--stop", "@@@@", "--stop", stop, "--json"}));
    EXPECT_EQ(json["text"], all.substr(0, all.find(stop)));
    EXPECT_EQ(json["finish_reason"], "stop_string");
    EXPECT_EQ(json["stop"], stop);
    EXPECT_REFUSED(run_toy(on_random({"--stop", ""})), 2, "--stop");
}

TEST(Infer, SeedsDecideTheDraw) {
    const auto draw = [](const std::string& seed) {
        return run_toy(on_random({"--prompt", "q", "--temperature", "1.5", "--seed", seed, "--n", "20"})).out;
    };
    EXPECT_EQ(draw("7"), draw("7"));
    EXPECT_NE(draw("7"), draw("8"));
    EXPECT_NE(draw("7"), run_toy(on_random({"--prompt", "q", "--n", "20"})).out);
}

TEST(Infer, EverySamplingFlagMatters) {
    const auto with = [](const Words& more) {
        Words words = on_random({"--prompt", "q", "--n", "24", "--temperature", "2", "--seed", "3"});
        words.insert(words.end(), more.begin(), more.end());
        const Outcome outcome = run_toy(words);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return outcome.out;
    };
    const std::string base = with({});
    for (const Words& flag :
         {Words{"--top-k", "2"}, Words{"--top-p", "0.3"}, Words{"--min-p", "0.9"}, Words{"--typical", "0.2"},
          Words{"--repeat-penalty", "3"}, Words{"--presence-penalty", "9"}, Words{"--frequency-penalty", "9"}}) {
        EXPECT_NE(with(flag), base) << flag[0];
    }
    EXPECT_NE(with({"--presence-penalty", "9", "--repeat-last-n", "1"}), with({"--presence-penalty", "9"}));
}

TEST(Infer, BiasForbidsAndForces) {
    const Json free = run_toy_json(on_random({"--prompt", "q", "--n", "1", "--json"}));
    const std::string first = std::to_string(free["ids"][0].get<int>());
    const Json forbidden =
        run_toy_json(on_random({"--prompt", "q", "--n", "1", "--json", "--logit-bias", first + "=-inf"}));
    EXPECT_NE(forbidden["ids"], free["ids"]);
    const Json forced = run_toy_json(
        on_random({"--prompt", "q", "--n", "3", "--json", "--logit-bias", "400=1000", "--logit-bias", first + "=-5"}));
    EXPECT_EQ(forced["ids"], Json({400, 400, 400}));
    for (const char* bad : {"", "5", "5=", "=1", "x=1", "5=nan", "5=inf", "-1=2", "5=1=2", "99999999999=1"}) {
        EXPECT_REFUSED(run_toy(on_random({"--logit-bias", bad})), 2, "is not ID=B");
    }
    EXPECT_REFUSED(run_toy(on_random({"--logit-bias", "512=1"})), 2, "there is no token 512");
    EXPECT_REFUSED(run_toy(on_random({"--logit-bias", "5=1", "--logit-bias", "5=2"})), 2, "given twice");
}

TEST(Infer, EndOfTextEndsIt) {
    const Words forced{"--prompt", "q", "--n", "5", "--json", "--logit-bias", "2=1000"};
    const Json ended = run_toy_json(on_random(forced));
    EXPECT_EQ(ended["finish_reason"], "end_of_generation");
    EXPECT_EQ(ended["text"], "");
    Words ignoring = forced;
    ignoring.emplace_back("--ignore-eos");
    const Json ignored = run_toy_json(on_random(ignoring));
    EXPECT_EQ(ignored["finish_reason"], "length");
    EXPECT_EQ(ignored["ids"], Json({2, 2, 2, 2, 2}));
}

TEST(Infer, JsonHasItsShape) {
    const std::string model = test::random_model("f32-d32");
    const Outcome outcome =
        run_toy(on_random({"--prompt", "hello", "--n", "4", "--logprobs", "3", "--echo", "--json"}));
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.err, "");
    const Json json = Json::parse(outcome.out);
    EXPECT_EQ(json["format"], "toy/infer-v1");
    EXPECT_EQ(json["model"], model);
    EXPECT_EQ(json["prompt"], "hello");
    EXPECT_EQ(json["n"], 4);
    EXPECT_EQ(json["note"], "");
    EXPECT_EQ(json["text"].get<std::string>().rfind("hello", 0), 0u);
    EXPECT_EQ(json["ids"].size(), 4u);
    EXPECT_EQ(json["finish_reason"], "length");
    EXPECT_EQ(json["prompt_tokens"], json["prompt_ids"].size());
    EXPECT_EQ(json["generated_tokens"], 4);
    EXPECT_EQ(json["logprobs"].size(), 4u);
    EXPECT_EQ(json["prompt_logprobs"].size(), json["prompt_ids"].size() - 1);
    for (size_t i = 0; i < 4; ++i) {
        const Json& one = json["logprobs"][i];
        EXPECT_EQ(one["id"], json["ids"][i]);
        EXPECT_LE(one["logprob"].get<double>(), 0.0);
        ASSERT_EQ(one["top"].size(), 3u);
        EXPECT_EQ(one["top"][0]["logprob"], one["logprob"]);  // greedy: the chosen one is the best
        EXPECT_GE(one["top"][0]["logprob"], one["top"][1]["logprob"]);
    }
    for (const char* key : {"load_s", "prompt_s", "prompt_tokens_per_s", "generation_s", "first_token_s"}) {
        EXPECT_GE(json["timings"][key].get<double>(), 0.0) << key;
    }
    EXPECT_GT(json["graphs"]["hits"], 0);
    EXPECT_GT(json["memory"]["cache"], 0);
}

TEST(Infer, LogprobsAreLinesAndDoNotDependOnSampling) {
    const Outcome greedy = run_toy(on_random({"--prompt", "q", "--n", "1", "--logprobs", "2"}));
    const Outcome cold = run_toy(on_random({"--prompt", "q", "--n", "1", "--logprobs", "2", "--temperature", "0.01"}));
    EXPECT_EQ(greedy.out, cold.out);
    EXPECT_EQ(std::count(greedy.out.begin(), greedy.out.end(), '\t'), 4);
    EXPECT_EQ(greedy.out[0], '-');
    const Outcome scored = run_toy(on_random({"--prompt-ids", "1 2 3 4", "--n", "0", "--logprobs", "0", "--echo"}));
    EXPECT_EQ(std::count(scored.out.begin(), scored.out.end(), '\n'), 3);
}

TEST(Infer, IdsInsteadOfText) {
    const Json json = run_toy_json(on_random({"--prompt", "q", "--n", "3", "--json"}));
    std::string expected = "ids:";
    for (int id : json["ids"]) expected += " " + std::to_string(id);
    EXPECT_EQ(run_toy(on_random({"--prompt", "q", "--n", "3", "--ids"})).out, expected + "\n");
    const Json back =
        run_toy_json({"detokenize", test::random_model("f32-d32"), "--continuation", "--json"}, {.input = expected});
    EXPECT_EQ(back["text"], json["text"]);
}

TEST(Infer, GeneratesUntilTheContextIsFull) {
    const Json json =
        run_toy_json(on_random({"--prompt-ids", "1 2 3", "--n", "-1", "--ctx", "12", "--ignore-eos", "--json"}));
    EXPECT_EQ(json["finish_reason"], "length");
    // The token after the last one in the context is still known.
    EXPECT_EQ(json["generated_tokens"], 10);
}

// ollama#17889, ollama#17427, ollama#11283: nothing is cut off silently; lcpp#17267: nothing overflows while decoding.
TEST(Infer, WhatDoesNotFitTheContextIsRefused) {
    EXPECT_REFUSED(run_toy(on_random({"--prompt-ids", "1 2 3", "--n", "10", "--ctx", "12"})), 2,
                   "the prompt has 3 tokens and --n asks for 10 more, but the context holds 12 (--ctx)");
    EXPECT_EQ(run_toy(on_random({"--prompt-ids", "1 2 3", "--n", "9", "--ctx", "12"})).code, 0);
    std::string long_text;
    for (int i = 0; i < 1100; ++i) long_text += "q ";
    EXPECT_REFUSED(run_toy(on_random({"--prompt", long_text, "--n", "-1"})), 2, "what the model was trained for");
    EXPECT_REFUSED(run_toy(on_random({"--prompt", "q", "--n", "2147483647"})), 2, "2147483647 more");
    EXPECT_REFUSED(run_toy(on_random({"--prompt", "q", "--n", "-1", "--ctx", "1073741824"})), 1,
                   "pass a smaller --ctx");
}

TEST(Infer, BeyondTheTrainedContextIsAllowedAndSaidSo) {
    const Outcome outcome = run_toy(on_random({"--prompt", "q", "--n", "1030", "--ctx", "2000", "--ignore-eos", "-q"}));
    EXPECT_EQ(outcome.code, 0);
    EXPECT_NE(outcome.err.find("more than the 1024 that the model was trained for"), std::string::npos) << outcome.err;
    EXPECT_EQ(run_toy(on_random({"--prompt", "q", "--n", "5", "--ctx", "2000", "-q"})).err, "");
}

TEST(Infer, CacheTypesAndThreadsAreChecked) {
    for (const char* type : {"f32", "f16", "bf16", "q8_0", "q4_0"}) {
        const Outcome outcome =
            run_toy({"infer", test::random_model("f32-d32"), "-t", "1", "--kv-type", type, "-p", "q"});
        EXPECT_EQ(outcome.code, 0) << type << outcome.err;
    }
    EXPECT_REFUSED(run_toy({"infer", test::random_model("f32-d32"), "--kv-type", "q5_0"}), 2, "none of f32, f16");
    EXPECT_REFUSED(run_toy({"infer", test::random_model("f32-d32"), "--threads", "0"}), 2, "choose 1 to 512");
    EXPECT_REFUSED(run_toy({"infer", test::random_model("f32-d32"), "--threads", "two"}), 2, "is not a whole number");
    EXPECT_REFUSED(run_toy({"infer", test::random_model("f32-d32"), "--device", "cuda"}), 2,
                   "there is no device 'cuda'");
}

TEST(Infer, OtherProgramsFlagsAreRefusedByName) {
    for (const char* flag : {"--mirostat", "--mirostat-lr", "--dry-multiplier", "--xtc-probability", "--top-nsigma",
                             "--dynatemp-range", "--samplers"}) {
        EXPECT_REFUSED(run_toy(on_random({flag, "1"})), 2, std::string(flag) + " is not served: ");
    }
    EXPECT_REFUSED(run_toy(on_random({"--temp", "1"})), 2, "did you mean '--temperature'?");
    EXPECT_REFUSED(run_toy(on_random({"--top-p", "0"})), 2, "top-p is 0");
}

TEST(Infer, OnePromptAtATime) {
    EXPECT_REFUSED(run_toy(on_random({"--prompt", "a", "--prompt-ids", "1"})), 2, "--prompt and --prompt-ids");
    EXPECT_REFUSED(run_toy(on_random({"--prompt-ids", ""})), 2, "holds no id");
    EXPECT_REFUSED(run_toy(on_random({"--prompt-ids", "1 x"})), 2, "'x' is no token id");
    EXPECT_REFUSED(run_toy(on_random({"--prompt-ids", "1 512"})), 2, "512");
    EXPECT_REFUSED(run_toy(on_random({"--prompt-file", "/nonexistent"})), 2, "/nonexistent: cannot be opened");
    EXPECT_REFUSED(run_toy(on_random({"--prompt-file", "/"})), 2, "/: cannot be read: Is a directory");
}

TEST(Infer, AnyBytesAreAPrompt) {
    std::string bytes;
    for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
    const Json json = run_toy_json(on_random({"--n", "2", "--json"}), {.input = bytes});
    EXPECT_GT(json["prompt_tokens"], 200);
}

// What is written to a pipe is there before the next token is computed.
TEST(Infer, OutputComesAsItIsMade) {
    const Outcome outcome = run_toy(on_random({"--prompt", "q", "--n", "-1", "--ctx", "600", "--ignore-eos"}));
    const test::Terminal cut = run_on_terminal(
        on_random({"--prompt", "q", "--n", "-1", "--ctx", "100000", "--ignore-eos"}), outcome.out.substr(0, 3));
    EXPECT_EQ(cut.code, 1);
    EXPECT_NE(cut.screen.find("ended by cancelled"), std::string::npos) << cut.screen.substr(0, 400);
    EXPECT_NE(cut.screen.find("toy: interrupted"), std::string::npos);
}

TEST(Infer, JsonOfAnInterruptedRunIsWhole) {
    const test::Terminal cut = run_on_terminal(
        on_random({"--prompt-ids", "1 5", "--n", "-1", "--ctx", "100000", "--ids", "--ignore-eos"}), "ids: ");
    EXPECT_EQ(cut.code, 1);
    EXPECT_NE(cut.screen.find("toy: interrupted"), std::string::npos);
}

TEST(Infer, OnATerminalControlCharactersAreHarmless) {
    // Byte tokens 0x1B and 0x07 have the ids 3 + 0x1B and 3 + 0x07.
    const Words escape = on_random({"--prompt", "q", "--n", "2", "--logit-bias", "30=1000", "-q"});
    EXPECT_EQ(run_toy(escape).out, "\x1b\x1b");
    EXPECT_EQ(run_on_terminal(escape).screen, "\xEF\xBF\xBD\xEF\xBF\xBD\r\n");
}

TEST(Infer, AClosedPipeEndsItQuietly) {
    const std::string command =
        std::string(TOY_BINARY) + " infer " + test::random_model("f32-d32").string() +
        " -t 1 --prompt q --n -1 --ctx 1000 --ignore-eos -q | head -c 3 >/dev/null; exit ${PIPESTATUS[0]}";
    const test::TemporaryFolder folder;
    const std::string script = folder.write("run.bash", command);
    const std::string err = folder.path() / "err";
    const int status = std::system(("bash " + script + " 2>" + err).c_str());
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_EQ(test::read_file(err), "");
}

TEST(Infer, AFullDiskIsAFailure) {
    const test::TemporaryFolder folder;
    const std::string err = folder.path() / "err";
    const std::string command = std::string(TOY_BINARY) + " --help >/dev/full 2>" + err;
    EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 1);
    EXPECT_EQ(test::read_file(err), "toy: standard output cannot be written: No space left on device\n");
}

}  // namespace
}  // namespace toy
