#include "run/run_bundle.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "core/error.h"
#include "core/sha256.h"
#include "core/temp_folder.h"
#include "fake_trainer.h"
#include "run/event_reader.h"
#include "run/provenance.h"
#include "support/sentence.h"

namespace toy {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

RunStart a_start() {
    return {.backend = {{"kind", "cpu"}},
            .model = {{"arch", "fake"}, {"name", "fake"}, {"vocab", 1}, {"d_model", 1}, {"n_layers", 1}},
            .config = {{"context", 1}, {"steps", 9}, {"lr", 0.1}, {"seed", 1}}};
}

const Json k_step = {{"loss", 2.5}, {"lr", 1e-3}, {"tokens", 512}, {"wall_us", 1000}};

std::unique_ptr<RunBundle> new_bundle(const fs::path& folder, const RunRecord& record = {}) {
    return RunBundle::create({.arch = "fake", .out = folder}, record);
}

std::vector<Event> events_of(const fs::path& folder) {
    EventReader reader(folder / "events.jsonl");
    std::vector<Event> events;
    while (auto event = reader.next()) events.push_back(std::move(*event));
    EXPECT_EQ(reader.bad_lines(), 0u);
    EXPECT_FALSE(reader.has_half_line());
    return events;
}

TEST(RunBundle, RecordsHowTheRunCameAbout) {
    const TempFolder folder;
    const fs::path model = folder.file("model.gguf", "a model"), data = folder.file("data.txt", "some text");
    const auto bundle = new_bundle(folder / "run", {.argv = {"toy", "train", "x y"},
                                                    .config = {{"steps", 9}, {"nested", {{"a", 1.5}}}},
                                                    .seeds = {{"seed", 7}},
                                                    .model_files = {model},
                                                    .data_files = {data},
                                                    .keep = 3});
    const Json record = read_run_json(folder / "run");
    EXPECT_EQ(record["format"], "toy/run-v1");
    EXPECT_EQ(record["run_id"], "run");
    EXPECT_EQ(record["argv"], (Json{"toy", "train", "x y"}));
    EXPECT_EQ(record["config"], (Json{{"steps", 9}, {"nested", {{"a", 1.5}}}}));
    EXPECT_EQ(record["seeds"]["seed"], 7);
    EXPECT_EQ(record["files"]["model"][0]["sha256"], sha256_hex("a model"));
    EXPECT_EQ(record["files"]["data"][0]["path"], data.native());
    EXPECT_EQ(record["files"]["data"][0]["size"], 9);
    EXPECT_EQ(record["checkpoints"]["keep"], 3);
    EXPECT_NE(record["toolchain"]["ggml"].get<std::string>().find("ggml"), std::string::npos);
    EXPECT_EQ(record["toolchain"]["toy"].get<std::string>().substr(0, 2), "1.");
    EXPECT_FALSE(record["host"]["name"].get<std::string>().empty());
    EXPECT_TRUE(record["cpu"]["flags"].is_array());
    EXPECT_EQ(bundle->id(), "run");
    EXPECT_EQ(bundle->config(), record["config"]);
    EXPECT_TRUE(bundle->is_fresh());
}

TEST(RunBundle, AMissingFileLeavesNoFolder) {
    const TempFolder folder;
    const std::string said = sentence([&] { new_bundle(folder / "run", {.data_files = {folder / "none.txt"}}); });
    EXPECT_NE(said.find("none.txt: cannot be opened"), std::string::npos);
    EXPECT_FALSE(fs::exists(folder / "run"));
}

TEST(RunBundle, BeginsWithRunStartAndEndsWithRunEnd) {
    const TempFolder folder;
    const auto bundle = new_bundle(folder / "run");
    bundle->run([&] {
        bundle->start(a_start());
        bundle->event("step", 1, Phase::train, k_step);
        return RunEnd{.quality_gate = {{"passed", true}, {"metric", "loss"}, {"value", 2.5}, {"threshold", 3.0}}};
    });
    const std::vector<Event> events = events_of(folder / "run");
    ASSERT_EQ(events.size(), 3u);
    EXPECT_EQ(events[0].kind, "run_start");
    EXPECT_EQ(events[0].fields["schema"], "toy/v1");
    EXPECT_EQ(events[0].fields["run_id"], "run");
    EXPECT_EQ(events[2].kind, "run_end");
    EXPECT_EQ(events[2].fields["reason"], "completed");
    EXPECT_EQ(events[2].fields["final_step"], 1);
    EXPECT_EQ(events[2].fields["final_loss"], 2.5);
    EXPECT_EQ(events[2].fields["exit_code"], 0);
    EXPECT_EQ(events[2].fields["quality_gate"]["passed"], true);
    EXPECT_TRUE(fs::exists(folder / "run/loss.svg"));
}

TEST(RunBundle, EveryWayOutWritesRunEnd) {
    struct Out {
        std::string reason, error;
        int exit_code;
        std::function<RunEnd()> work;
    };
    const std::vector<Out> outs = {
        {"interrupted", "", 1, [] { return RunEnd{.reason = RunEnd::Reason::interrupted, .exit_code = 1}; }},
        {"errored", "the loss of step 3 is NaN", 1, []() -> RunEnd { failure("the loss of step {} is NaN", 3); }},
        {"errored", "a bad flag", 2, []() -> RunEnd { bad_input("a bad flag"); }},
        {"errored", "there is not enough memory", 1, []() -> RunEnd { throw std::bad_alloc(); }},
        {"errored", "a fault", 1, []() -> RunEnd { throw std::logic_error("a fault"); }},
        {"aborted", "", 1, []() -> RunEnd { throw 3; }},
    };
    for (const Out& out : outs) {
        const TempFolder folder;
        try {
            const auto bundle = new_bundle(folder / "run");
            bundle->start(a_start());
            bundle->run(out.work);
        } catch (...) {
        }
        const Event end = events_of(folder / "run").back();
        EXPECT_EQ(end.kind, "run_end");
        EXPECT_EQ(end.fields["reason"], out.reason);
        EXPECT_EQ(end.fields.value("error", ""), out.error);
        EXPECT_EQ(end.fields["exit_code"], out.exit_code);
        EXPECT_EQ(end.fields["final_step"], 0);
        EXPECT_FALSE(end.fields.contains("final_loss"));
    }
}

// The first sentence is the one that counts, even where the disk takes no run_end.
TEST(RunBundle, AFullDiskEndsTheRunWithOneSentence) {
    const TempFolder folder;
    const int code = test::in_child([&] {
        const auto bundle = new_bundle(folder / "run");
        bundle->start(a_start());
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{4000, 4000};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        const std::string said = sentence([&] {
            bundle->run([&]() -> RunEnd {
                for (int step = 0;; ++step) bundle->event("step", step, Phase::train, k_step);
            });
        });
        if (said.find("events.jsonl: cannot be written: File too large") == std::string::npos) ::_exit(3);
    });
    EXPECT_EQ(code, 0);
    EXPECT_GT(events_of(folder / "run").size(), 20u);
}

TEST(RunBundle, ResumeRefusesWhatIsNoRun) {
    const TempFolder folder;
    const auto said = [&](const char* name) { return sentence([&] { RunBundle::resume(folder / name, {"toy"}); }); };
    EXPECT_NE(said("none").find("holds no run.json, so it is no run"), std::string::npos);
    folder.file("empty/x", "");
    EXPECT_NE(said("empty").find("holds no run.json"), std::string::npos);
    for (const char* text : {"", "{", "[]", "{\"format\":\"toy/run-v1\"}", "{\"format\":3}"}) {
        folder.file("bad/run.json", text);
        EXPECT_NE(said("bad").find("run.json: is damaged"), std::string::npos) << text;
    }
}

TEST(RunBundle, OneProcessAtATimeWritesARun) {
    const TempFolder folder;
    const auto bundle = new_bundle(folder / "run");
    EXPECT_NE(sentence([&] { RunBundle::resume(folder / "run", {"toy"}); }).find("is writing this run"),
              std::string::npos);
    EXPECT_NE(sentence([&] { new_bundle(folder / "run"); }).find("exists and is not empty"), std::string::npos);
}

TEST(RunBundle, ResumeRefusesDataThatChangedOrVanished) {
    const TempFolder folder;
    const fs::path data = folder.file("data.txt", "some text");
    new_bundle(folder / "run", {.data_files = {data}}).reset();
    RunBundle::resume(folder / "run", {"toy"}).reset();
    folder.file("data.txt", "same size");
    const auto said = [&] { return sentence([&] { RunBundle::resume(folder / "run", {"toy"}); }); };
    EXPECT_NE(said().find("data.txt: has changed since the run began"), std::string::npos);
    folder.file("data.txt", "longer text");
    EXPECT_NE(said().find("data.txt: has changed since the run began"), std::string::npos);
    fs::remove(data);
    EXPECT_NE(said().find("data.txt: the run was trained on this file, and it cannot be read"), std::string::npos);
}

TEST(RunBundle, ChangesOfAResumeStay) {
    const TempFolder folder;
    new_bundle(folder / "run", {.config = {{"steps", 9}, {"lr", 0.5}}}).reset();
    EXPECT_EQ(RunBundle::resume(folder / "run", {"toy"}, {{"steps", 20}})->config(),
              (Json{{"steps", 20}, {"lr", 0.5}}));
    const auto again = RunBundle::resume(folder / "run", {"toy", "train"});
    EXPECT_EQ(again->config()["steps"], 20);
    EXPECT_EQ(again->record()["config"]["steps"], 9);
    EXPECT_EQ(again->record()["resumes"].size(), 2u);
    EXPECT_EQ(again->record()["resumes"][1]["argv"], (Json{"toy", "train"}));
}

TEST(RunBundle, ARunWithoutCheckpointBeginsAgain) {
    const TempFolder folder;
    const auto begin = [&] {
        const auto bundle = new_bundle(folder / "run");
        bundle->start(a_start());
        bundle->event("step", 1, Phase::train, k_step);
        ::kill(::getpid(), SIGKILL);
    };
    ASSERT_EQ(test::in_child(begin), -SIGKILL);
    const auto bundle = RunBundle::resume(folder / "run", {"toy"});
    EXPECT_FALSE(bundle->checkpoint());
    EXPECT_TRUE(bundle->is_fresh());
    EXPECT_EQ(read_file(folder / "run/events.jsonl"), "");
}

TEST(RunBundle, EventsBehindTheCheckpointGoAndShortOnesAreTold) {
    const TempFolder folder;
    test::train(folder / "run", {.steps = 8, .stop_at = "4"});
    const uint64_t offset = verified_checkpoint(folder / "run", 4).events_size;
    const std::string events = read_file(folder / "run/events.jsonl");
    ASSERT_LT(offset, events.size());
    {
        const auto bundle = RunBundle::resume(folder / "run", {"toy"});
        EXPECT_EQ(bundle->checkpoint()->step, 4);
        EXPECT_TRUE(bundle->notes().empty());
        EXPECT_FALSE(bundle->is_fresh());
        EXPECT_EQ(read_file(folder / "run/events.jsonl"), events.substr(0, offset));
        bundle->end({});
    }
    fs::resize_file(folder / "run/events.jsonl", offset - 3);
    const auto bundle = RunBundle::resume(folder / "run", {"toy"});
    ASSERT_EQ(bundle->notes().size(), 1u);
    EXPECT_NE(bundle->notes()[0].find("bytes that the checkpoint counts on"), std::string::npos);
    EXPECT_EQ(read_file(folder / "run/events.jsonl").back(), '\n');
}

TEST(RunBundle, ASecondToyOrMachineIsTold) {
    const TempFolder folder;
    new_bundle(folder / "run").reset();
    Json record = read_run_json(folder / "run");
    record["toolchain"]["ggml"] = "another";
    write_run_json(folder / "run", record);
    const auto bundle = RunBundle::resume(folder / "run", {"toy"});
    ASSERT_EQ(bundle->notes().size(), 1u);
    EXPECT_NE(bundle->notes()[0].find("is not the one that began the run"), std::string::npos);
}

TEST(Provenance, TellsTheCommitOfAFolder) {
    const TempFolder folder;
    EXPECT_TRUE(git_facts(folder.path()).is_null());
    const std::string place = "cd '" + folder.path().native() + "' && ";
    const std::string who = "git -c user.name=a -c user.email=a@b ";
    if (std::system((place + "git init -q -b trunk . 2>/dev/null").c_str()) != 0) GTEST_SKIP() << "needs git";
    folder.file("file", "1");
    ASSERT_EQ(std::system((place + "git add file && " + who + "commit -q -m x").c_str()), 0);
    Json facts = git_facts(folder.path());
    EXPECT_EQ(facts["sha"].get<std::string>().size(), 40u);
    EXPECT_EQ(facts["branch"], "trunk");
    EXPECT_EQ(facts["dirty"], false);
    folder.file("untracked", "");
    EXPECT_EQ(git_facts(folder.path())["dirty"], false);
    folder.file("file", "2");
    EXPECT_EQ(git_facts(folder.path())["dirty"], true);
}

}  // namespace
}  // namespace toy
