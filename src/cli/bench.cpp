// toy bench: speed of prompt processing and of generation, measured as llama.cpp's llama-bench measures them, so that
// the two can be compared: "pp512" computes 512 random tokens and the logits of the last, "tg128" computes 128 tokens
// one at a time with the logits of each, both from an empty context (or behind --depth tokens).
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/bench_report.h"
#include "cli/inference_flags.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "cli/version.h"
#include "core/error.h"
#include "core/progress.h"
#include "core/random.h"
#include "engine/embedder.h"
#include "engine/inference.h"

namespace toy::cli {
namespace {

using Clock = std::chrono::steady_clock;

using Advance = std::function<void(int64_t done)>;

void draw(int64_t count, const Model& model, Random& random, std::vector<int32_t>& ids) {
    const auto vocabulary = static_cast<uint64_t>(model.spec().vocabulary);
    ids.resize(static_cast<size_t>(count));
    for (int32_t& id : ids) id = static_cast<int32_t>(random.bits() % vocabulary);
}

/// Computes random tokens on one slot.
class Workload {
 public:
    explicit Workload(Inference& inference) : inference_(inference) {}

    /// Where a run behind `depth` tokens begins. A recurrent state cannot go back there; since what it costs does not
    /// depend on the depth, it begins anew.
    int64_t rewind(int64_t depth) {
        if (!inference_.cache().is_recurrent()) return depth;
        inference_.cache().truncate(0, 0);
        return 0;
    }

    /// `n` tokens at positions from.., a chunk at a time, with the logits of the last.
    void prompt(int64_t from, int64_t n, const Advance& advance) {
        for (int64_t done = 0; done < n;) {
            const int64_t count = std::min(inference_.options().chunk, n - done);
            draw(count, inference_.model(), random_, ids_);
            Piece piece{0, from + done, ids_, {}};
            done += count;
            if (done == n) piece.outputs = {static_cast<int32_t>(count - 1)};
            inference_.step({&piece, 1});
            advance(done);
        }
    }

    /// `n` tokens at positions from.., one at a time, with the logits of each.
    void generate(int64_t from, int64_t n, const Advance& advance) {
        for (int64_t i = 0; i < n; ++i) {
            draw(1, inference_.model(), random_, ids_);
            const Piece piece{0, from + i, ids_, {0}};
            inference_.step({&piece, 1});
            advance(i + 1);
        }
    }

 private:
    Inference& inference_;
    Random random_{0};
    std::vector<int32_t> ids_;
};

std::vector<BenchCase> cases_of(const Arguments& arguments) {
    std::vector<BenchCase> settings;
    for (int64_t threads :
         arguments.given("threads") ? arguments.integers("threads") : std::vector<int64_t>{default_threads()}) {
        for (const std::string& type : arguments.texts("kv-type")) {
            for (const std::string& flash : arguments.texts("flash-attention")) {
                for (const std::string& repack : arguments.texts("repack")) {
                    for (int64_t chunk : arguments.integers("chunk")) {
                        settings.push_back({{.threads = static_cast<int>(threads),
                                             .cache_type = cache_type_of(type),
                                             .flash_attention = is_on(flash),
                                             .repack = is_on(repack),
                                             .chunk = chunk}});
                    }
                }
            }
        }
    }
    std::vector<BenchCase> cases;
    const auto add = [&](BenchCase one, int64_t prompt, int64_t generate, int64_t depth) {
        if (prompt + generate == 0) return;
        one.prompt = prompt;
        one.generate = generate;
        one.depth = depth;
        one.options.context = prompt + generate + depth;
        cases.push_back(one);
    };
    for (const BenchCase& one : settings) {
        for (int64_t depth : arguments.integers("depth")) {
            for (int64_t prompt : arguments.integers("prompt")) add(one, prompt, 0, depth);
            for (int64_t generate : arguments.integers("generate")) add(one, 0, generate, depth);
        }
    }
    if (cases.empty()) bad_input("there is nothing to measure: --prompt and --generate are both 0");
    return cases;
}

// An encoder has prompts alone, and none longer than its context.
void keep_encoder_cases(std::vector<BenchCase>& cases, const Spec& spec) {
    std::erase_if(cases, [](const BenchCase& one) { return one.generate > 0; });
    if (cases.empty())
        bad_input("a model of architecture {} gives embeddings only: measure --prompt", spec.architecture);
    for (BenchCase& one : cases) {
        if (one.depth > 0) bad_input("a model of architecture {} has no cache: leave out --depth", spec.architecture);
        if (one.prompt > spec.context) {
            bad_input("a prompt of {} tokens is longer than the model's context of {}", one.prompt, spec.context);
        }
    }
}

/// Runs the cases one after the other and shows how far they are.
class Bench {
 public:
    Bench(std::shared_ptr<const Model> model, const Arguments& arguments, size_t cases)
        : model_(std::move(model)),
          repetitions_(arguments.integer("repetitions")),
          warms_up_(arguments.on("warm-up")),
          progress_("bench", static_cast<int64_t>(cases) * (repetitions_ + 1) * k_run) {}

    void measure(BenchCase& one) {
        progress_.set_label(fmt::format("{}, threads {}", one.test(), one.options.threads));
        if (model_->spec().has_head) {
            measure_generator(one);
        } else {
            measure_encoder(one);
        }
        progress_.clear();
    }

 private:
    static constexpr int64_t k_run = 1000;  // parts that the bar divides a run into

    void measure_generator(BenchCase& one) {
        Inference inference(model_, model_->params.device(), one.options);
        Workload work(inference);
        // Rows of the cache before the depth are never written again, so this serves all runs.
        if (one.depth > 0) work.prompt(0, one.depth, [&](int64_t done) { show(done, one.depth); });
        if (warms_up_) run(work, one, std::min<int64_t>(one.generate, 1));
        ++runs_;
        for (int64_t i = 0; i < repetitions_; ++i) {
            const Clock::time_point begin = Clock::now();
            run(work, one, one.generate);
            one.seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
            ++runs_;
        }
    }

    // One text of random tokens; there is nothing to cache.
    void measure_encoder(BenchCase& one) {
        Embedder embedder(model_, model_->params.device(), {one.options.threads, one.options.flash_attention});
        Random random(0);
        std::vector<int32_t> ids;
        draw(one.prompt, *model_, random, ids);
        if (warms_up_) embedder.states({&ids, 1});
        ++runs_;
        for (int64_t i = 0; i < repetitions_; ++i) {
            const Clock::time_point begin = Clock::now();
            embedder.states({&ids, 1});
            one.seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
            show(1, 1);
            ++runs_;
        }
    }

    void run(Workload& work, const BenchCase& one, int64_t generate) {
        const int64_t from = work.rewind(one.depth);
        work.prompt(from, one.prompt, [&](int64_t done) { show(done, one.prompt); });
        work.generate(from, generate, [&](int64_t done) { show(done, generate); });
    }
    void show(int64_t done, int64_t of) { progress_.show(runs_ * k_run + k_run * done / of); }

    std::shared_ptr<const Model> model_;
    int64_t repetitions_;
    bool warms_up_;
    Progress progress_;
    int64_t runs_ = 0;
};

int run(const Arguments& arguments) {
    std::vector<BenchCase> cases = cases_of(arguments);
    const Device device = Device::open(arguments.text("device"));
    const std::filesystem::path path = find_model(arguments.positional(0));
    const std::shared_ptr<const Model> model = Model::load(path, device);
    if (!model->spec().has_head) keep_encoder_cases(cases, model->spec());
    for (const BenchCase& one : cases) {
        if (model->spec().has_head) check_memory(model->spec(), device, one.options);
    }
    const BenchReport report(*model);
    const bool as_json = arguments.on("json");
    if (!as_json) print(report.head());
    Bench bench(model, arguments, cases.size());
    for (BenchCase& one : cases) {
        bench.measure(one);
        if (!as_json) print(report.row(one));
    }
    if (as_json) print_json(report.json(cases));
    return k_ok;
}

std::vector<Flag> flags() {
    constexpr int64_t k_most_tokens = int64_t{1} << 24;
    std::vector<Flag> all = {
        {.name = "prompt",
         .letter = 'p',
         .kind = Kind::integer,
         .value = "N",
         .fallback = "512",
         .summary = "tokens of the prompt test; 0: none",
         .least = 0,
         .most = k_most_tokens,
         .is_list = true},
        {.name = "generate",
         .letter = 'n',
         .kind = Kind::integer,
         .value = "N",
         .fallback = "128",
         .summary = "tokens of the generation test; 0: none",
         .least = 0,
         .most = k_most_tokens,
         .is_list = true},
        {.name = "depth",
         .letter = 'd',
         .kind = Kind::integer,
         .value = "N",
         .fallback = "0",
         .summary = "tokens that are in the context already",
         .least = 0,
         .most = k_most_tokens,
         .is_list = true},
        {.name = "repetitions",
         .letter = 'r',
         .kind = Kind::integer,
         .value = "N",
         .fallback = "5",
         .summary = "timed runs of each test",
         .least = 1,
         .most = 10000},
        {.name = "warm-up", .summary = "an untimed run first", .starts_on = true, .can_be_negated = true},
    };
    const std::vector<Flag> shared = inference_flags(true);
    all.insert(all.end(), shared.begin(), shared.end());
    return all;
}

}  // namespace

extern const Command k_bench;
const Command k_bench{
    .name = "bench",
    .summary = "measure how fast a model runs",
    .description =
        "Measures prompt processing (pp: N tokens in chunks, logits of the last) and generation (tg: N tokens one at a "
        "time, logits of each), as llama-bench does, over all combinations of the given values. Prints tokens per "
        "second "
        "as a Markdown table; with --json every sample.",
    .positionals = {model_word()},
    .flags = flags(),
    .refused = {},
    .examples = {"toy bench model.gguf",
                 "toy bench model.gguf --threads 1,2,4 --kv-type f16,q8_0 --flash-attention on,off",
                 "toy bench model.gguf --prompt 0 --generate 128 --depth 0,4096 --json"},
    .run = run,
};

}  // namespace toy::cli
