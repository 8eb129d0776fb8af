#include "cli/manifest.h"

#include <nlohmann/json.hpp>

#include "cli/registry.h"
#include "cli/version.h"

namespace toy::cli {
namespace {

using Json = nlohmann::ordered_json;

Json described(const Flag& flag) {
    Json json = {{"name", "--" + std::string(flag.name)}, {"kind", name(flag.kind)}, {"summary", flag.summary}};
    if (flag.letter != 0) json["letter"] = std::string("-") + flag.letter;
    if (!flag.value.empty()) json["value"] = flag.value;
    if (!flag.fallback.empty()) json["default"] = flag.fallback;
    if (flag.starts_on) json["default"] = "on";
    if (flag.can_be_negated) json["negated"] = "--no-" + std::string(flag.name);
    if (flag.kind == Kind::integer) {
        json["least"] = flag.least;
        json["most"] = flag.most;
    }
    if (flag.kind == Kind::real) {
        json["least"] = flag.low;
        json["most"] = flag.high;
    }
    if (!flag.choices.empty()) json["choices"] = flag.choices;
    if (flag.is_list) json["list"] = true;
    if (flag.repeats) json["repeats"] = true;
    return json;
}

Json described(const Positional& word) {
    Json json = {{"name", word.name}, {"kind", name(word.kind)}, {"summary", word.summary}};
    json["required"] = word.is_required;
    if (word.repeats) json["repeats"] = true;
    if (!word.choices.empty()) json["choices"] = word.choices;
    return json;
}

Json described(const Command& command) {
    Json json = {
        {"name", command.name}, {"summary", command.summary}, {"args", Json::array()}, {"flags", Json::array()}};
    for (const Positional& word : command.positionals) json["args"].push_back(described(word));
    for (const Flag* flag : flags_of(command)) json["flags"].push_back(described(*flag));
    return json;
}

}  // namespace

Json manifest() {
    Json json = {{"format", "toy/manifest-v1"}, {"toy_version", version()}, {"commands", Json::array()}};
    for (const Command* command : commands()) json["commands"].push_back(described(*command));
    json["global_flags"] = Json::array();
    for (const Flag& flag : global_flags()) json["global_flags"].push_back(described(flag));
    json["exit_codes"] = {{"ok", k_ok}, {"bad_input", k_bad_input}, {"failure", k_failure}};
    return json;
}

}  // namespace toy::cli
