// toy quantize: writes a model with smaller types.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/arguments.h"
#include "cli/inference_flags.h"
#include "cli/interrupt.h"
#include "cli/metadata_text.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "cli/suggest.h"
#include "cli/text_table.h"
#include "core/error.h"
#include "core/progress.h"
#include "engine/quantize.h"
#include "io/quote.h"

namespace toy::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view k_copy = "COPY";

// llama-quantize's short forms.
constexpr std::pair<std::string_view, std::string_view> k_aliases[] = {
    {"Q3_K", "Q3_K_M"}, {"Q4_K", "Q4_K_M"}, {"Q5_K", "Q5_K_M"}, {"MXFP4", "MXFP4_MOE"}};

std::string upper(std::string text) {
    for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return text;
}

/// The file type of that name; null for COPY.
const FileType* find_type(const std::string& word) {
    std::string wanted = upper(word);
    if (wanted == k_copy) return nullptr;
    for (const auto& [alias, meaning] : k_aliases) {
        if (wanted == alias) wanted = meaning;
    }
    std::vector<std::string_view> names;
    for (const FileType& type : file_types()) {
        if (type.type == DType::NVFP4) continue;  // no mixture of it is defined
        if (type.name == wanted) return &type;
        names.push_back(type.name);
    }
    names.push_back(k_copy);
    bad_input("{} is no type to quantise to{}; types: {}", quote(word), did_you_mean(wanted, names),
              fmt::join(names, ", "));
}

std::string shape_of(const GgufTensor& tensor) {
    std::vector<int64_t> shape(tensor.ne.begin(), tensor.ne.begin() + tensor.rank);
    std::reverse(shape.begin(), shape.end());
    return fmt::format("[{}]", fmt::join(shape, ", "));
}

// What the matrix lacks is the embedding, or nearly everything.
std::string first_few(const std::vector<std::string>& names) {
    constexpr size_t k_shown = 8;
    std::string text;
    for (size_t i = 0; i < std::min(names.size(), k_shown); ++i) text += (i > 0 ? ", " : "") + shown_name(names[i]);
    if (names.size() > k_shown) text += fmt::format(" and {} more", names.size() - k_shown);
    return text;
}

void print_report(const QuantizeReport& report, const std::string& output, bool is_dry_run) {
    std::map<DType, std::pair<size_t, int64_t>> types;
    int64_t elements = 0;
    for (const TypeChoice& choice : report.tensors) {
        ++types[choice.type].first;
        types[choice.type].second += choice.tensor->elements();
        elements += choice.tensor->elements();
    }
    const auto bits = [&](uint64_t bytes) {
        return elements == 0 ? 0.0 : 8.0 * static_cast<double>(bytes) / static_cast<double>(elements);
    };
    TextTable table({TextTable::Side::left, TextTable::Side::left});
    table.add({"file", shown_name(output) + (is_dry_run ? " (a dry run: not written)" : "")});
    table.add({"before",
               fmt::format("{}, {:.2f} bits per weight", human_bytes(report.bytes_before), bits(report.bytes_before))});
    table.add({"after",
               fmt::format("{}, {:.2f} bits per weight", human_bytes(report.bytes_after), bits(report.bytes_after))});
    for (const auto& [type, share] : types) {
        table.add(
            {"type", fmt::format("{}: {} tensors, {} weights", name(type), share.first, human_count(share.second))});
    }
    for (const TypeChoice& choice : report.tensors) {
        if (choice.type == choice.wanted) continue;
        table.add({"fallback", fmt::format("{} {}: rows of {} are no whole blocks of {}, written as {}",
                                           shown_name(choice.tensor->name), shape_of(*choice.tensor),
                                           choice.tensor->ne[0], name(choice.wanted), name(choice.type))});
    }
    if (!report.without_importance.empty()) table.add({"no importance", first_few(report.without_importance)});
    if (!report.asking_for_importance.empty()) table.add({"needs --imatrix", first_few(report.asking_for_importance)});
    print(table.text());
}

Json report_json(const QuantizeReport& report, const Arguments& arguments, const FileType* target) {
    Json json = {{"format", "toy/quantize-v1"},
                 {"input", arguments.positional(0)},
                 {"output", arguments.positional(1)},
                 {"type", target == nullptr ? k_copy : target->name},
                 {"bytes_before", report.bytes_before},
                 {"bytes_after", report.bytes_after},
                 {"fallbacks", report.fallbacks()},
                 {"without_importance", report.without_importance},
                 {"asking_for_importance", report.asking_for_importance}};
    json["tensors"] = Json::array();
    for (const TypeChoice& choice : report.tensors) {
        Json tensor = {{"name", choice.tensor->name},
                       {"from", name(choice.tensor->type)},
                       {"to", name(choice.type)},
                       {"elements", choice.tensor->elements()}};
        if (choice.type != choice.wanted) tensor["instead_of"] = name(choice.wanted);
        json["tensors"].push_back(std::move(tensor));
    }
    return json;
}

int run(const Arguments& arguments) {
    const FileType* target = find_type(arguments.positional(2));
    const std::string output = arguments.positional(1);
    std::optional<ImportanceMatrix> importance;
    if (arguments.given("imatrix")) importance = read_imatrix(arguments.text("imatrix"));
    const Gguf input = Gguf::open(find_model(arguments.positional(0)));
    if (const auto reason = why_not_a_model(input)) bad_input("{}: {}", input.path().string(), *reason);
    const Polite polite;
    std::optional<Progress> progress;
    QuantizeOptions options;
    options.target = target;
    options.importance = importance ? &*importance : nullptr;
    options.is_pure = arguments.on("pure");
    options.is_dry_run = arguments.on("dry-run");
    options.may_requantize = arguments.on("allow-requantize");
    options.threads = arguments.given("threads") ? static_cast<int>(arguments.integer("threads")) : default_threads();
    options.progress = [&](uint64_t done, uint64_t total) {
        if (is_interrupted()) failure("interrupted; {} was not written", output);
        if (!progress) progress.emplace("quantize", static_cast<int64_t>(total));
        progress->show(static_cast<int64_t>(done));
    };
    const QuantizeReport report = quantize(input, output, options);
    progress.reset();
    if (arguments.on("json")) {
        print_json(report_json(report, arguments, target));
    } else {
        print_report(report, output, options.is_dry_run);
    }
    return k_ok;
}

}  // namespace

extern const Command k_quantize;
const Command k_quantize{
    .name = "quantize",
    .summary = "write a model with smaller types",
    .description =
        "Writes a GGUF model with its matrices in another type: the bytes that llama.cpp's llama-quantize writes. TYPE "
        "is "
        "F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q2_K, Q2_K_S, Q3_K_S, Q3_K_M, Q3_K_L, Q4_K_S, Q4_K_M, Q5_K_S, "
        "Q5_K_M, Q6_K, IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ2_M, IQ3_XXS, IQ3_XS, IQ3_S, IQ3_M, IQ4_NL, IQ4_XS, "
        "TQ1_0, "
        "TQ2_0, MXFP4_MOE, Q1_0, Q2_0, or COPY, which changes no type. Most of them are mixtures: the matrices where "
        "errors "
        "hurt most get a larger type.\n\n"
        "A matrix whose rows are no whole number of blocks gets another type; the output lists them. IQ1, IQ2 and "
        "IQ3_XXS "
        "types and Q2_K_S need an importance matrix, others get better with one.",
    .positionals = {model_word(),
                    {.name = "output", .kind = Kind::file, .summary = "the GGUF file to write", .is_required = true},
                    {.name = "type", .summary = "the type, in upper or lower case", .is_required = true}},
    .flags = {{.name = "imatrix",
               .kind = Kind::file,
               .value = "FILE",
               .summary = "an importance matrix, in llama.cpp's GGUF format or its older .dat"},
              threads_flag("threads that convert (default: the processor's cores)"),
              {.name = "pure", .summary = "one type for all matrices in place of a mixture"},
              {.name = "dry-run", .summary = "tell types and sizes, and write nothing"},
              {.name = "allow-requantize",
               .summary = "take a model that is quantised already, which loses quality a second time"}},
    .refused = {},
    .examples = {"toy quantize model-f16.gguf model-q4.gguf Q4_K_M",
                 "toy quantize model-f16.gguf model-iq2.gguf IQ2_XS --imatrix model.imatrix.gguf"},
    .run = run,
};

}  // namespace toy::cli
