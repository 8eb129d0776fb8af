// toy infer: a model continues a prompt.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/inference_flags.h"
#include "cli/interrupt.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "cli/prompt.h"
#include "cli/sampling_flags.h"
#include "cli/transcript.h"
#include "core/error.h"
#include "core/progress.h"

namespace toy::cli {
namespace {

using Clock = std::chrono::steady_clock;
const Clock::time_point k_program_start = Clock::now();

double seconds_between(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

/// What was asked, all of it known before anything is computed.
struct Job {
    std::string path;
    Prompt prompt;
    Request request;
    Inference::Options options;
    std::shared_ptr<const Model> model;
    std::shared_ptr<const Tokenizer> tokenizer;  ///< null where the file has none
    Show show = Show::text;
};

struct Times {
    Clock::time_point loaded, first, end;
    double load() const { return seconds_between(k_program_start, loaded); }
    double prompt() const { return seconds_between(loaded, first); }
    double generation() const { return seconds_between(first, end); }
};

double per_second(int64_t count, double seconds) { return seconds > 0 ? static_cast<double>(count) / seconds : 0; }

// The cache is made as long as the job needs, not as long as it may be.
int64_t context_for(const Arguments& arguments, const Spec& spec, int64_t prompt, int64_t n) {
    const bool is_given = arguments.given("ctx");
    const int64_t limit = is_given ? arguments.integer("ctx") : spec.context;
    if (prompt > limit || n > limit - prompt) {
        bad_input("the prompt has {} tokens and --n asks for {} more, but the context holds {} ({}): {}", prompt,
                  std::max<int64_t>(n, 0), limit, is_given ? "--ctx" : "what the model was trained for",
                  is_given ? "raise --ctx, shorten the prompt or lower --n"
                           : "shorten the prompt, lower --n, or go beyond with --ctx");
    }
    return n < 0 ? limit : prompt + n;
}

void warn_beyond_training(int64_t context, const Spec& spec) {
    if (context <= spec.context) return;
    print_warning(
        fmt::format("a context of {} tokens is more than the {} that the model was trained for: expect worse text",
                    context, spec.context));
}

Show choose_show(const Arguments& arguments, bool has_tokenizer) {
    if (arguments.on("json")) return Show::json;
    if (arguments.given("logprobs")) return Show::logprobs;
    return arguments.on("ids") || !has_tokenizer ? Show::ids : Show::text;
}

Job prepare(const Arguments& arguments) {
    Job job;
    job.options = read_inference(arguments);
    job.request.sampling = read_sampling(arguments);
    job.request.stop = read_stops(arguments);
    job.request.max_tokens = arguments.integer("n");
    job.request.ignore_end = arguments.on("ignore-eos");
    if (arguments.given("logprobs")) job.request.logprobs = static_cast<int>(arguments.integer("logprobs"));
    job.request.prompt_logprobs = arguments.given("logprobs") && arguments.on("echo");
    const Device device = Device::open(arguments.text("device"));
    const std::filesystem::path path = find_model(arguments.positional(0));
    job.prompt = read_prompt(arguments);
    job.path = path.string();
    job.model = Model::load(path, device);
    const Metadata& metadata = job.model->file.metadata();
    if (Tokenizer::is_present(metadata)) job.tokenizer = Tokenizer::from_metadata(metadata);
    if (!job.tokenizer && !job.prompt.ids) {
        bad_input("{}: holds no tokenizer, so its prompt has to be ids: pass --prompt-ids", job.path);
    }
    job.request.prompt = job.prompt.ids ? *job.prompt.ids
                                        : encode_prompt(*job.tokenizer, job.prompt.text, arguments.on("parse-special"));
    check(job.request.sampling, job.model->spec().vocabulary);
    job.options.context = context_for(arguments, job.model->spec(), static_cast<int64_t>(job.request.prompt.size()),
                                      job.request.max_tokens);
    check_memory(job.model->spec(), device, job.options);
    warn_beyond_training(job.options.context, job.model->spec());
    job.show = choose_show(arguments, job.tokenizer != nullptr);
    return job;
}

// Steps until the text is complete or Ctrl-C is pressed; returns whether it was.
bool generate(const Job& job, Inference& inference, Transcript& transcript, Times& times) {
    Generator generator(inference, job.tokenizer);
    const auto length = static_cast<int64_t>(job.request.prompt.size());
    Progress progress("prompt", length);
    bool is_first = true;
    const auto see_first = [&] {
        if (is_first) times.first = Clock::now();
        if (is_first) progress.clear();
        is_first = false;
    };
    times.loaded = Clock::now();
    const int number = generator.add(
        job.request,
        [&](const GeneratedToken& token) {
            if (token.is_prompt && job.show == Show::logprobs) progress.clear();
            if (!token.is_prompt) see_first();
            transcript.add(token);
        },
        [&](const Finish& finish) {
            see_first();
            transcript.finish(finish);
        });
    const Polite polite;
    int64_t chunks = 0;
    while (generator.step()) {
        if (is_first) progress.show(std::min(length, ++chunks * job.options.chunk));
        if (is_interrupted()) generator.cancel(number);
    }
    times.end = Clock::now();
    return is_interrupted();
}

size_t peak_bytes() {
    rusage usage = {};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<size_t>(usage.ru_maxrss) * 1024;
}

std::string note_of(const Job& job, bool was_interrupted) {
    if (was_interrupted) return "interrupted";
    return job.tokenizer ? "" : "the file holds no tokenizer: ids only";
}

void print_summary(const Job& job, Inference& inference, const Transcript& transcript, const Times& times) {
    const Finish& result = transcript.result();
    const int64_t later = std::max<int64_t>(result.generated_tokens - 1, 0);  // the first one belongs to the prompt
    const Inference::Counts counts = inference.counts();
    const Params& params = job.model->params;
    if (is_terminal()) print_error("\n");
    print_error(fmt::format(
        "prompt      {} tokens in {:.3f} s, {:.1f} tokens/s; model loaded in {:.3f} s\n"
        "generation  {} tokens, {} of them in {:.3f} s, {:.1f} tokens/s; ended by {}\n"
        "graphs      {} runs reused one, {} built one\n"
        "memory      weights {} mapped, {} own; cache {}, graphs {}, repacked {}; peak {}\n",
        result.prompt_tokens, times.prompt(), per_second(result.prompt_tokens, times.prompt()), times.load(),
        result.generated_tokens, later, times.generation(), per_second(later, times.generation()), name(result.reason),
        counts.hits, counts.misses, human_bytes(params.mapped_bytes()), human_bytes(params.allocated_bytes()),
        human_bytes(inference.cache().bytes()), human_bytes(counts.graph_bytes), human_bytes(counts.repacked_bytes),
        human_bytes(peak_bytes())));
}

nlohmann::ordered_json report(const Job& job, Inference& inference, const Transcript& transcript, const Times& times,
                              bool was_interrupted) {
    using Json = nlohmann::ordered_json;
    const Finish& result = transcript.result();
    const int64_t later = std::max<int64_t>(result.generated_tokens - 1, 0);
    const Inference::Counts counts = inference.counts();
    const Params& params = job.model->params;
    Json json = {{"format", "toy/infer-v1"}, {"model", job.path}};
    json["prompt"] = job.prompt.ids ? Json() : Json(job.prompt.text);
    json["prompt_ids"] = job.request.prompt;
    json["n"] = job.request.max_tokens;
    if (job.tokenizer) json["text"] = transcript.text();
    json["ids"] = transcript.ids();
    json["note"] = note_of(job, was_interrupted);
    json["finish_reason"] = name(result.reason);
    if (!result.stop.empty()) json["stop"] = result.stop;
    json["prompt_tokens"] = result.prompt_tokens;
    json["generated_tokens"] = result.generated_tokens;
    if (job.request.logprobs >= 0) json["logprobs"] = transcript.logprobs(false);
    if (job.request.prompt_logprobs) json["prompt_logprobs"] = transcript.logprobs(true);
    json["timings"] = {{"load_s", times.load()},
                       {"prompt_s", times.prompt()},
                       {"prompt_tokens_per_s", per_second(result.prompt_tokens, times.prompt())},
                       {"generation_s", times.generation()},
                       {"generation_tokens_per_s", per_second(later, times.generation())},
                       {"first_token_s", seconds_between(k_program_start, times.first)}};
    json["graphs"] = {{"hits", counts.hits}, {"misses", counts.misses}};
    json["memory"] = {{"weights_mapped", params.mapped_bytes()}, {"weights_own", params.allocated_bytes()},
                      {"cache", inference.cache().bytes()},      {"graphs", counts.graph_bytes},
                      {"repacked", counts.repacked_bytes},       {"peak", peak_bytes()}};
    return json;
}

int run(const Arguments& arguments) {
    const Job job = prepare(arguments);
    Inference inference(job.model, job.model->params.device(), job.options);
    Transcript transcript(job.show, job.tokenizer.get());
    if (arguments.on("echo")) {
        std::string text = job.prompt.text;
        if (job.prompt.ids && job.tokenizer) text = job.tokenizer->decode(job.request.prompt);
        transcript.set_echo(std::move(text), job.request.prompt);
    }
    Times times;
    bool was_interrupted = false;
    try {
        was_interrupted = generate(job, inference, transcript, times);
    } catch (const Error&) {
        transcript.end_line();
        throw;
    }
    if (job.show == Show::json) {
        print_json(report(job, inference, transcript, times, was_interrupted));
    } else if (!arguments.on("quiet")) {
        print_summary(job, inference, transcript, times);
    }
    if (was_interrupted) print_error("toy: interrupted\n");
    return was_interrupted ? k_failure : k_ok;
}

std::vector<Flag> flags() {
    std::vector<Flag> all = prompt_flags();
    const std::vector<Flag> own = {
        {.name = "parse-special",
         .summary = "control tokens that the prompt spells, as <|im_start|>, become those tokens",
         .starts_on = true,
         .can_be_negated = true},
        {.name = "n",
         .letter = 'n',
         .kind = Kind::integer,
         .value = "N",
         .fallback = "16",
         .summary = "generate at most N tokens; -1: until the context is full",
         .least = -1,
         .most = std::numeric_limits<int32_t>::max()},
        {.name = "ctx",
         .letter = 'c',
         .kind = Kind::integer,
         .value = "N",
         .summary =
             "prompt and new tokens may be N together (default: what the model was trained for); memory is taken "
             "for as many as --n asks, for all N with --n -1",
         .least = 1,
         .most = int64_t{1} << 30},
        {.name = "stop",
         .kind = Kind::text,
         .value = "TEXT",
         .summary = "end where this text would appear, and leave it out; may be repeated",
         .repeats = true},
        {.name = "ignore-eos", .summary = "go on after an end-of-text token"},
        {.name = "echo", .summary = "print the prompt too"},
        {.name = "ids", .summary = "print token ids instead of text"},
        {.name = "logprobs",
         .kind = Kind::integer,
         .value = "K",
         .summary = "print a line for each token: its log-probability before sampling, id and text, then the K most "
                    "likely tokens; with --echo for the prompt's tokens too",
         .least = 0,
         .most = 1000},
        {.name = "quiet", .letter = 'q', .summary = "no summary on standard error"},
    };
    for (const std::vector<Flag>& group : {own, sampling_flags(), inference_flags(false)}) {
        all.insert(all.end(), group.begin(), group.end());
    }
    return all;
}

}  // namespace

extern const Command k_infer;
const Command k_infer{
    .name = "infer",
    .summary = "let a model continue a text",
    .description =
        "Loads a model and continues a prompt. Only the continuation goes to standard output, as it comes; a summary "
        "of "
        "speed and memory goes to standard error.\n\n"
        "By default the most likely token is taken each time (temperature 0). A prompt that does not fit the context "
        "is "
        "refused, never cut.\n\n"
        "On a terminal, control characters in the text are shown as a replacement character, and a line break is added "
        "at the end; into a file or pipe every byte goes as the model wrote it.",
    .positionals = {model_word()},
    .flags = flags(),
    .refused = refused_sampling_flags(),
    .examples = {"toy infer model.gguf --prompt \"Once upon a time\" --n 100",
                 "toy infer model.gguf --prompt-file question.txt --temperature 0.8 --top-p 0.95 --seed 7",
                 "echo \"The capital of France is\" | toy infer model.gguf --json",
                 "toy infer model.gguf --prompt \"\" --n 200 --kv-type f32"},
    .run = run,
};

}  // namespace toy::cli
