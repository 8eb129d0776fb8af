#include "run/run_history.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <sstream>

#include "core/error.h"
#include "core/random.h"
#include "core/temp_folder.h"
#include "fake_trainer.h"
#include "run/export.h"
#include "run/loss_plot.h"
#include "run/run_bundle.h"
#include "support/sentence.h"

namespace toy {
namespace {

namespace fs = std::filesystem;

TEST(RunHistory, TellsWhatARunDid) {
    const TempFolder folder;
    test::train(folder / "run", {.steps = 12});
    const RunHistory run = read_run(folder / "run");
    EXPECT_EQ(run.state, "completed");
    EXPECT_EQ(run.id, "run");
    EXPECT_EQ(run.arch, "fake");
    EXPECT_EQ(run.steps, 12);
    EXPECT_EQ(run.tokens, 48);
    EXPECT_EQ(run.scalars.at("train/loss").size(), 12u);
    EXPECT_EQ(run.scalars.at("validation/loss").size(), 4u);
    EXPECT_EQ(run.scalars.at("validation/ppl").size(), 4u);
    EXPECT_EQ(run.scalars.at("train/tokens_per_s")[0].value, 4e6);
    EXPECT_EQ(run.loss, run.scalars.at("train/loss").back().value);
    EXPECT_EQ(run.validation_loss, run.scalars.at("validation/loss").back().value);
    double best = 1e9;
    for (const Scalar& one : run.scalars.at("validation/loss")) best = std::min(best, one.value);
    EXPECT_EQ(run.best_validation_loss, best);
    EXPECT_EQ(run.checkpoints.back(), 12);
    EXPECT_TRUE(run.fault.empty());
}

TEST(RunHistory, TellsRunningStoppedAndErroredApart) {
    const TempFolder folder;
    const auto begin = [&](const char* name) { return RunBundle::create({.arch = "fake", .out = folder / name}, {}); };
    const auto running = begin("running");
    EXPECT_EQ(read_run(folder / "running").state, "running");
    test::in_child([&] {
        const auto bundle = begin("stopped");
        ::kill(::getpid(), SIGKILL);
    });
    EXPECT_EQ(read_run(folder / "stopped").state, "stopped");
    test::train(folder / "interrupted", {.steps = 9, .stop_at = "5"});
    EXPECT_EQ(read_run(folder / "interrupted").state, "interrupted");
    EXPECT_EQ(read_runs(folder.path()).size(), 3u);
}

TEST(RunHistory, DamagedRunsAreTold) {
    const TempFolder folder;
    folder.file("empty/x", "");
    EXPECT_EQ(read_run(folder / "empty").state, "damaged");
    EXPECT_NE(read_run(folder / "empty").fault.find("holds no run.json"), std::string::npos);
    test::train(folder / "run", {.steps = 6});
    std::ofstream(folder / "run/events.jsonl", std::ios::app) << "rubbish\n{\"kind\":\"no";
    EXPECT_EQ(read_run(folder / "run").state, "completed");
    EXPECT_EQ(read_run(folder / "run").bad_lines, 1u);
    EXPECT_TRUE(read_run(folder / "run").has_half_line);
    fs::remove(folder / "run/run.json");  // as the older toy's runs
    EXPECT_EQ(read_run(folder / "run").state, "completed");
    std::string events = read_file(folder / "run/events.jsonl");
    const size_t at = events.find("\"started_at\":\"") + 14;
    folder.file("older/events.jsonl", events.erase(at, events.find('"', at) - at));
    EXPECT_EQ(read_run(folder / "older").started_at, "");
    folder.file("run/run.json", "{");
    EXPECT_EQ(read_run(folder / "run").state, "damaged");
    EXPECT_NE(read_run(folder / "run").fault.find("run.json: is damaged"), std::string::npos);
}

// Files that something wrote into: what comes is a history, or one sentence.
TEST(RunHistory, NoDamageMakesReadingFail) {
    const TempFolder folder;
    test::train(folder / "run", {.steps = 4, .checkpoint_every = 2, .weights = 2});
    const std::string record = read_file(folder / "run/run.json"), events = read_file(folder / "run/events.jsonl");
    Random random(11);
    const auto damaged = [&](std::string text) {
        static const std::vector<std::string> pieces = {"null", "\"", "{", "]", "1e999", "-1", "[]", "\n", "\0", "0"};
        for (int changes = 0; changes < 3; ++changes) {
            const size_t at = random.bits() % text.size();
            text.replace(at, random.bits() % 12, pieces[random.bits() % pieces.size()]);
        }
        return text;
    };
    for (int i = 0; i < 300; ++i) {
        folder.file("run/run.json", damaged(record));
        folder.file("run/events.jsonl", damaged(events));
        const RunHistory run = read_run(folder / "run");
        EXPECT_FALSE(run.state.empty());
        svg_plot(loss_plot(std::vector{loss_curves(run)}));
        sentence([&] { RunBundle::resume(folder / "run", {"toy"}); });
    }
    // Values of another kind where the text is still JSON.
    const auto whole = nlohmann::ordered_json::parse(record);
    for (const auto& [key, value] : whole.items()) {
        for (const nlohmann::ordered_json& other : {nlohmann::ordered_json(3), nlohmann::ordered_json({{"x", 1}})}) {
            auto changed = whole;
            changed[key] = other;
            folder.file("run/run.json", changed.dump());
            read_run(folder / "run");
            sentence([&] { RunBundle::resume(folder / "run", {"toy"}); });
        }
    }
}

TEST(RunHistory, RunsAreFoundByIdPrefixAndPath) {
    const TempFolder folder;
    for (const char* name : {"gpt2-001", "gpt2-0011", "llama-001"}) {
        folder.file(std::string(name) + "/events.jsonl", "");
    }
    EXPECT_EQ(find_run("gpt2-001", folder.path()), folder / "gpt2-001");
    EXPECT_EQ(find_run("ll", folder.path()), folder / "llama-001");
    EXPECT_EQ(find_run((folder / "llama-001").native(), "elsewhere"), folder / "llama-001");
    EXPECT_NE(sentence([&] { find_run("gpt", folder.path()); }).find("begins the names of 2 runs"), std::string::npos);
    EXPECT_NE(sentence([&] { find_run("x", folder.path()); }).find("there is no run 'x'"), std::string::npos);
    EXPECT_NE(sentence([&] { find_run("", folder.path()); }).find("there is no run"), std::string::npos);
    EXPECT_NE(sentence([&] { find_run("a/b", folder.path()); }).find("holds no run"), std::string::npos);
}

RunHistory with_loss(double train, std::optional<double> validation) {
    RunHistory run;
    run.loss = train;
    if (validation) {
        run.validation_loss = validation;
        run.scalars["validation/loss"] = {{1, 1, *validation}};
    }
    return run;
}

TEST(RunHistory, VerdictsFollowTheOnePercentRule) {
    const auto verdict = [](const RunHistory& run, const RunHistory& baseline) {
        return compare_runs(run, baseline)->verdict;
    };
    EXPECT_EQ(verdict(with_loss(9, 2.019), with_loss(1, 2.0)), "par");
    EXPECT_EQ(verdict(with_loss(9, 1.981), with_loss(1, 2.0)), "par");
    EXPECT_EQ(verdict(with_loss(9, 1.97), with_loss(1, 2.0)), "ahead");
    EXPECT_EQ(verdict(with_loss(1, 2.03), with_loss(9, 2.0)), "behind");
    EXPECT_EQ(verdict(with_loss(1, {}), with_loss(2, 0.5)), "ahead");  // only the training loss in common
    EXPECT_EQ(compare_runs(with_loss(1, {}), with_loss(2, 0.5))->metric, "train/loss");
    EXPECT_EQ(verdict(with_loss(std::nan(""), {}), with_loss(2, {})), "abort");
    EXPECT_DOUBLE_EQ(compare_runs(with_loss(1, 1.5), with_loss(1, 2.0))->ppl_ratio, std::exp(-0.5));
    EXPECT_FALSE(compare_runs(RunHistory(), with_loss(1, {})));
}

// RFC 3720, appendix B.4, and the check value of the "CRC-32/ISCSI" catalogue entry.
TEST(Export, Crc32cGivesThePublishedValues) {
    EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
    EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
    EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43u);
    std::string rising;
    for (int i = 0; i < 32; ++i) rising += static_cast<char>(i);
    EXPECT_EQ(crc32c(rising), 0x46DD794Eu);
    EXPECT_EQ(crc32c(""), 0u);
}

TEST(Export, ATensorBoardFileIsReadByAnotherReader) {
    if (std::system("python3 -c '' 2>/dev/null") != 0) GTEST_SKIP() << "needs python3";
    const TempFolder folder;
    test::train(folder / "run", {.steps = 6});
    const RunHistory run = read_run(folder / "run");
    const fs::path file = export_tensorboard(run, folder / "tb");
    EXPECT_EQ(file.parent_path(), folder / "tb/run");
    EXPECT_EQ(file.filename().native().rfind("events.out.tfevents.", 0), 0u);
    EXPECT_EQ(export_tensorboard(run, folder / "tb"), file);  // again: the same file
    const std::string line = "python3 '" TOY_SOURCE_DIR "/tests/run/read_tfevents.py' '" + file.native() + "' > '" +
                             (folder / "out").native() + "'";
    ASSERT_EQ(std::system(line.c_str()), 0);
    std::istringstream lines(read_file(folder / "out"));
    std::string word;
    std::getline(lines, word);
    EXPECT_EQ(word, "version brain.Event:2");
    std::map<std::string, std::vector<Scalar>> read;
    int64_t step = 0;
    std::string tag;
    double value = 0, wall_time = 0, last = 0;
    while (lines >> step >> tag >> value >> wall_time) {
        read[tag].push_back({step, wall_time, value});
        EXPECT_GE(wall_time, last);
        EXPECT_GT(wall_time, 1.7e9);
        last = wall_time;
    }
    ASSERT_EQ(read.size(), run.scalars.size());
    for (const auto& [name, scalars] : run.scalars) {
        ASSERT_EQ(read[name].size(), scalars.size());
        for (size_t i = 0; i < scalars.size(); ++i) {
            EXPECT_EQ(read[name][i].step, scalars[i].step);
            EXPECT_EQ(static_cast<float>(read[name][i].value), static_cast<float>(scalars[i].value));
        }
    }
}

TEST(Export, CsvHasARowForEachStep) {
    RunHistory run;
    run.scalars["train/loss"] = {{1, 0.5, 2.25}, {2, 1.0, std::nan("")}};
    run.scalars["a,\"b\"/loss"] = {{2, 1.5, 1e-7}};
    EXPECT_EQ(csv_of(run), "step,t,\"a,\"\"b\"\"/loss\",train/loss\n1,0.5,,2.25\n2,1.5,1e-07,nan\n");
}

}  // namespace
}  // namespace toy
