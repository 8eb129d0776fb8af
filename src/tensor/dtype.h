#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace toy {

/// Element types, with the codes that GGUF files store (and ggml uses). Codes 4, 5, 31-33 and 36-38 were withdrawn.
enum class DType : int32_t {
    F32 = 0,
    F16 = 1,
    Q4_0 = 2,
    Q4_1 = 3,
    Q5_0 = 6,
    Q5_1 = 7,
    Q8_0 = 8,
    Q8_1 = 9,
    Q2_K = 10,
    Q3_K = 11,
    Q4_K = 12,
    Q5_K = 13,
    Q6_K = 14,
    Q8_K = 15,
    IQ2_XXS = 16,
    IQ2_XS = 17,
    IQ3_XXS = 18,
    IQ1_S = 19,
    IQ4_NL = 20,
    IQ3_S = 21,
    IQ2_S = 22,
    IQ4_XS = 23,
    I8 = 24,
    I16 = 25,
    I32 = 26,
    I64 = 27,
    F64 = 28,
    IQ1_M = 29,
    BF16 = 30,
    TQ1_0 = 34,
    TQ2_0 = 35,
    MXFP4 = 39,
    NVFP4 = 40,
    Q1_0 = 41,
    Q2_0 = 42,
};

/// The type with this code, or nothing where the code is unknown or withdrawn.
std::optional<DType> dtype_from_code(int64_t code);
/// "f32", "q4_K", … as ggml spells it.
std::string_view name(DType type);
/// The type of that name, in upper or lower case.
std::optional<DType> dtype_from_name(std::string_view name);
/// All types, in the order of their codes.
std::span<const DType> all_dtypes();

/// Elements in one block (1 for plain types), and the bytes that a block takes.
int64_t block_elements(DType type);
size_t block_bytes(DType type);
bool is_quantized(DType type);
/// Whether values convert to F32 (all but the integers, F64, and the pure activation types Q8_1 and Q8_K).
bool converts_to_f32(DType type);
/// Whether `quantize` needs an importance matrix (IQ1, IQ2_XXS and their like).
bool needs_importance(DType type);

/// Whether groups of values are entries of a lattice, which quantisation searches in a table (IQ1, IQ2, IQ3).
bool is_lattice(DType type);
/// The largest magnitude that from_f32 takes: F16's largest for the types of a lattice, where ggml's sums would
/// overflow beyond it and end the process; all finite values for the others, whose scales may become infinite.
float largest_value(DType type);

/// Bytes of a row of `n` elements. Precondition: n is a multiple of block_elements(type).
size_t row_bytes(DType type, int64_t n);

/// Converts `n` elements to float32. Throws Error where converts_to_f32(type) is false.
void to_f32(DType type, const void* source, float* target, int64_t n);
inline constexpr float k_largest_importance = 1e20f;

/// Converts rows of `columns` float32 values each to `type` (F32, F16, BF16 or quantised), rounding as ggml does.
/// `importance` has one weight per column, from 0 to k_largest_importance, or is empty. Throws Error where the type
/// cannot be written, the row length is not a multiple of the block, or the numbers are out of these bounds.
std::vector<uint8_t> from_f32(DType type, std::span<const float> values, int64_t columns,
                              std::span<const float> importance = {});
/// The same into the caller's memory. Precondition: target.size() is that of the rows in their type.
void from_f32(DType type, std::span<const float> values, int64_t columns, std::span<const float> importance,
              std::span<std::byte> target);

}  // namespace toy
