#include "cli/sampling_flags.h"

#include <limits>

#include "cli/numbers.h"
#include "core/error.h"
#include "io/quote.h"

namespace toy::cli {
namespace {

constexpr int64_t k_most = std::numeric_limits<int32_t>::max();
// Far more than makes sense; what keeps exp and float32 out of trouble.
constexpr double k_largest = 1e6;

// "ID=B" to one entry; "-inf" forbids the token.
void read_bias(const std::string& text, std::map<int32_t, float>& biases) {
    const size_t equals = text.find('=');
    const std::string_view id_text = std::string_view(text).substr(0, equals);
    const std::string_view bias_text =
        equals == std::string_view::npos ? "" : std::string_view(text).substr(equals + 1);
    const std::optional<int64_t> id = to_integer(id_text);
    const std::optional<double> bias =
        bias_text == "-inf" ? -std::numeric_limits<double>::infinity() : to_real(bias_text);
    const bool is_good =
        id && *id >= 0 && *id <= k_most && bias && *bias <= k_largest && (*bias >= -k_largest || bias_text == "-inf");
    if (!is_good) bad_input("--logit-bias: {} is not ID=B, as 15=-2.5 or 15=-inf", quote(text));
    if (!biases.emplace(static_cast<int32_t>(*id), static_cast<float>(*bias)).second) {
        bad_input("--logit-bias: token {} is given twice", *id);
    }
}

std::vector<Flag> draw_flags() {
    return {
        {.name = "temperature",
         .kind = Kind::real,
         .value = "T",
         .fallback = "0",
         .summary = "divides the logits before the draw; 0: always the most likely token",
         .low = 0,
         .high = k_largest},
        {.name = "top-k",
         .kind = Kind::integer,
         .value = "K",
         .fallback = "0",
         .summary = "draw from the K most likely tokens; 0: from all",
         .least = 0,
         .most = k_most},
        {.name = "top-p",
         .kind = Kind::real,
         .value = "P",
         .fallback = "1",
         .summary = "draw from the fewest tokens whose probabilities reach P; 1: from all",
         .low = 0,
         .high = 1},
        {.name = "min-p",
         .kind = Kind::real,
         .value = "P",
         .fallback = "0",
         .summary = "leave out tokens less likely than P times the most likely one",
         .low = 0,
         .high = 1},
        {.name = "typical",
         .kind = Kind::real,
         .value = "P",
         .fallback = "1",
         .summary = "locally typical sampling with mass P; 1: off",
         .low = 0,
         .high = 1},
        {.name = "seed",
         .letter = 's',
         .kind = Kind::integer,
         .value = "N",
         .fallback = "0",
         .summary = "of the draws: the same seed gives the same text",
         .least = 0},
    };
}

std::vector<Flag> penalty_flags() {
    return {
        {.name = "repeat-penalty",
         .kind = Kind::real,
         .value = "R",
         .fallback = "1",
         .summary = "divide the logits of recent tokens (multiply negative ones) by R; 1: off",
         .low = 0,
         .high = k_largest},
        {.name = "repeat-last-n",
         .kind = Kind::integer,
         .value = "N",
         .fallback = "64",
         .summary = "how many tokens are recent, the prompt's included; -1: all",
         .least = -1,
         .most = k_most},
        {.name = "presence-penalty",
         .kind = Kind::real,
         .value = "A",
         .fallback = "0",
         .summary = "subtract A from the logits of recent tokens",
         .low = -k_largest,
         .high = k_largest},
        {.name = "frequency-penalty",
         .kind = Kind::real,
         .value = "A",
         .fallback = "0",
         .summary = "subtract A for each time that a token is recent",
         .low = -k_largest,
         .high = k_largest},
        {.name = "logit-bias",
         .kind = Kind::text,
         .value = "ID=B",
         .summary = "add B to the logit of a token; -inf forbids it; may be repeated",
         .repeats = true},
    };
}

}  // namespace

std::vector<Flag> sampling_flags() {
    std::vector<Flag> all = draw_flags();
    const std::vector<Flag> penalties = penalty_flags();
    all.insert(all.end(), penalties.begin(), penalties.end());
    return all;
}

std::vector<Refused> refused_sampling_flags() {
    constexpr std::string_view k_instead = "choose tokens with --temperature, --top-k, --top-p, --min-p or --typical";
    constexpr std::string_view k_penalties =
        "use --repeat-penalty, --presence-penalty or --frequency-penalty against repetition";
    return {{"mirostat*", k_instead},
            {"dry-*", k_penalties},
            {"xtc-*", k_instead},
            {"top-nsigma", k_instead},
            {"top-n-sigma", k_instead},
            {"dynatemp-*", "the temperature is one number: --temperature"},
            {"adaptive-*", k_instead},
            {"sampler*", "the order is fixed: bias, penalties, top-k, typical, top-p, min-p, temperature"},
            {"sampling-seq", "the order is fixed: bias, penalties, top-k, typical, top-p, min-p, temperature"}};
}

Sampling read_sampling(const Arguments& arguments) {
    const auto real = [&](std::string_view flag) { return static_cast<float>(arguments.real(flag)); };
    Sampling s;
    s.temperature = real("temperature");
    s.top_k = static_cast<int>(arguments.integer("top-k"));
    s.top_p = real("top-p");
    s.min_p = real("min-p");
    s.typical = real("typical");
    s.repeat_penalty = real("repeat-penalty");
    s.repeat_last_n = static_cast<int>(arguments.integer("repeat-last-n"));
    s.presence_penalty = real("presence-penalty");
    s.frequency_penalty = real("frequency-penalty");
    for (const std::string& bias : arguments.texts("logit-bias")) read_bias(bias, s.logit_bias);
    s.seed = static_cast<uint64_t>(arguments.integer("seed"));
    check(s, k_most);  // before a model is loaded; its vocabulary comes later
    return s;
}

}  // namespace toy::cli
