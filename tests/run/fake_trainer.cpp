#include "fake_trainer.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/atomic_file.h"
#include "core/random.h"
#include "run/run_bundle.h"

namespace toy::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string contents(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

void write(const fs::path& path, const std::string& text) {
    AtomicFile file(path);
    file.write(text);
    file.commit();
}

// The tests of this program write much and flush each of it; in memory that takes seconds instead of minutes. What a
// disk would make of a loss of power they cannot show anyway.
[[maybe_unused]] const bool g_works_in_memory = [] {
    return std::getenv("TMPDIR") == nullptr && ::access("/dev/shm", W_OK) == 0 &&
           ::setenv("TMPDIR", "/dev/shm", 1) == 0;
}();

// The whole state of the training.
struct State {
    int64_t step = 0;
    std::vector<double> weights;
    double best_loss = 1e9;
    int64_t best_step = -1;

    double update() {
        double loss = 0;
        for (size_t i = 0; i < weights.size(); ++i) {
            weights[i] = std::cos(weights[i] + static_cast<double>(step)) * 0.5;
            loss += weights[i] * weights[i];
        }
        ++step;
        return std::sqrt(loss);
    }
    std::string weight_bytes() const {
        return {reinterpret_cast<const char*>(weights.data()), weights.size() * sizeof(double)};
    }
    Json position() const { return {{"step", step}, {"best_loss", best_loss}, {"best_step", best_step}}; }
    std::optional<int64_t> best() const { return best_step < 0 ? std::nullopt : std::optional(best_step); }

    void load(const fs::path& folder) {
        const Json position = Json::parse(contents(folder / "position.json"));
        step = position["step"];
        best_loss = position["best_loss"];
        best_step = position["best_step"];
        const std::string bytes = contents(folder / "weights.gguf");
        weights.resize(bytes.size() / sizeof(double));
        std::memcpy(weights.data(), bytes.data(), bytes.size());
    }
};

void checkpoint(RunBundle& run, const State& state) {
    const std::vector<CheckpointFile> files = {
        {"weights.gguf", [&](const fs::path& path) { write(path, state.weight_bytes()); }},
        {"position.json", [&](const fs::path& path) { write(path, state.position().dump()); }}};
    run.write_checkpoint(state.step, files, state.best());
}

void evaluate(RunBundle& run, State& state, double loss) {
    const double validation = loss + 0.1 * Random(7, static_cast<uint64_t>(state.step)).uniform();
    run.event("eval", state.step, Phase::eval,
              {{"name", "validation"}, {"loss", validation}, {"ppl", std::exp(validation)}, {"samples", 10}});
    if (validation >= state.best_loss) return;
    state.best_loss = validation;
    state.best_step = state.step;
    checkpoint(run, state);
}

RunEnd loop(RunBundle& run, State& state, const FakeTraining& training) {
    if (run.is_fresh()) {
        run.start({.backend = {{"kind", "cpu"}},
                   .model = {{"arch", "fake"}, {"name", "fake"}, {"vocab", 1}, {"d_model", 1}, {"n_layers", 1}},
                   .config = {{"context", 1}, {"steps", training.steps}, {"lr", 0.1}, {"seed", 1}}});
    }
    while (state.step < training.steps) {
        const double loss = state.update();
        run.event("step", state.step, Phase::train, {{"loss", loss}, {"lr", 0.1}, {"tokens", 4}, {"wall_us", 1}});
        if (training.pause_us > 0) ::usleep(static_cast<useconds_t>(training.pause_us));
        if (state.step % training.evaluate_every == 0) evaluate(run, state, loss);
        if (state.step % training.checkpoint_every == 0) checkpoint(run, state);
        if (training.stop_at == std::to_string(state.step)) {
            checkpoint(run, state);
            return {.reason = RunEnd::Reason::interrupted, .exit_code = 1};
        }
    }
    checkpoint(run, state);
    return {};
}

}  // namespace

void train(const fs::path& folder, const FakeTraining& training) {
    State state;
    state.weights.assign(training.weights, 0.25);
    std::unique_ptr<RunBundle> run;
    if (fs::exists(folder / "run.json")) {
        run = RunBundle::resume(folder, {"toy", "train", "--resume"});
        if (run->checkpoint()) state.load(run->checkpoint()->folder);
        run->set_best(state.best());
    } else {
        run =
            RunBundle::create({.arch = "fake", .out = folder},
                              {.argv = {"toy", "train"}, .config = {{"steps", training.steps}}, .keep = training.keep});
    }
    run->run([&] { return loop(*run, state, training); });
}

int in_child(const std::function<void()>& action) {
    const pid_t child = ::fork();
    if (child == 0) {
        try {
            action();
        } catch (const std::exception& error) {
            fmt::print(stderr, "the child ended with: {}\n", error.what());
            ::_exit(1);
        }
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

std::map<std::string, std::string> lasting_files(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const char* part : {"state", "weights"}) {
        for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder / part)) {
            const std::string name = fs::relative(entry.path(), folder).native();
            if (entry.is_symlink()) {
                files[name] = "-> " + fs::read_symlink(entry.path()).native();
            } else if (entry.is_regular_file() && entry.path().filename() != "events.offset") {
                files[name] = contents(entry.path());
            }
        }
    }
    std::istringstream lines(contents(folder / "events.jsonl"));
    std::string events;
    for (std::string line; std::getline(lines, line);) {
        Json event = Json::parse(line, nullptr, false);
        if (event.is_object()) {
            for (const char* time : {"t", "started_at", "ended_at"}) event.erase(time);
        }
        events += event.dump() + "\n";
    }
    files["events.jsonl"] = events;
    return files;
}

}  // namespace toy::test
