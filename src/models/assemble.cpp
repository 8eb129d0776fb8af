#include "models/assemble.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "core/error.h"
#include "models/spec_keys.h"

namespace toy {
namespace {

Layout layout_of(DType type, const std::vector<int64_t>& shape) {
    std::array<int64_t, 4> ne{1, 1, 1, 1};
    std::copy(shape.rbegin(), shape.rend(), ne.begin());
    return packed_ne(type, static_cast<int>(shape.size()), ne);
}

// "blk.3.attn_k_b.weight" with "attn_k_b" replaced by `other`; nothing where it is another weight.
std::optional<std::string> sibling(const std::string& name, std::string_view part, std::string_view other) {
    const size_t at = name.find(part);
    if (at == std::string::npos) return std::nullopt;
    return name.substr(0, at) + std::string(other) + name.substr(at + part.size());
}

const GgufTensor& require(const Gguf& file, const std::string& name, const std::vector<int64_t>& shape) {
    const GgufTensor* tensor = file.find(name);
    if (tensor == nullptr) bad_input("{}: there is no tensor '{}'", file.metadata().origin(), name);
    std::vector<int64_t> found(tensor->ne.begin(), tensor->ne.begin() + tensor->rank);
    std::reverse(found.begin(), found.end());
    if (found != shape || !converts_to_f32(tensor->type)) {
        bad_input("{}: tensor '{}' is {} [{}], expected a weight [{}]", file.metadata().origin(), name,
                  toy::name(tensor->type), fmt::join(found, ", "), fmt::join(shape, ", "));
    }
    return *tensor;
}

// attn_kv_b holds for each head n rows of attn_k_b, transposed, then dv rows of attn_v_b.
std::optional<Assembled> from_joint_kv(const WeightEntry& entry, const Gguf& file, const Spec& s) {
    const std::optional<std::string> of_k = sibling(entry.name, "attn_k_b", "attn_kv_b");
    const std::optional<std::string> of_v = sibling(entry.name, "attn_v_b", "attn_kv_b");
    if (!of_k && !of_v) return std::nullopt;
    const std::string& name = of_k ? *of_k : *of_v;
    if (file.find(name) == nullptr) return std::nullopt;
    const int64_t n = s.latent.plain_size, dv = s.value_size, c = s.latent.rank;
    const GgufTensor& joint = require(file, name, {s.heads * (n + dv), c});
    const size_t row = row_bytes(joint.type, c);
    Assembled result{layout_of(of_k ? DType::F32 : joint.type, entry.shape), {}, {name}};
    result.bytes.resize(result.layout.bytes());
    std::vector<float> values(static_cast<size_t>(c));
    for (int64_t h = 0; h < s.heads; ++h) {
        const std::byte* head = joint.bytes.data() + static_cast<size_t>(h * (n + dv)) * row;
        if (of_v) {
            const size_t size = static_cast<size_t>(dv) * row;
            std::memcpy(result.bytes.data() + static_cast<size_t>(h) * size, head + static_cast<size_t>(n) * row, size);
            continue;
        }
        auto* target = reinterpret_cast<float*>(result.bytes.data()) + h * c * n;  // [c, n]
        for (int64_t i = 0; i < n; ++i) {
            to_f32(joint.type, head + static_cast<size_t>(i) * row, values.data(), c);
            for (int64_t j = 0; j < c; ++j) target[j * n + i] = values[static_cast<size_t>(j)];
        }
    }
    return result;
}

// attn_q.weight from attn_q.head_0.weight, attn_q.head_1.weight, …
std::optional<Assembled> from_heads(const WeightEntry& entry, const Gguf& file, const Spec& s) {
    const size_t dot = entry.name.rfind('.');
    const auto part = [&](int64_t h) {
        return fmt::format("{}.head_{}{}", entry.name.substr(0, dot), h, entry.name.substr(dot));
    };
    const GgufTensor* first = file.find(part(0));
    if (first == nullptr) return std::nullopt;
    const bool is_query = entry.name.find("attn_q.") != std::string::npos;
    const int64_t heads = is_query ? s.heads : s.kv_heads;
    std::vector<int64_t> shape = entry.shape;
    shape.front() /= heads;
    Assembled result{layout_of(first->type, entry.shape), {}, {}};
    for (int64_t h = 0; h < heads; ++h) {
        const GgufTensor& head = require(file, part(h), shape);
        if (head.type != first->type) {
            bad_input("{}: tensor '{}' is {}, but '{}' is {}", file.metadata().origin(), head.name, name(head.type),
                      first->name, name(first->type));
        }
        result.bytes.insert(result.bytes.end(), head.bytes.begin(), head.bytes.end());
        result.sources.push_back(head.name);
    }
    return result;
}

// Llama 3.1's slowing of long wavelengths as divisors of the angles, from the keys that the older toy wrote
// (github.com/meta-llama/llama-models, apply_scaling).
std::optional<Assembled> from_llama3_keys(const WeightEntry& entry, const Gguf& file, const Spec& s) {
    if (entry.name != "rope_freqs.weight") return std::nullopt;
    const SpecKeys keys(file);
    if (keys.text_or("rope.scaling.type", "") != "llama3") return std::nullopt;
    const double factor = keys.positive("rope.scaling.factor"), low = keys.positive("rope.scaling.low_freq_factor");
    const double high = keys.positive("rope.scaling.high_freq_factor");
    const auto original = static_cast<double>(keys.size("rope.scaling.original_context_length"));
    const Rope& rope = s.layer.front().rope;
    std::vector<float> divisors;
    for (int64_t i = 0; i < entry.shape.front(); ++i) {
        const double exponent = 2.0 * static_cast<double>(i) / rope.dims;
        const double wavelength = 2.0 * std::numbers::pi * std::pow(static_cast<double>(rope.base), exponent);
        const double smooth = std::clamp((original / wavelength - low) / (high - low), 0.0, 1.0);
        divisors.push_back(static_cast<float>(1.0 / ((1.0 - smooth) / factor + smooth)));
    }
    const auto bytes = std::as_bytes(std::span(divisors));
    return Assembled{layout_of(DType::F32, entry.shape), {bytes.begin(), bytes.end()}, {}};
}

}  // namespace

std::optional<Assembled> assemble(const WeightEntry& entry, const Gguf& file, const Spec& spec) {
    if (auto joint = from_joint_kv(entry, file, spec)) return joint;
    if (auto heads = from_heads(entry, file, spec)) return heads;
    return from_llama3_keys(entry, file, spec);
}

}  // namespace toy
