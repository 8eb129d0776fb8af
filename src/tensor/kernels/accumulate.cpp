#include "tensor/kernels/accumulate.h"

#include <ggml.h>

#include <algorithm>

#include "tensor/kernels/vectorise.h"

namespace toy::kernels {
namespace {

TOY_VECTORISE void add_piece(float* to, const float* from, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i] += from[i];
}

TOY_VECTORISE float sum_piece(const float* x, int64_t n) {
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    return sum;
}

struct Index {
    int64_t i1, i2, i3;
};

const float* row_of(const ggml_tensor* x, Index at) {
    const char* data = static_cast<const char*>(x->data);
    return reinterpret_cast<const float*>(data + static_cast<size_t>(at.i1) * x->nb[1] +
                                          static_cast<size_t>(at.i2) * x->nb[2] +
                                          static_cast<size_t>(at.i3) * x->nb[3]);
}

// Adds to columns [first, first + n) of one row of out, at `to`, what all rows of x that repeat it hold there.
void add_repeats(float* to, const ggml_tensor* out, const ggml_tensor* x, Index at, int64_t first, int64_t n) {
    const int64_t columns = out->ne[0];
    for (int64_t i3 = at.i3; i3 < x->ne[3]; i3 += out->ne[3]) {
        for (int64_t i2 = at.i2; i2 < x->ne[2]; i2 += out->ne[2]) {
            for (int64_t i1 = at.i1; i1 < x->ne[1]; i1 += out->ne[1]) {
                const float* row = row_of(x, {i1, i2, i3});
                if (columns == 1) {
                    *to += sum_piece(row, x->ne[0]);
                    continue;
                }
                for (int64_t start = first; start < x->ne[0]; start += columns) add_piece(to, row + start, n);
            }
        }
    }
}

}  // namespace

void sum_repeated(ggml_tensor* out, const ggml_tensor* x, bool adds, int ith, int nth) {
    const int64_t count = ggml_nelements(out), columns = out->ne[0];
    auto* data = static_cast<float*>(out->data);
    const int64_t end = count * (ith + 1) / nth;
    for (int64_t i = count * ith / nth; i < end;) {
        const int64_t row = i / columns, column = i % columns;
        const int64_t n = std::min(columns - column, end - i);
        if (!adds) std::fill_n(data + i, n, 0.0f);
        const Index at{row % out->ne[1], row / out->ne[1] % out->ne[2], row / out->ne[1] / out->ne[2]};
        add_repeats(data + i, out, x, at, column, n);
        i += n;
    }
}

// Threads own columns, not rows, so that each does the same work whatever the ids are.
void add_rows(ggml_tensor* out, const ggml_tensor* x, const ggml_tensor* ids, bool adds, int ith, int nth) {
    const int64_t columns = out->ne[0];
    const int64_t first = columns * ith / nth, n = columns * (ith + 1) / nth - first;
    auto* data = static_cast<float*>(out->data);
    if (!adds) {
        const int64_t rows = ggml_nrows(out);
        for (int64_t r = 0; r < rows; ++r) std::fill_n(data + r * columns + first, n, 0.0f);
    }
    for (int64_t i3 = 0; i3 < x->ne[3]; ++i3) {
        for (int64_t i2 = 0; i2 < x->ne[2]; ++i2) {
            const char* numbers = static_cast<const char*>(ids->data) + static_cast<size_t>(i2) * ids->nb[1] +
                                  static_cast<size_t>(i3) * ids->nb[2];
            for (int64_t i1 = 0; i1 < x->ne[1]; ++i1) {
                const int64_t id = reinterpret_cast<const int32_t*>(numbers)[i1];
                float* to = data + ((i3 * out->ne[2] + i2) * out->ne[1] + id) * columns + first;
                add_piece(to, row_of(x, {i1, i2, i3}) + first, n);
            }
        }
    }
}

void join(ggml_tensor* out, size_t axis, std::span<const int64_t> starts, int ith, int nth) {
    int64_t inner = 1, outer = 1;
    for (size_t i = 0; i < axis; ++i) inner *= out->ne[i];
    for (size_t i = axis + 1; i < 4; ++i) outer *= out->ne[i];
    const int64_t length = out->ne[axis];
    const int64_t end = outer * (ith + 1) / nth;
    for (int64_t o = outer * ith / nth; o < end; ++o) {
        float* to = static_cast<float*>(out->data) + o * length * inner;
        int64_t done = 0;
        for (size_t i = 0; i < starts.size(); ++i) {
            const ggml_tensor* part = out->src[i];
            const int64_t n = part->ne[axis] * inner;
            std::fill(to + done, to + starts[i] * inner, 0.0f);
            std::copy_n(static_cast<const float*>(part->data) + o * n, n, to + starts[i] * inner);
            done = starts[i] * inner + n;
        }
        std::fill(to + done, to + length * inner, 0.0f);
    }
}

void add_view(ggml_tensor* out, const ggml_tensor* x, const std::array<size_t, 4>& strides, size_t offset) {
    std::fill_n(static_cast<float*>(out->data), ggml_nelements(out), 0.0f);
    char* base = static_cast<char*>(out->data) + offset;
    const float* from = static_cast<const float*>(x->data);
    for (int64_t r = 0; r < ggml_nrows(x); ++r) {
        const auto i1 = static_cast<size_t>(r % x->ne[1]), i2 = static_cast<size_t>(r / x->ne[1] % x->ne[2]);
        const auto i3 = static_cast<size_t>(r / x->ne[1] / x->ne[2]);
        char* row = base + i1 * strides[1] + i2 * strides[2] + i3 * strides[3];
        for (int64_t i = 0; i < x->ne[0]; ++i)
            *reinterpret_cast<float*>(row + static_cast<size_t>(i) * strides[0]) += *from++;
    }
}

}  // namespace toy::kernels
