#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/event_sink.h"

namespace toy {

/// Stands in run_start's `schema`; files of the older toy carry it too.
inline constexpr std::string_view k_event_schema = "toy/v1";

enum class FieldType {
    text,
    whole,    ///< an integer
    real,     ///< a number; NaN and the infinities are written as "NaN", "Infinity", "-Infinity"
    boolean,  ///< true or false
    wholes,   ///< an array of integers
    reals,    ///< an array of numbers
    matrix,   ///< an array of arrays of numbers
    record,   ///< an object of `members`
    open,     ///< an object of anything
};

struct Field {
    std::string_view name;
    FieldType type;
    bool is_required = true;
    std::vector<Field> members = {};
    bool takes_others = false;  ///< a record that may hold more than its members
};

/// A kind of event: one row of the schema. A kind whose fields depend on the phase has a row for each.
struct EventKind {
    std::string_view name;
    Phase phase;  ///< none: every phase that has no row of its own
    bool has_step;
    std::vector<Field> fields;
};

std::span<const EventKind> event_kinds();
/// The row that holds for a kind in a phase, or null.
const EventKind* find_event_kind(std::string_view name, Phase phase);

std::string_view name(Phase phase);
/// The phase of that name; nothing where there is none.
std::optional<Phase> find_phase(std::string_view name);

/// What keeps `event` (an object that may also hold kind, t, step and phase) from being of that kind, or "". Unknown
/// fields are a fault only where `is_strict`.
std::string fault_of(const EventKind& kind, const nlohmann::ordered_json& event, bool is_strict);

/// Turns the "NaN", "Infinity" and "-Infinity" of the kind's number fields back into numbers. Fields of open objects
/// stay as they are.
void restore_numbers(const EventKind& kind, nlohmann::ordered_json& event);

/// The value as JSON on one line: numbers that JSON has no word for become the three texts above, and bytes that are
/// no UTF-8 become U+FFFD.
std::string to_json_line(const nlohmann::ordered_json& value);

}  // namespace toy
