// toy list: the models on this machine.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/metadata_text.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "cli/text_table.h"
#include "io/discover.h"

namespace toy::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string table(const Discovery& found) {
    using Side = TextTable::Side;
    TextTable table({Side::left, Side::left, Side::right, Side::left, Side::right, Side::left, Side::left});
    if (!found.models.empty()) table.add({"name", "family", "parameters", "type", "size", "source", "path"});
    for (const FoundModel& model : found.models) {
        table.add({shown_name(model.name), shown_name(model.family), grouped(model.n_params), model.type,
                   human_bytes(model.size_b), model.source, shown_name(model.path.string())});
    }
    return table.text("  ");
}

std::string skipped(const Discovery& found, bool all) {
    std::string text;
    size_t hidden = 0;
    for (const SkippedFile& file : found.skipped) {
        if (all || file.broken) {
            text += fmt::format("  {}\n", without_controls(file.reason));
        } else {
            ++hidden;
        }
    }
    if (!text.empty()) text = "not listed:\n" + text;
    if (hidden > 0) text += fmt::format("{} more files are no models (--all shows them)\n", hidden);
    return text;
}

std::string searched(const Discovery& found) {
    std::string text = "searched, in this order:\n";
    for (const ModelSource& source : found.sources) {
        text += fmt::format("  {}{}\n", shown_name(source.folder.string()), source.exists ? "" : "  (absent)");
    }
    return text;
}

Json report(const Discovery& found) {
    Json json = {{"format", "toy/list-v1"}, {"sources", Json::array()}, {"models", Json::array()}};
    for (const ModelSource& source : found.sources) {
        json["sources"].push_back(
            {{"name", source.name}, {"folder", source.folder.string()}, {"exists", source.exists}});
    }
    for (const FoundModel& model : found.models) {
        json["models"].push_back({{"name", model.name},
                                  {"path", model.path.string()},
                                  {"family", model.family},
                                  {"n_params", model.n_params},
                                  {"params", human_count(model.n_params)},
                                  {"type", model.type},
                                  {"size_b", model.size_b},
                                  {"size", human_bytes(model.size_b)},
                                  {"source", model.source}});
    }
    json["skipped"] = Json::array();
    for (const SkippedFile& file : found.skipped) {
        json["skipped"].push_back({{"path", file.path.string()}, {"reason", file.reason}, {"broken", file.broken}});
    }
    return json;
}

int run(const Arguments& arguments) {
    const Discovery found = discover(ModelPlaces::from_environment());
    if (arguments.on("json")) {
        print_json(report(found));
        return k_ok;
    }
    const bool all = arguments.on("all");
    std::string text = fmt::format("Found {} model{}{}\n", found.models.size(), found.models.size() == 1 ? "" : "s",
                                   found.models.empty() ? "" : ":");
    text += table(found) + skipped(found, all);
    print(text + (all || found.models.empty() ? searched(found) : ""));
    return k_ok;
}

}  // namespace

extern const Command k_list;
const Command k_list{
    .name = "list",
    .summary = "list the models on this machine",
    .description =
        "Searches $TOY_MODEL_DIR, ./data, ./models, the Hugging Face hub cache, Ollama's models, LM Studio's, the "
        "llama.cpp cache and ~/models. The names serve in place of a path for every command that takes a model.",
    .positionals = {},
    .flags = {{.name = "all",
               .letter = 'a',
               .summary = "show too which folders were searched and which files are no models"}},
    .refused = {},
    .examples = {"toy list", "toy list --json"},
    .run = run,
};

}  // namespace toy::cli
