// toy runs, run as a user runs it, and how a run ends by a signal.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>

#include "cli/interrupt.h"
#include "program.h"
#include "run/run_bundle.h"
#include "run/run_history.h"

namespace toy {
namespace {

using test::Outcome;
using test::run_toy;
using test::run_toy_json;
using test::TemporaryFolder;
using Json = nlohmann::ordered_json;

RunStart a_start(const std::string& compare_to = "") {
    return {.backend = {{"kind", "cpu"}},
            .model = {{"arch", "gpt2"}, {"name", "tiny"}, {"vocab", 65}, {"d_model", 8}, {"n_layers", 2}},
            .config = {{"context", 8}, {"steps", 3}, {"lr", 0.1}, {"seed", 1}},
            .compare_to = compare_to};
}

void take_step(RunBundle& run, int64_t step, double loss) {
    run.event("step", step, Phase::train, {{"loss", loss}, {"lr", 0.1}, {"tokens", 64}, {"wall_us", 1000}});
}

// A finished run of three steps whose last losses are `loss`.
void make_run(const std::filesystem::path& folder, double loss, const std::string& compare_to = "") {
    const auto run = RunBundle::create({.arch = "gpt2", .out = folder}, {.argv = {"toy", "train"}});
    run->run([&] {
        run->start(a_start(compare_to));
        for (int64_t step : {1, 2, 3}) take_step(*run, step, loss + 3.0 - static_cast<double>(step));
        run->event("eval", 3, Phase::eval,
                   {{"name", "validation"}, {"loss", loss}, {"ppl", std::exp(loss)}, {"samples", 4}});
        return RunEnd{};
    });
}

class Runs : public testing::Test {
 protected:
    void SetUp() override {
        make_run(folder_.path() / "gpt2-a", 2.0);
        make_run(folder_.path() / "gpt2-b", 1.9, "gpt2-a");
        make_run(folder_.path() / "llama-c", 2.01);
        std::filesystem::create_directory(folder_.path() / "broken");
    }
    std::vector<std::string> words(std::vector<std::string> more) const {
        more.insert(more.begin(), "runs");
        more.insert(more.end(), {"--runs", folder_.path().string()});
        return more;
    }
    Outcome run(const std::vector<std::string>& more) const { return run_toy(words(more)); }
    Json json(std::vector<std::string> more) const {
        more.emplace_back("--json");
        return run_toy_json(words(more));
    }
    TemporaryFolder folder_;
};

TEST_F(Runs, AreListedByDateOrLoss) {
    const Json by_loss = json({"list", "--sort", "loss"});
    EXPECT_EQ(by_loss["format"], "toy/runs-list-v1");
    ASSERT_EQ(by_loss["runs"].size(), 4u);
    EXPECT_EQ(by_loss["runs"][0]["run_id"], "gpt2-b");
    EXPECT_EQ(by_loss["runs"][1]["run_id"], "gpt2-a");
    EXPECT_EQ(by_loss["runs"][2]["validation_loss"], 2.01);
    EXPECT_EQ(by_loss["runs"][3]["state"], "damaged");
    EXPECT_NE(by_loss["runs"][3]["fault"].get<std::string>().find("holds no run.json"), std::string::npos);
    EXPECT_EQ(json({"list"})["runs"][3]["run_id"], "broken");  // of no date
    const std::string text = run({"list"}).out;
    EXPECT_NE(text.find("gpt2-a   completed"), std::string::npos) << text;
    EXPECT_NE(text.find("damaged"), std::string::npos);
    EXPECT_EQ(run_toy({"runs", "list", "--runs", "/none"}).out, "there are no runs in /none\n");
}

TEST_F(Runs, AreShown) {
    const Json shown = json({"show", "gpt2-a"});
    EXPECT_EQ(shown["steps"], 3);
    EXPECT_EQ(shown["loss"], 2.0);
    EXPECT_EQ(shown["tokens"], 192);
    EXPECT_EQ(shown["run_start"]["model"]["vocab"], 65);
    EXPECT_EQ(shown["record"]["argv"][1], "train");
    const std::string text = run({"show", "ll"}).out;
    EXPECT_NE(text.find("llama-c"), std::string::npos);
    EXPECT_NE(text.find("2.0100 at step 3"), std::string::npos) << text;
    EXPECT_NE(run({"show", "broken"}).out.find("damaged"), std::string::npos);
}

TEST_F(Runs, AreCompared) {
    const Json two = json({"compare", "gpt2-a", "gpt2-b", "llama-c"})["comparisons"];
    EXPECT_EQ(two[0]["verdict"], "ahead");
    EXPECT_EQ(two[0]["baseline_run_id"], "gpt2-a");
    EXPECT_NEAR(two[0]["loss_delta"].get<double>(), -0.1, 1e-12);
    EXPECT_EQ(two[1]["verdict"], "par");
    EXPECT_EQ(json({"compare", "gpt2-b"})["comparisons"][0]["baseline_run_id"], "gpt2-a");  // as run_start says
    EXPECT_NE(run({"compare", "gpt2-b", "gpt2-a"}).out.find("behind"), std::string::npos);
    EXPECT_REFUSED(run({"compare", "gpt2-a"}), 2, "names no baseline itself");
    EXPECT_REFUSED(run({"compare", "gpt2-a", "broken"}), 2, "the run is damaged");
}

TEST_F(Runs, ArePlotted) {
    const std::string ascii = run({"plot", "gpt2-a", "--ascii"}).out;
    EXPECT_EQ(ascii.rfind("gpt2-a\n", 0), 0u);
    EXPECT_NE(ascii.find("o validation"), std::string::npos);
    EXPECT_EQ(ascii, run({"plot", "gpt2-a"}).out);  // no locale: no UTF-8
    const Outcome utf8 = run_toy(words({"plot", "gpt2-a"}), {.variables = {{"LANG", "en_GB.UTF-8"}}});
    EXPECT_NE(utf8.out.find("│"), std::string::npos);
    const auto svg = folder_.path() / "two.svg";
    const Json plotted = json({"plot", "gpt2-a", "gpt2-b", "--y", "log", "--svg", svg.string()});
    EXPECT_EQ(plotted["series"].size(), 4u);
    EXPECT_EQ(
        plotted["series"][0]["points"],
        (Json{{1.0, 4.0}, {2.0, plotted["series"][0]["points"][1][1]}, {3.0, plotted["series"][0]["points"][2][1]}}));
    EXPECT_NE(test::read_file(svg).find("gpt2-b validation"), std::string::npos);
    EXPECT_NE(test::run_on_terminal(words({"plot", "gpt2-a"})).screen.find("\x1b[34m"), std::string::npos);
    EXPECT_REFUSED(run({"plot", "gpt2-a", "--svg", "/none/x.svg"}), 2, "the folder /none does not exist");
}

TEST_F(Runs, AreExported) {
    const auto csv = folder_.path() / "x.csv";
    EXPECT_EQ(json({"export", "gpt2-a", "--csv", csv.string()})["files"][0], csv.string());
    EXPECT_EQ(test::read_file(csv).rfind("step,t,train/loss,train/lr,", 0), 0u) << test::read_file(csv);
    const Json files = json({"export", "gpt2-a", "gpt2-b", "--tensorboard", (folder_.path() / "tb").string()})["files"];
    ASSERT_EQ(files.size(), 2u);
    EXPECT_GT(std::filesystem::file_size(files[1].get<std::string>()), 300u);
    EXPECT_REFUSED(run({"export", "gpt2-a"}), 2, "needs either --tensorboard or --csv");
    EXPECT_REFUSED(run({"export", "gpt2-a", "gpt2-b", "--csv", csv.string()}), 2, "takes 1 run, but 2 are named");
}

TEST_F(Runs, BadWordsAreRefused) {
    EXPECT_REFUSED(run({"lst"}), 2, "lst");
    EXPECT_REFUSED(run({}), 2, "action");
    EXPECT_REFUSED(run({"show"}), 2, "takes 1 run, but 0 are named");
    EXPECT_REFUSED(run({"show", "gpt2"}), 2, "begins the names of 2 runs");
    EXPECT_REFUSED(run({"show", "x\x1b[31m"}), 2, "there is no run 'x\\x1b[31m'");
    EXPECT_REFUSED(run({"show", "/none/x"}), 2, "holds no run");
    EXPECT_REFUSED(run({"list", "gpt2-a"}), 2, "takes no run");
    EXPECT_REFUSED(run({"list", "--svg", "x"}), 2, "--svg belongs to `toy runs plot`");
}

// Trains until a signal asks for a stop, as `toy train` does; −signal or the exit code.
int end_by(int signal, bool twice, const std::filesystem::path& folder) {
    std::array<int, 2> ready;
    if (::pipe(ready.data()) != 0) return -1;
    const pid_t child = ::fork();
    if (child == 0) {
        cli::catch_interrupts();
        const auto run = RunBundle::create({.arch = "gpt2", .out = folder}, {});
        const cli::Polite polite;
        run->run([&] {
            run->start(a_start());
            for (int64_t step = 1;; ++step) {
                take_step(*run, step, 2.0);
                if (step == 3 && ::write(ready[1], "x", 1) != 1) ::_exit(99);
                ::usleep(1000);
                if (cli::is_interrupted() && !twice) break;
            }
            return RunEnd{.reason = RunEnd::Reason::interrupted, .exit_code = 1};
        });
        ::_exit(1);
    }
    char byte = 0;
    if (::read(ready[0], &byte, 1) != 1) return -1;
    ::kill(child, signal);
    if (twice) {
        ::usleep(50000);  // the first has arrived
        ::kill(child, signal);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(ready[0]);
    ::close(ready[1]);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(Interrupts, TheFirstSignalEndsARunAsInterrupted) {
    for (int signal : {SIGINT, SIGTERM}) {
        const TemporaryFolder folder;
        EXPECT_EQ(end_by(signal, false, folder.path() / "run"), 1);
        const RunHistory run = read_run(folder.path() / "run");
        EXPECT_EQ(run.state, "interrupted");
        EXPECT_GE(run.steps, 3);
        EXPECT_EQ(run.bad_lines, 0u);
    }
}

TEST(Interrupts, TheSecondSignalEndsAtOnce) {
    const TemporaryFolder folder;
    EXPECT_EQ(end_by(SIGINT, true, folder.path() / "one"), 1);
    EXPECT_EQ(end_by(SIGTERM, true, folder.path() / "two"), -SIGTERM);
    EXPECT_EQ(read_run(folder.path() / "one").state, "stopped");
    EXPECT_EQ(read_run(folder.path() / "two").state, "stopped");
}

}  // namespace
}  // namespace toy
