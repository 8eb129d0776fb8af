#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "tensor/kernels/gemm.h"

/// How operands of a matrix product become panels in the order in which the innermost loop reads them.
namespace toy::kernels {

/// Rounded to nearest, ties to even; NaN stays NaN.
inline uint16_t f32_to_bf16(float x) {
    const auto bits = std::bit_cast<uint32_t>(x);
    const uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
    const uint32_t quiet = (bits >> 16) | 0x40u;
    return static_cast<uint16_t>((bits & 0x7FFFFFFFu) > 0x7F800000u ? quiet : rounded);
}

/// Rows or columns of c that a panel holds.
struct Range {
    int64_t first, count;
};

/// The element (row, column) of what lies in memory, as bits of f32 or of bf16 as the unit wants it.
template <bool IsHalf>
inline uint32_t element(const Matrix& m, int64_t row, int64_t column) {
    const int64_t at = row * m.stride + column;
    if (m.type == DType::BF16) {
        const uint32_t bits = static_cast<const uint16_t*>(m.data)[at];
        return IsHalf ? bits : bits << 16;
    }
    const float value = static_cast<const float*>(m.data)[at];
    return IsHalf ? f32_to_bf16(value) : std::bit_cast<uint32_t>(value);
}

/// Units [begin, begin + depth) of one row of memory, into `units`. A unit is one element, or a pair of bf16 whose
/// second one is 0 beyond k.
template <bool IsHalf>
inline void units_of_row(const Matrix& m, int64_t row, int64_t begin, int64_t depth, int64_t k, uint32_t* units) {
    for (int64_t i = 0; i < depth; ++i) {
        if constexpr (IsHalf) {
            const int64_t at = 2 * (begin + i);
            units[i] = element<true>(m, row, at) | (at + 1 < k ? element<true>(m, row, at + 1) << 16 : 0u);
        } else {
            units[i] = element<false>(m, row, begin + i);
        }
    }
}

/// Four rows of four units, wherever they lie, transposed: to[c·stride + r] = from[r][c].
inline void turn_four(const char* const from[4], int64_t at, uint32_t* to, int64_t stride) {
    typedef uint32_t Four __attribute__((vector_size(16), aligned(4), may_alias));
    Four x[4], y[4];
    for (int r = 0; r < 4; ++r) std::memcpy(&x[r], from[r] + at * 4, sizeof x[r]);
    y[0] = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5);
    y[1] = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
    y[2] = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
    y[3] = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
    x[0] = __builtin_shufflevector(y[0], y[2], 0, 1, 4, 5);
    x[1] = __builtin_shufflevector(y[0], y[2], 2, 3, 6, 7);
    x[2] = __builtin_shufflevector(y[1], y[3], 0, 1, 4, 5);
    x[3] = __builtin_shufflevector(y[1], y[3], 2, 3, 6, 7);
    for (int c = 0; c < 4; ++c) std::memcpy(to + c * stride, &x[c], sizeof x[c]);
}

/// Whether a row of memory is a row of units as it stands.
template <bool IsHalf>
inline bool holds_units(const Matrix& m, int64_t begin, int64_t depth, int64_t k) {
    return IsHalf ? m.type == DType::BF16 && 2 * (begin + depth) <= k : m.type == DType::F32;
}

/// A panel whose rows of memory run along k: they are transposed.
template <bool IsHalf>
inline void pack_turned(const Matrix& m, Range range, int64_t width, int64_t begin, int64_t depth, int64_t k,
                        uint32_t* panel) {
    constexpr int64_t k_piece = 64;
    alignas(16) uint32_t piece[4][k_piece];
    for (int64_t j = 0; j < width; j += 4) {
        const int64_t lanes = std::min<int64_t>(4, width - j);
        for (int64_t at = 0; at < depth; at += k_piece) {
            const int64_t length = std::min(k_piece, depth - at);
            const char* rows[4];
            for (int64_t r = 0; r < 4; ++r) {
                rows[r] = reinterpret_cast<const char*>(piece[r]);
                if (j + r >= range.count) {
                    std::fill_n(piece[r], length, 0u);
                } else if (holds_units<IsHalf>(m, begin, depth, k)) {
                    const int64_t offset = (range.first + j + r) * m.stride * (IsHalf ? 2 : 4) + (begin + at) * 4;
                    rows[r] = static_cast<const char*>(m.data) + offset;
                } else {
                    units_of_row<IsHalf>(m, range.first + j + r, begin + at, length, k, piece[r]);
                }
            }
            uint32_t* to = panel + at * width + j;
            int64_t i = 0;
            if (lanes == 4) {
                for (; i + 4 <= length; i += 4) turn_four(rows, i, to + i * width, width);
            }
            for (; i < length; ++i) {
                for (int64_t r = 0; r < lanes; ++r) std::memcpy(to + i * width + r, rows[r] + i * 4, sizeof(uint32_t));
            }
        }
    }
}

/// A panel whose rows of memory run across it: they are copied, or two of them interleaved.
template <bool IsHalf>
inline void pack_straight(const Matrix& m, Range range, int64_t width, int64_t begin, int64_t depth, int64_t k,
                          uint32_t* panel) {
    for (int64_t i = 0; i < depth; ++i, panel += width) {
        const int64_t row = IsHalf ? 2 * (begin + i) : begin + i;
        if (!IsHalf && m.type == DType::F32) {
            std::memcpy(panel, static_cast<const float*>(m.data) + row * m.stride + range.first,
                        static_cast<size_t>(range.count) * sizeof(float));
        } else if (IsHalf && m.type == DType::BF16 && row + 1 < k) {
            const uint16_t* first = static_cast<const uint16_t*>(m.data) + row * m.stride + range.first;
            for (int64_t j = 0; j < range.count; ++j)
                panel[j] = first[j] | static_cast<uint32_t>(first[j + m.stride]) << 16;
        } else {
            for (int64_t j = 0; j < range.count; ++j) {
                panel[j] = element<IsHalf>(m, row, range.first + j);
                if (IsHalf && row + 1 < k) panel[j] |= element<IsHalf>(m, row + 1, range.first + j) << 16;
            }
        }
        std::fill(panel + range.count, panel + width, 0u);
    }
}

/// Packs `width` rows or columns of an operand, of which `range` exist, over units [begin, begin + depth) of k:
/// panel[unit·width + j]. `is_straight`: the rows of memory run across the panel.
template <class Tile>
void pack(const Matrix& m, bool is_straight, Range range, int64_t width, int64_t begin, int64_t depth, int64_t k,
          uint32_t* panel) {
    if (is_straight) {
        pack_straight<Tile::is_half>(m, range, width, begin, depth, k, panel);
    } else {
        pack_turned<Tile::is_half>(m, range, width, begin, depth, k, panel);
    }
}

}  // namespace toy::kernels
