#include "tensor/kernels/gemm.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>

#include "tensor/kernels/gemm_pack.h"
#include "tensor/kernels/gemm_tile.h"

// The product is cut as in K. Goto, R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008), for
// caches of today: a block of b is packed once and stays in the L2 cache, a panel of a stays in the L1 cache, and a
// tile of c stays in registers while the loop over k runs.

namespace toy::kernels {
namespace {

constexpr int64_t k_block_units = 160 * 1024;  // of packed b, four bytes each: 640 KiB
constexpr int64_t k_block_depth = 384;

/// Memory of one thread that grows on demand, aligned for vectors.
class Scratch {
 public:
    uint32_t* get(int64_t count) {
        if (count > capacity_) {
            constexpr size_t k_alignment = 64;
            const size_t bytes = (static_cast<size_t>(count) * 4 + k_alignment - 1) / k_alignment * k_alignment;
            memory_.reset(static_cast<uint32_t*>(std::aligned_alloc(k_alignment, bytes)));
            if (memory_ == nullptr) std::abort();  // a thread of a computation has nobody to report to
            capacity_ = count;
        }
        return memory_.get();
    }

 private:
    struct Free {
        void operator()(uint32_t* memory) const { std::free(memory); }
    };
    std::unique_ptr<uint32_t, Free> memory_;
    int64_t capacity_ = 0;
};

/// The part of a product that one block of b, columns [first, first + columns) and units [begin, begin + depth) of the
/// sum, takes part in.
struct Block {
    int64_t first, columns, begin, depth;
};

/// Adds a computed tile, rows × columns of it valid, to its place in c.
void store_tile(const Product& p, const float* tile, int64_t tile_columns, int64_t row, int64_t column, int64_t rows,
                int64_t columns, bool is_first) {
    for (int64_t r = 0; r < rows; ++r) {
        const float* sums = tile + r * tile_columns;
        const int64_t at = (row + r) * p.c_stride + column;
        if (p.c_type == DType::BF16) {
            auto* c = static_cast<uint16_t*>(p.c) + at;
            for (int64_t j = 0; j < columns; ++j)
                c[j] = f32_to_bf16(sums[j] + (p.bias != nullptr ? p.bias[column + j] : 0.0f));
            continue;
        }
        float* c = static_cast<float*>(p.c) + at;
        if (p.adds || !is_first) {
            for (int64_t j = 0; j < columns; ++j) c[j] += sums[j];
        } else if (p.bias != nullptr) {
            for (int64_t j = 0; j < columns; ++j) c[j] = sums[j] + p.bias[column + j];
        } else {
            std::copy_n(sums, columns, c);
        }
    }
}

/// The loops around the tile, for one instruction set and one kind of unit.
template <class Tile>
void multiply_with(const Product& p) {
    constexpr int64_t R = Tile::rows, C = Tile::columns;
    thread_local Scratch b_scratch, a_scratch;
    const int64_t units = Tile::is_half ? (p.k + 1) / 2 : p.k;
    // A sum that is stored in bf16 cannot be added to: it is made in one go.
    const int64_t depth = std::max<int64_t>(1, p.c_type == DType::BF16 ? units : std::min(units, k_block_depth));
    const int64_t width = std::clamp<int64_t>(k_block_units / depth / C * C, C, (p.n + C - 1) / C * C);
    uint32_t* b = b_scratch.get(width * depth);
    uint32_t* a = a_scratch.get(R * depth);
    alignas(64) float tile[R * C];
    for (Block block{0, 0, 0, 0}; block.first < p.n; block.first += width) {
        block.columns = std::min(width, p.n - block.first);
        for (block.begin = 0; block.begin < units; block.begin += depth) {
            block.depth = std::min(depth, units - block.begin);
            for (int64_t j = 0; j < block.columns; j += C) {
                pack<Tile>(p.b, !p.b.is_turned, {block.first + j, std::min(C, block.columns - j)}, C, block.begin,
                           block.depth, p.k, b + j * block.depth);
            }
            for (int64_t i = 0; i < p.m; i += R) {
                const int64_t rows = std::min(R, p.m - i);
                pack<Tile>(p.a, p.a.is_turned, {i, rows}, R, block.begin, block.depth, p.k, a);
                for (int64_t j = 0; j < block.columns; j += C) {
                    Tile::sums(block.depth, a, b + j * block.depth, tile);
                    store_tile(p, tile, C, i, block.first + j, rows, std::min(C, block.columns - j), block.begin == 0);
                }
            }
        }
    }
}

using Function = void (*)(const Product&);

struct Kernels {
    Function f32, half;
    TileSize tile;
    bool has_half;
};

template <class F32, class Half>
Kernels kernels_of() {
    return {multiply_with<F32>, multiply_with<Half>, {F32::rows, F32::columns}, Half::is_half};
}

Kernels choose() {
#if TOY_GEMM_X86
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
        if (__builtin_cpu_supports("avx512bf16")) return kernels_of<Avx512Tile, Avx512Bf16Tile>();
        return kernels_of<Avx512Tile, Avx512Tile>();
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kernels_of<Avx2Tile, Avx2Tile>();
#endif
    return kernels_of<PlainTile, PlainTile>();
}

const Kernels& kernels() {
    static const Kernels chosen = choose();
    return chosen;
}

}  // namespace

void multiply(const Product& product) { (product.is_half ? kernels().half : kernels().f32)(product); }
TileSize tile_size() { return kernels().tile; }
bool has_bf16_products() { return kernels().has_half; }

}  // namespace toy::kernels
