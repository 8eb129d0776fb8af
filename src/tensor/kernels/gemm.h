#pragma once
#include <cstdint>

#include "tensor/dtype.h"

/// Dense matrix products in float32 and bfloat16 on the CPU, for the calling thread alone: callers split the result.
namespace toy::kernels {

/// An operand of a product: rows of elements (f32 or bf16) that lie `stride` elements apart in memory.
struct Matrix {
    const void* data;
    int64_t stride;
    bool is_turned;  ///< the operand is the transpose of what lies in memory
    DType type;
};

/// c = a·b (+ bias), or c += a·b, summed in float32.
struct Product {
    int64_t m, n, k;
    Matrix a;                     ///< [m, k]
    Matrix b;                     ///< [k, n]
    void* c;                      ///< m rows of n
    int64_t c_stride;             ///< elements from one row of c to the next
    DType c_type;                 ///< f32 or bf16
    bool adds = false;            ///< c += a·b; c is f32
    bool is_half = false;         ///< operands are rounded to bfloat16 where the CPU multiplies it (has_bf16_products)
    const float* bias = nullptr;  ///< [n], added to each row; not with `adds`
};

/// Each element of c is summed in an order that depends on k alone: parts of c computed apart have the same bits.
void multiply(const Product& product);

/// Rows and columns of c that are computed together. A part that begins at a multiple of them wastes nothing.
struct TileSize {
    int64_t rows, columns;
};
TileSize tile_size();

/// Whether this CPU multiplies bfloat16 itself (AVX512-BF16); elsewhere `is_half` products are computed in float32.
bool has_bf16_products();

}  // namespace toy::kernels
