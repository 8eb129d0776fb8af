#include "models/spec_keys.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/error.h"

namespace toy {
namespace {

// What no model reaches and arithmetic on sizes survives.
constexpr int64_t k_largest_size = std::numeric_limits<int32_t>::max();

}  // namespace

SpecKeys::SpecKeys(const Gguf& file)
    : SpecKeys(file.metadata(), [&file](std::string_view tensor) {
          const GgufTensor* found = file.find(tensor);
          return found == nullptr ? std::nullopt : std::optional(found->ne[1]);
      }) {}

SpecKeys::SpecKeys(const Metadata& metadata, Rows rows)
    : metadata_(metadata), rows_(std::move(rows)), architecture_(metadata.string("general.architecture")) {}

std::string SpecKeys::full(std::string_view key) const {
    return *asked_.insert(fmt::format("{}.{}", architecture_, key)).first;
}

std::optional<int64_t> SpecKeys::find_in(std::string_view key, int64_t least) const {
    const std::optional<int64_t> value = metadata().find_integer(full(key));
    if (value && (*value < least || *value > k_largest_size)) {
        bad_input("{}: {} is {}, but must lie in {}..{}", origin(), full(key), *value, least, k_largest_size);
    }
    return value;
}

int64_t SpecKeys::size(std::string_view key) const {
    const std::optional<int64_t> value = find_in(key, 1);
    return value ? *value : metadata().integer(full(key));  // which throws that the key is missing
}
int64_t SpecKeys::size_or(std::string_view key, int64_t fallback) const { return find_in(key, 1).value_or(fallback); }
int64_t SpecKeys::count_or(std::string_view key, int64_t fallback) const { return find_in(key, 0).value_or(fallback); }

int64_t SpecKeys::uniform_size(std::string_view key) const {
    const Value* value = metadata().find(full(key));
    if (value == nullptr || !std::holds_alternative<Array>(*value)) return size(key);
    const std::vector<int64_t> each = metadata().find_integers(full(key)).value_or(std::vector<int64_t>());
    for (int64_t n : each) {
        if (n != each.front()) {
            bad_input("{}: {} differs from layer to layer ({} and {}), which is not supported", origin(), full(key),
                      each.front(), n);
        }
    }
    if (each.empty() || each.front() < 1 || each.front() > k_largest_size) {
        bad_input("{}: {} must hold numbers in 1..{}", origin(), full(key), k_largest_size);
    }
    return each.front();
}

int64_t SpecKeys::uniform_size_or(std::string_view key, int64_t fallback) const {
    return has(key) ? uniform_size(key) : fallback;
}

float SpecKeys::positive(std::string_view key) const {
    const double value = metadata().real(full(key));
    if (!std::isfinite(value) || !(static_cast<float>(value) > 0.0f)) {
        bad_input("{}: {} is {}, but must be a positive number", origin(), full(key), value);
    }
    return static_cast<float>(value);
}

float SpecKeys::positive_or(std::string_view key, float fallback) const { return has(key) ? positive(key) : fallback; }

float SpecKeys::number_or(std::string_view key, float fallback) const {
    if (!has(key)) return fallback;
    const double value = metadata().real(full(key));
    if (!std::isfinite(static_cast<float>(value))) {
        bad_input("{}: {} is {}, but must be a finite number", origin(), full(key), value);
    }
    return static_cast<float>(value);
}

std::string SpecKeys::text_or(std::string_view key, const std::string& fallback) const {
    const std::string* value = metadata().find_string(full(key));
    return value != nullptr ? *value : fallback;
}

bool SpecKeys::flag_or(std::string_view key, bool fallback) const {
    return metadata().find_boolean(full(key)).value_or(fallback);
}

std::optional<std::vector<bool>> SpecKeys::flags(std::string_view key, int64_t layers) const {
    const Value* value = metadata().find(full(key));
    const Array* array = value == nullptr ? nullptr : std::get_if<Array>(value);
    if (array == nullptr) return std::nullopt;
    const auto* list = std::get_if<std::vector<bool>>(array);
    if (list == nullptr || static_cast<int64_t>(list->size()) < layers) {
        bad_input("{}: {} must hold {} booleans, one for each layer", origin(), full(key), layers);
    }
    return std::vector<bool>(list->begin(), list->begin() + layers);
}

int64_t SpecKeys::rows_of(std::string_view tensor) const { return rows_(tensor).value_or(0); }

int64_t SpecKeys::vocabulary() const {
    if (!has_tensor("token_embd.weight")) bad_input("{}: there is no tensor 'token_embd.weight'", origin());
    const int64_t rows = rows_of("token_embd.weight");
    const Value* tokens = metadata().find("tokenizer.ggml.tokens");
    const Array* array = tokens == nullptr ? nullptr : std::get_if<Array>(tokens);
    if (array != nullptr && static_cast<int64_t>(size_of(*array)) != rows) {
        bad_input("{}: tokenizer.ggml.tokens has {} tokens, but token_embd.weight has {} rows", origin(),
                  size_of(*array), rows);
    }
    return rows;
}

}  // namespace toy
