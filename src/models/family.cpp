#include "models/family.h"

#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error.h"

namespace toy {

extern const Family k_llama;

namespace {

// What no model reaches and arithmetic on sizes survives.
constexpr int64_t k_most_layers = 4096;
constexpr int64_t k_largest_size = std::numeric_limits<int32_t>::max();

constexpr std::array k_families = {&k_llama};

void check_heads(const Spec& s, const SpecKeys& keys) {
    if (s.kv_heads > s.heads || s.heads % s.kv_heads != 0) {
        bad_input("{}: {} query heads cannot share {} key heads ({}, {})", keys.metadata().origin(), s.heads,
                  s.kv_heads, keys.full("attention.head_count"), keys.full("attention.head_count_kv"));
    }
    if (s.rope.order != Rope::Order::none && (s.rope.dims % 2 != 0 || s.rope.dims > s.head_size)) {
        bad_input("{}: {} = {} must be even and at most the head size {}", keys.metadata().origin(),
                  keys.full("rope.dimension_count"), s.rope.dims, s.head_size);
    }
}

int64_t default_head_size(const SpecKeys& keys, int64_t width, int64_t heads) {
    if (keys.has("attention.key_length")) return keys.size("attention.key_length");
    if (width % heads != 0) {
        bad_input("{}: {} = {} is not divisible by {} = {}", keys.metadata().origin(), keys.full("embedding_length"),
                  width, keys.full("attention.head_count"), heads);
    }
    return width / heads;
}

Rope read_rope(const SpecKeys& keys, Rope::Order order, int64_t head_size) {
    Rope rope;
    rope.order = order;
    rope.dims = static_cast<int>(keys.size_or("rope.dimension_count", head_size));
    rope.base = keys.positive_or("rope.freq_base", 10000.0f);
    const std::string scaling = keys.text_or("rope.scaling.type", "none");
    if (scaling == "linear" || (scaling == "none" && keys.has("rope.scale_linear"))) {
        // rope.scale_linear is what older converters wrote.
        const float legacy = keys.positive_or("rope.scale_linear", 1.0f);
        rope.frequency_scale = 1.0f / keys.positive_or("rope.scaling.factor", legacy);
    } else if (scaling != "none") {
        bad_input("{}: {} is '{}'; none and linear are supported", keys.metadata().origin(),
                  keys.full("rope.scaling.type"), scaling);
    }
    return rope;
}

}  // namespace

SpecKeys::SpecKeys(const Gguf& file) : file_(file), architecture_(file.metadata().string("general.architecture")) {}

std::string SpecKeys::full(std::string_view key) const { return fmt::format("{}.{}", architecture_, key); }

std::optional<int64_t> SpecKeys::find_in(std::string_view key, int64_t least) const {
    const std::optional<int64_t> value = metadata().find_integer(full(key));
    if (value && (*value < least || *value > k_largest_size)) {
        bad_input("{}: {} is {}, but must lie in {}..{}", metadata().origin(), full(key), *value, least,
                  k_largest_size);
    }
    return value;
}

int64_t SpecKeys::size(std::string_view key) const {
    const std::optional<int64_t> value = find_in(key, 1);
    return value ? *value : metadata().integer(full(key));  // which throws that the key is missing
}
int64_t SpecKeys::size_or(std::string_view key, int64_t fallback) const { return find_in(key, 1).value_or(fallback); }
int64_t SpecKeys::count_or(std::string_view key, int64_t fallback) const { return find_in(key, 0).value_or(fallback); }

float SpecKeys::positive(std::string_view key) const {
    const double value = metadata().real(full(key));
    if (!std::isfinite(value) || !(static_cast<float>(value) > 0.0f)) {
        bad_input("{}: {} is {}, but must be a positive number", metadata().origin(), full(key), value);
    }
    return static_cast<float>(value);
}

float SpecKeys::positive_or(std::string_view key, float fallback) const { return has(key) ? positive(key) : fallback; }

std::string SpecKeys::text_or(std::string_view key, const std::string& fallback) const {
    const std::string* value = metadata().find_string(full(key));
    return value != nullptr ? *value : fallback;
}

int64_t SpecKeys::vocabulary() const {
    const GgufTensor* table = file_.find("token_embd.weight");
    if (table == nullptr) bad_input("{}: there is no tensor 'token_embd.weight'", metadata().origin());
    const int64_t rows = table->ne[1];
    const Value* tokens = metadata().find("tokenizer.ggml.tokens");
    const Array* array = tokens == nullptr ? nullptr : std::get_if<Array>(tokens);
    if (array != nullptr && static_cast<int64_t>(size_of(*array)) != rows) {
        bad_input("{}: tokenizer.ggml.tokens has {} tokens, but token_embd.weight has {} rows", metadata().origin(),
                  size_of(*array), rows);
    }
    return rows;
}

std::span<const Family* const> families() { return k_families; }

Spec read_common(const SpecKeys& keys, Rope::Order order) {
    Spec s;
    s.architecture = keys.architecture();
    if (const std::string* name = keys.metadata().find_string("general.name")) s.name = *name;
    s.vocabulary = keys.vocabulary();
    s.width = keys.size("embedding_length");
    s.layers = keys.size("block_count");
    if (s.layers > k_most_layers) {
        bad_input("{}: {} is {}, more than {}", keys.metadata().origin(), keys.full("block_count"), s.layers,
                  k_most_layers);
    }
    s.heads = keys.size("attention.head_count");
    s.kv_heads = keys.size_or("attention.head_count_kv", s.heads);
    s.head_size = default_head_size(keys, s.width, s.heads);
    s.value_size = keys.size_or("attention.value_length", s.head_size);
    s.ffn_width = keys.size("feed_forward_length");
    s.context = keys.size("context_length");
    s.rope = read_rope(keys, order, s.head_size);
    s.attention_scale = keys.positive_or("attention.scale", 1.0f / std::sqrt(static_cast<float>(s.head_size)));
    s.window = keys.count_or("attention.sliding_window", 0);
    s.is_tied = !keys.has_tensor("output.weight");
    s.has_rope_factors = keys.has_tensor("rope_freqs.weight");
    check_heads(s, keys);
    return s;
}

Spec read_spec(const Gguf& file) {
    const SpecKeys keys(file);
    if (const std::string* type = file.metadata().find_string("general.type"); type != nullptr && *type != "model") {
        bad_input("{}: this is a file of type '{}', not a model", file.metadata().origin(), *type);
    }
    for (const Family* family : families()) {
        if (family->architecture == keys.architecture()) return family->read(keys);
    }
    std::vector<std::string_view> known;
    for (const Family* family : families()) known.push_back(family->architecture);
    bad_input("{}: architecture '{}' is not supported; supported: {}", file.metadata().origin(), keys.architecture(),
              fmt::join(known, ", "));
}

}  // namespace toy
