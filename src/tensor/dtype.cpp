#include "tensor/dtype.h"

#include <ggml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/error.h"

namespace toy {
namespace {

constexpr std::array k_all = {
    DType::F32,     DType::F16,    DType::Q4_0,    DType::Q4_1,  DType::Q5_0,   DType::Q5_1,  DType::Q8_0,
    DType::Q8_1,    DType::Q2_K,   DType::Q3_K,    DType::Q4_K,  DType::Q5_K,   DType::Q6_K,  DType::Q8_K,
    DType::IQ2_XXS, DType::IQ2_XS, DType::IQ3_XXS, DType::IQ1_S, DType::IQ4_NL, DType::IQ3_S, DType::IQ2_S,
    DType::IQ4_XS,  DType::I8,     DType::I16,     DType::I32,   DType::I64,    DType::F64,   DType::IQ1_M,
    DType::BF16,    DType::TQ1_0,  DType::TQ2_0,   DType::MXFP4, DType::NVFP4,  DType::Q1_0,  DType::Q2_0,
};
static_assert(GGML_TYPE_COUNT == 43, "ggml has new types: add them to DType");

ggml_type ggml(DType type) { return static_cast<ggml_type>(type); }

bool is_integer(DType type) {
    return type == DType::I8 || type == DType::I16 || type == DType::I32 || type == DType::I64;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::span<const DType> all_dtypes() { return k_all; }

std::optional<DType> dtype_from_code(int64_t code) {
    const auto found =
        std::find_if(k_all.begin(), k_all.end(), [&](DType type) { return static_cast<int64_t>(type) == code; });
    return found == k_all.end() ? std::nullopt : std::optional(*found);
}

std::string_view name(DType type) { return ggml_type_name(ggml(type)); }

std::optional<DType> dtype_from_name(std::string_view wanted) {
    for (DType type : k_all) {
        const std::string_view own = name(type);
        if (std::equal(own.begin(), own.end(), wanted.begin(), wanted.end(),
                       [](char a, char b) { return lower(a) == lower(b); })) {
            return type;
        }
    }
    return std::nullopt;
}

int64_t block_elements(DType type) { return ggml_blck_size(ggml(type)); }
size_t block_bytes(DType type) { return ggml_type_size(ggml(type)); }
bool is_quantized(DType type) { return ggml_is_quantized(ggml(type)); }
bool needs_importance(DType type) { return ggml_quantize_requires_imatrix(ggml(type)); }

bool converts_to_f32(DType type) {
    return type == DType::F32 ||
           (!is_integer(type) && type != DType::F64 && ggml_get_type_traits(ggml(type))->to_float != nullptr);
}

bool is_lattice(DType type) {
    switch (type) {
        case DType::IQ1_S:
        case DType::IQ1_M:
        case DType::IQ2_XXS:
        case DType::IQ2_XS:
        case DType::IQ2_S:
        case DType::IQ3_XXS:
        case DType::IQ3_S: return true;
        default: return false;
    }
}

float largest_value(DType type) {
    constexpr float k_largest_f16 = 65504.0f;
    return is_lattice(type) ? k_largest_f16 : std::numeric_limits<float>::max();
}

size_t row_bytes(DType type, int64_t n) { return ggml_row_size(ggml(type), n); }

void to_f32(DType type, const void* source, float* target, int64_t n) {
    if (!converts_to_f32(type)) bad_input("values of type {} cannot be converted to f32", name(type));
    if (n % block_elements(type) != 0) {
        bad_input("{} elements of type {} are not a whole number of blocks of {}", n, name(type), block_elements(type));
    }
    if (type == DType::F32) {
        std::memcpy(target, source, static_cast<size_t>(n) * sizeof(float));
    } else {
        ggml_get_type_traits(ggml(type))->to_float(source, target, n);
    }
}

namespace {

// Rows of that length and number can be written; returns how many they are.
int64_t checked_rows(DType type, std::span<const float> values, int64_t columns, std::span<const float> importance) {
    const bool writable = type == DType::F32 || (converts_to_f32(type) && type != DType::Q8_1 && type != DType::Q8_K);
    if (!writable) bad_input("values cannot be written as {}", name(type));
    if (columns <= 0 || columns % block_elements(type) != 0) {
        bad_input("rows of {} values cannot be written as {}: its blocks hold {}", columns, name(type),
                  block_elements(type));
    }
    if (static_cast<int64_t>(values.size()) % columns != 0) {
        bad_input("{} values are not whole rows of {}", values.size(), columns);
    }
    if (needs_importance(type) && importance.empty()) bad_input("writing {} needs an importance matrix", name(type));
    for (const float weight : importance) {
        if (!(weight >= 0.0f && weight <= k_largest_importance)) bad_input("{} is no importance of a column", weight);
    }
    const float most = largest_value(type);
    const bool is_bounded = most < std::numeric_limits<float>::max();
    if (is_bounded && !std::all_of(values.begin(), values.end(), [&](float x) { return std::abs(x) <= most; })) {
        bad_input("values beyond {} cannot be written as {}", most, name(type));
    }
    return static_cast<int64_t>(values.size()) / columns;
}

}  // namespace

std::vector<uint8_t> from_f32(DType type, std::span<const float> values, int64_t columns,
                              std::span<const float> importance) {
    const int64_t rows = checked_rows(type, values, columns, importance);
    std::vector<uint8_t> bytes(static_cast<size_t>(rows) * row_bytes(type, columns));
    from_f32(type, values, columns, importance, std::as_writable_bytes(std::span(bytes)));
    return bytes;
}

void from_f32(DType type, std::span<const float> values, int64_t columns, std::span<const float> importance,
              std::span<std::byte> target) {
    const int64_t rows = checked_rows(type, values, columns, importance);
    if (rows == 0) return;
    ggml_quantize_chunk(ggml(type), values.data(), target.data(), 0, rows, columns,
                        importance.empty() ? nullptr : importance.data());
}

}  // namespace toy
