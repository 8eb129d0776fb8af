#pragma once
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#define TOY_GEMM_X86 1
#else
#define TOY_GEMM_X86 0
#endif

/// The innermost loop of a matrix product: a tile of c, kept in registers, for each instruction set.
namespace toy::kernels {

/// R rows by 2·L columns of c: sums[r, j] = Σ a[k, r]·b[k, j] over packed panels a [depth, R] and b [depth, 2L]. As a
/// function body of its own it takes the instruction set of the function that it is inlined into.
template <int L, int R>
[[gnu::always_inline]] inline void sum_tile(int64_t depth, const float* a, const float* b, float* sums) {
    typedef float Vector __attribute__((vector_size(L * sizeof(float)), aligned(4), may_alias));
    Vector sum[R][2] = {};
    for (int64_t k = 0; k < depth; ++k, a += R, b += 2 * L) {
        const Vector b0 = *reinterpret_cast<const Vector*>(b), b1 = *reinterpret_cast<const Vector*>(b + L);
#pragma GCC unroll 12
        for (int r = 0; r < R; ++r) {
            sum[r][0] += a[r] * b0;
            sum[r][1] += a[r] * b1;
        }
    }
    std::memcpy(sums, sum, sizeof sum);
}

/// What every processor does.
struct PlainTile {
    static constexpr int rows = 4, columns = 8;
    static constexpr bool is_half = false;
    static void sums(int64_t depth, const uint32_t* a, const uint32_t* b, float* sums) {
        sum_tile<4, 4>(depth, reinterpret_cast<const float*>(a), reinterpret_cast<const float*>(b), sums);
    }
};

#if TOY_GEMM_X86
struct Avx2Tile {
    static constexpr int rows = 6, columns = 16;
    static constexpr bool is_half = false;
    [[gnu::target("avx2,fma")]] static void sums(int64_t depth, const uint32_t* a, const uint32_t* b, float* sums) {
        sum_tile<8, 6>(depth, reinterpret_cast<const float*>(a), reinterpret_cast<const float*>(b), sums);
    }
};

struct Avx512Tile {
    static constexpr int rows = 12, columns = 32;
    static constexpr bool is_half = false;
    [[gnu::target("avx512f,avx512bw,avx512vl")]] static void sums(int64_t depth, const uint32_t* a, const uint32_t* b,
                                                                  float* sums) {
        sum_tile<16, 12>(depth, reinterpret_cast<const float*>(a), reinterpret_cast<const float*>(b), sums);
    }
};

/// Two neighbours of k at a time: a unit is a pair of bf16, and the products of a pair are added in float32.
struct Avx512Bf16Tile {
    static constexpr int rows = 12, columns = 32;
    static constexpr bool is_half = true;
    [[gnu::target("avx512f,avx512bw,avx512vl,avx512bf16")]] static void sums(int64_t depth, const uint32_t* a,
                                                                             const uint32_t* b, float* sums) {
        __m512 sum[rows][2] = {};
        for (int64_t k = 0; k < depth; ++k, a += rows, b += columns) {
            const auto b0 = (__m512bh)_mm512_loadu_si512(b), b1 = (__m512bh)_mm512_loadu_si512(b + 16);
#pragma GCC unroll 12
            for (int r = 0; r < rows; ++r) {
                const auto x = (__m512bh)_mm512_set1_epi32(static_cast<int>(a[r]));
                sum[r][0] = _mm512_dpbf16_ps(sum[r][0], x, b0);
                sum[r][1] = _mm512_dpbf16_ps(sum[r][1], x, b1);
            }
        }
        std::memcpy(sums, sum, sizeof sum);
    }
};
#endif

}  // namespace toy::kernels
