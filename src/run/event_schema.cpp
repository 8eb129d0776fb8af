#include "run/event_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace toy {
namespace {

using Json = nlohmann::ordered_json;
using enum FieldType;
constexpr bool k_optional = false;
constexpr bool k_with_step = true, k_without_step = false;

std::vector<Field> run_start_fields() {
    const std::vector<Field> host = {{"name", text}, {"os", text}, {"arch", text}};
    const std::vector<Field> backend = {{"kind", text}, {"device", text, k_optional}, {"compute", text, k_optional}};
    const std::vector<Field> git = {{"sha", text}, {"branch", text}, {"dirty", boolean, k_optional}};
    const std::vector<Field> model = {{"arch", text},
                                      {"name", text},
                                      {"vocab", whole},
                                      {"d_model", whole},
                                      {"n_layers", whole},
                                      {"n_heads", whole, k_optional},  // a state space model has none
                                      {"n_kv", whole, k_optional},
                                      {"d_head", whole, k_optional},
                                      {"d_ff", whole, k_optional},
                                      {"rope_base", real, k_optional},
                                      {"weight_type", text, k_optional},
                                      {"is_moe", boolean, k_optional},
                                      {"n_experts", whole, k_optional},
                                      {"n_experts_used", whole, k_optional},
                                      {"swa_window", whole, k_optional}};
    const std::vector<Field> config = {
        {"context", whole},          {"steps", whole}, {"lr", real}, {"seed", whole}, {"grad_accum", whole, k_optional},
        {"batch", whole, k_optional}};
    return {{"schema", text},
            {"started_at", text},
            {"run_id", text},
            {"host", record, true, host},
            {"backend", record, true, backend},
            {"git", record, k_optional, git},
            {"model", record, true, model, true},
            {"config", record, true, config, true},
            {"compare_to", text, k_optional}};
}

std::vector<Field> tap_fields() {
    return {{"region", text},
            {"layer", whole, k_optional},
            {"head", whole, k_optional},
            {"shape", wholes},
            {"dtype", text},
            {"l2", real},
            {"min", real, k_optional},
            {"max", real, k_optional},
            {"mean", real, k_optional},
            {"abs_mean", real},
            {"sparsity", real, k_optional},
            {"nan_count", whole},
            {"per_head_l2", reals, k_optional},
            {"histogram", wholes, k_optional},
            {"gram", matrix, k_optional}};
}

std::vector<Field> run_end_fields() {
    const std::vector<Field> gate = {{"passed", boolean}, {"metric", text}, {"value", real}, {"threshold", real}};
    return {{"ended_at", text},
            {"reason", text},
            {"error", text, k_optional},
            {"final_step", whole},
            {"final_loss", real, k_optional},  // a run that made no step has none
            {"quality_gate", record, k_optional, gate},
            {"exit_code", whole}};
}

std::vector<EventKind> make_kinds() {
    return {
        {"run_start", Phase::none, k_without_step, run_start_fields()},
        {"step",
         Phase::train,
         k_with_step,
         {{"loss", real},
          {"ppl", real, k_optional},
          {"aux_loss", real, k_optional},
          {"lr", real},
          {"grad_norm", real, k_optional},
          {"tokens", whole},
          {"compute_us", whole, k_optional},
          {"wall_us", whole}}},
        {"step", Phase::decode, k_with_step, {{"token_id", whole}, {"logprob", real}, {"wall_us", whole}}},
        {"eval", Phase::serve, k_without_step, {{"name", text}, {"extra", open}}},
        {"eval",
         Phase::none,
         k_without_step,
         {{"name", text}, {"loss", real}, {"ppl", real}, {"samples", whole}, {"extra", open, k_optional}}},
        {"sample", Phase::none, k_without_step, {{"prompt", text}, {"text", text}}},
        {"grad",
         Phase::none,
         k_with_step,
         {{"param", text},
          {"head", whole, k_optional},
          {"shape", wholes},
          {"l2", real},
          {"abs_mean", real},
          {"nan_count", whole}}},
        {"tap", Phase::none, k_without_step, tap_fields()},
        {"drift",
         Phase::none,
         k_without_step,
         {{"param", text},
          {"head", whole, k_optional},
          {"token_id", whole, k_optional},
          {"freq", real, k_optional},
          {"cos_to_init", real},
          {"l2_to_init", real}}},
        {"experts",
         Phase::none,
         k_with_step,
         {{"layer", whole}, {"counts", wholes}, {"tokens", whole}, {"aux_loss", real, k_optional}}},
        {"compare",
         Phase::none,
         k_without_step,
         {{"baseline_run_id", text}, {"loss_delta", real}, {"ppl_ratio", real}, {"verdict", text}}},
        {"op_timing", Phase::none, k_without_step, {{"compute_us", whole}, {"buckets", open}}},
        {"region_enter", Phase::none, k_without_step, {{"region", text}}},
        {"region_exit", Phase::none, k_without_step, {{"region", text}}},
        {"note", Phase::none, k_without_step, {{"text", text}}},
        {"run_end", Phase::none, k_without_step, run_end_fields()},
    };
}

constexpr std::array<std::pair<Phase, std::string_view>, 4> k_phases = {
    {{Phase::train, "train"}, {Phase::eval, "eval"}, {Phase::decode, "decode"}, {Phase::serve, "serve"}}};

bool is_real(const Json& value) {
    if (value.is_number()) return true;
    if (!value.is_string()) return false;
    const auto& word = value.get_ref<const std::string&>();
    return word == "NaN" || word == "Infinity" || word == "-Infinity";
}

bool is_array_of(const Json& value, bool (*fits)(const Json&)) {
    return value.is_array() && std::all_of(value.begin(), value.end(), fits);
}

bool fits(FieldType type, const Json& value) {
    switch (type) {
        case text: return value.is_string();
        case whole: return value.is_number_integer();
        case real: return is_real(value);
        case boolean: return value.is_boolean();
        case wholes: return is_array_of(value, [](const Json& v) { return v.is_number_integer(); });
        case reals: return is_array_of(value, is_real);
        case matrix: return is_array_of(value, [](const Json& row) { return is_array_of(row, is_real); });
        case record:
        case open: return value.is_object();
    }
    return false;
}

std::string_view word_for(FieldType type) {
    switch (type) {
        case text: return "a text";
        case whole: return "a whole number";
        case real: return "a number";
        case boolean: return "true or false";
        case wholes: return "an array of whole numbers";
        case reals: return "an array of numbers";
        case matrix: return "an array of arrays of numbers";
        case record:
        case open: return "an object";
    }
    return "";
}

std::string fault_in(const std::vector<Field>& fields, const Json& object, bool is_strict, const std::string& where) {
    for (const Field& field : fields) {
        const auto found = object.find(field.name);
        if (found == object.end()) {
            if (field.is_required) return fmt::format("{}{} is missing", where, field.name);
            continue;
        }
        if (!fits(field.type, *found)) {
            return fmt::format("{}{} has to be {}", where, field.name, word_for(field.type));
        }
        if (field.type != record) continue;
        const std::string inner = fmt::format("{}{}.", where, field.name);
        std::string fault = fault_in(field.members, *found, is_strict && !field.takes_others, inner);
        if (!fault.empty()) return fault;
    }
    if (!is_strict) return "";
    for (auto item = object.begin(); item != object.end(); ++item) {
        const std::string& key = item.key();
        const auto is_named = [&key](const Field& field) { return field.name == key; };
        if (std::none_of(fields.begin(), fields.end(), is_named)) return fmt::format("{}{} is unknown", where, key);
    }
    return "";
}

void restore(Json& value) {
    if (!value.is_string()) return;
    const auto& word = value.get_ref<const std::string&>();
    const double infinity = std::numeric_limits<double>::infinity();
    value = word == "NaN" ? std::numeric_limits<double>::quiet_NaN() : word == "Infinity" ? infinity : -infinity;
}

void restore_in(const std::vector<Field>& fields, Json& object) {
    for (const Field& field : fields) {
        const auto found = object.find(field.name);
        if (found == object.end()) continue;
        if (field.type == real) restore(*found);
        if (field.type == record) restore_in(field.members, *found);
        if (field.type == reals) std::for_each(found->begin(), found->end(), restore);
        if (field.type == matrix) {
            for (Json& row : *found) std::for_each(row.begin(), row.end(), restore);
        }
    }
}

void append(std::string& line, const Json& value) {
    if (value.is_number_float() && !std::isfinite(value.get<double>())) {
        const auto number = value.get<double>();
        line += std::isnan(number) ? "\"NaN\"" : number > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    } else if (value.is_object() || value.is_array()) {
        const bool is_object = value.is_object();
        line += is_object ? '{' : '[';
        bool is_first = true;
        for (const auto& [key, item] : value.items()) {
            if (!is_first) line += ',';
            is_first = false;
            if (is_object) line += Json(key).dump(-1, ' ', false, Json::error_handler_t::replace) + ":";
            append(line, item);
        }
        line += is_object ? '}' : ']';
    } else {
        line += value.dump(-1, ' ', false, Json::error_handler_t::replace);
    }
}

}  // namespace

std::span<const EventKind> event_kinds() {
    static const std::vector<EventKind> kinds = make_kinds();
    return kinds;
}

const EventKind* find_event_kind(std::string_view name, Phase phase) {
    const EventKind* general = nullptr;
    for (const EventKind& kind : event_kinds()) {
        if (kind.name != name) continue;
        if (kind.phase == phase) return &kind;
        if (kind.phase == Phase::none) general = &kind;
    }
    return general;
}

std::string_view name(Phase phase) {
    for (const auto& [known, word] : k_phases) {
        if (known == phase) return word;
    }
    return "";
}

std::optional<Phase> find_phase(std::string_view name) {
    for (const auto& [phase, word] : k_phases) {
        if (word == name) return phase;
    }
    return std::nullopt;
}

std::string fault_of(const EventKind& kind, const Json& event, bool is_strict) {
    if (!event.is_object()) return "the event has to be an object";
    std::vector<Field> all = {{"kind", text, k_optional},
                              {"t", real, k_optional},
                              {"step", whole, kind.has_step},
                              {"phase", text, k_optional}};
    all.insert(all.end(), kind.fields.begin(), kind.fields.end());
    return fault_in(all, event, is_strict, "");
}

void restore_numbers(const EventKind& kind, Json& event) { restore_in(kind.fields, event); }

std::string to_json_line(const Json& value) {
    std::string line;
    append(line, value);
    return line;
}

}  // namespace toy
