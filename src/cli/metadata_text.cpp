#include "cli/metadata_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "cli/numbers.h"
#include "cli/text_table.h"
#include "io/quote.h"

namespace toy::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t k_shown_elements = 4;
constexpr size_t k_json_elements = 16;
constexpr size_t k_most_layer_digits = 5;

std::string shown(const std::string& text) { return quote(text); }
std::string shown(bool value) { return value ? "true" : "false"; }
std::string shown(uint8_t value) { return std::to_string(value); }
std::string shown(int8_t value) { return std::to_string(value); }
template <class Number>
std::string shown(Number value) {
    return fmt::format("{}", value);
}

std::string shown_array(const Array& array) {
    const size_t size = size_of(array);
    std::vector<std::string> first;
    std::visit(
        [&](const auto& values) {
            for (size_t i = 0; i < std::min(size, k_shown_elements); ++i) first.push_back(shown(values[i]));
        },
        array);
    const char* dots = size > k_shown_elements ? ", …" : "";
    return fmt::format("[{}{}]  ({} × {})", fmt::join(first, ", "), dots, grouped(static_cast<int64_t>(size)),
                       name(element_type_of(array)));
}

Json json_array(const Array& array) {
    const size_t size = size_of(array);
    Json first = Json::array();
    std::visit(
        [&](const auto& values) {
            for (size_t i = 0; i < std::min(size, k_json_elements); ++i) first.push_back(values[i]);
        },
        array);
    if (size <= k_json_elements) return first;
    return {{"count", size}, {"type", name(element_type_of(array))}, {"first", first}};
}

/// A tensor's name in three parts: "blk.", 12, ".attn_q.weight". Without a block number everything is in `head`.
struct NameParts {
    std::string head, tail;
    int block = -1;
};

NameParts parts_of(const std::string& name) {
    constexpr std::string_view k_block = "blk.";
    if (!name.starts_with(k_block)) return {name, "", -1};
    const size_t end = name.find('.', k_block.size());
    const std::string digits = name.substr(k_block.size(), end == std::string_view::npos ? 0 : end - k_block.size());
    const bool is_number = !digits.empty() && digits.size() <= k_most_layer_digits &&
                           digits.find_first_not_of("0123456789") == std::string_view::npos;
    if (!is_number) return {name, "", -1};
    return {std::string(k_block), name.substr(end), std::stoi(digits)};
}

// "0-3,5" of ascending numbers.
std::string ranges(const std::vector<int>& numbers) {
    std::vector<std::string> parts;
    for (size_t i = 0; i < numbers.size();) {
        size_t j = i;
        while (j + 1 < numbers.size() && numbers[j + 1] == numbers[j] + 1) ++j;
        parts.push_back(i == j ? std::to_string(numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[j]));
        i = j + 1;
    }
    return fmt::format("{}", fmt::join(parts, ","));
}

struct Group {
    NameParts name;
    std::string shape, type;
    std::vector<int> blocks;
    uint64_t bytes = 0;
};

// In order of first appearance.
std::vector<Group> groups_of(const Gguf& file) {
    std::vector<Group> groups;
    std::map<std::tuple<std::string, std::string, std::string>, size_t> places;
    for (const GgufTensor& tensor : file.tensors()) {
        const NameParts parts = parts_of(tensor.name);
        const std::string shape = shown_shape(tensor);
        const std::string type(name(tensor.type));
        const auto [place, is_new] = places.try_emplace({parts.head + "*" + parts.tail, shape, type}, groups.size());
        if (is_new) groups.push_back({parts, shape, type, {}, 0});
        groups[place->second].bytes += tensor.bytes.size();
        if (parts.block >= 0) groups[place->second].blocks.push_back(parts.block);
    }
    return groups;
}

}  // namespace

std::string shown_value(const Value& value) {
    if (const Array* array = std::get_if<Array>(&value)) return shown_array(*array);
    return std::visit(
        [](const auto& one) -> std::string {
            if constexpr (std::is_same_v<std::decay_t<decltype(one)>, Array>) {
                return "";
            } else {
                return shown(one);
            }
        },
        value);
}

Json json_value(const Value& value) {
    if (const Array* array = std::get_if<Array>(&value)) return json_array(*array);
    return std::visit(
        [](const auto& one) -> Json {
            if constexpr (std::is_same_v<std::decay_t<decltype(one)>, Array>) {
                return nullptr;
            } else {
                return one;
            }
        },
        value);
}

std::string shown_name(std::string_view name) {
    const bool is_plain = std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
    return is_plain ? std::string(name) : quote(name);
}

std::string shown_shape(const GgufTensor& tensor) {
    std::vector<int64_t> shape(tensor.ne.begin(), tensor.ne.begin() + tensor.rank);
    std::reverse(shape.begin(), shape.end());
    return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string tensor_table(const Gguf& file) {
    TextTable table({TextTable::Side::left, TextTable::Side::left, TextTable::Side::left, TextTable::Side::right});
    for (Group& group : groups_of(file)) {
        std::sort(group.blocks.begin(), group.blocks.end());
        std::string name = group.name.head;
        if (!group.blocks.empty()) name += ranges(group.blocks) + group.name.tail;
        table.add({shown_name(name), group.shape, group.type, human_bytes(group.bytes)});
    }
    return table.text("  ");
}

}  // namespace toy::cli
