#include "tensor/kernels/widen.h"

#include <ggml.h>

#include <algorithm>

#include "tensor/kernels/gemm.h"

namespace toy::kernels {
namespace {

constexpr int64_t k_rows_at_once = 256;

/// Columns of a result that one thread computes, in whole blocks of a type.
struct Columns {
    int64_t first, count;
};

Columns share_of(int64_t columns, int64_t block, int ith, int nth) {
    const int64_t blocks = columns / block;
    const int64_t first = blocks * ith / nth * block;
    return {first, blocks * (ith + 1) / nth * block - first};
}

/// Rows [first, first + count) of one matrix of w, columns as given, in f32 and packed.
void widen(const ggml_tensor* w, const char* matrix, int64_t first, int64_t count, Columns columns,
           std::vector<float>& rows) {
    rows.resize(static_cast<size_t>(count * columns.count));
    const ggml_type_traits* traits = ggml_get_type_traits(w->type);
    for (int64_t r = 0; r < count; ++r) {
        const char* from = matrix + static_cast<size_t>(first + r) * w->nb[1] + ggml_row_size(w->type, columns.first);
        float* to = rows.data() + r * columns.count;
        if (w->type == GGML_TYPE_F32) {
            std::copy_n(reinterpret_cast<const float*>(from), columns.count, to);
        } else {
            traits->to_float(from, to, columns.count);
        }
    }
}

/// c [m, columns] = dy [m, N]·w, columns as given, for packed rows dy and one matrix of w.
void multiply_columns(const float* dy, int64_t dy_stride, int64_t m, const ggml_tensor* w, const char* matrix,
                      Columns columns, float* c, int64_t c_stride, std::vector<float>& rows) {
    for (int64_t n = 0; n < w->ne[1]; n += k_rows_at_once) {
        const int64_t count = std::min(k_rows_at_once, w->ne[1] - n);
        widen(w, matrix, n, count, columns, rows);
        Product p{};
        p.m = m;
        p.n = columns.count;
        p.k = count;
        p.a = {dy + n, dy_stride, false, DType::F32};
        p.b = {rows.data(), columns.count, false, DType::F32};
        p.c = c;
        p.c_stride = c_stride;
        p.c_type = DType::F32;
        p.adds = n > 0;
        multiply(p);
    }
}

/// The rows of each expert, in order: number t·U + u.
std::vector<std::vector<int64_t>> rows_of_experts(const ggml_tensor* ids, int64_t experts) {
    std::vector<std::vector<int64_t>> rows(static_cast<size_t>(experts));
    for (int64_t t = 0; t < ids->ne[1]; ++t) {
        const char* row = static_cast<const char*>(ids->data) + static_cast<size_t>(t) * ids->nb[1];
        for (int64_t u = 0; u < ids->ne[0]; ++u)
            rows[static_cast<size_t>(reinterpret_cast<const int32_t*>(row)[u])].push_back(t * ids->ne[0] + u);
    }
    return rows;
}

/// Rows of a packed [.., width] tensor, or of one that has a row for each group of `share` numbers.
void gather(const ggml_tensor* x, const std::vector<int64_t>& numbers, int64_t share, std::vector<float>& rows) {
    const int64_t width = x->ne[0];
    rows.resize(numbers.size() * static_cast<size_t>(width));
    for (size_t i = 0; i < numbers.size(); ++i)
        std::copy_n(static_cast<const float*>(x->data) + numbers[i] / share * width, width,
                    rows.data() + i * static_cast<size_t>(width));
}

}  // namespace

void multiply_widened(ggml_tensor* out, const ggml_tensor* dy, const ggml_tensor* w, int ith, int nth) {
    const Columns columns = share_of(out->ne[0], ggml_blck_size(w->type), ith, nth);
    if (columns.count == 0) return;
    std::vector<float> rows;
    for (int64_t i = 0; i < out->ne[2] * out->ne[3]; ++i) {
        const int64_t i2 = i % out->ne[2], i3 = i / out->ne[2];
        const char* matrix = static_cast<const char*>(w->data) +
                             static_cast<size_t>(i2 / (out->ne[2] / w->ne[2])) * w->nb[2] +
                             static_cast<size_t>(i3 / (out->ne[3] / w->ne[3])) * w->nb[3];
        const float* gradient = static_cast<const float*>(dy->data) + i * dy->ne[0] * dy->ne[1];
        float* c = static_cast<float*>(out->data) + i * out->ne[0] * out->ne[1] + columns.first;
        multiply_columns(gradient, dy->ne[0], dy->ne[1], w, matrix, columns, c, out->ne[0], rows);
    }
}

void experts_input(ggml_tensor* out, const ggml_tensor* w, const ggml_tensor* dy, const ggml_tensor* ids, int ith,
                   int nth) {
    const Columns columns = share_of(out->ne[0], ggml_blck_size(w->type), ith, nth);
    if (columns.count == 0) return;
    const auto rows = rows_of_experts(ids, w->ne[2]);
    std::vector<float> gathered, widened, results;
    for (size_t e = 0; e < rows.size(); ++e) {
        if (rows[e].empty()) continue;
        gather(dy, rows[e], 1, gathered);
        const auto count = static_cast<int64_t>(rows[e].size());
        results.resize(static_cast<size_t>(count * columns.count));
        const char* matrix = static_cast<const char*>(w->data) + e * w->nb[2];
        multiply_columns(gathered.data(), dy->ne[0], count, w, matrix, columns, results.data(), columns.count, widened);
        for (int64_t i = 0; i < count; ++i)
            std::copy_n(results.data() + i * columns.count, columns.count,
                        static_cast<float*>(out->data) + rows[e][static_cast<size_t>(i)] * out->ne[0] + columns.first);
    }
}

void experts_weight(ggml_tensor* out, const ggml_tensor* dy, const ggml_tensor* x, const ggml_tensor* ids, int ith,
                    int nth) {
    const int64_t k = out->ne[0], n = out->ne[1];
    const int64_t first = n * ith / nth, count = n * (ith + 1) / nth - first;
    const auto rows = rows_of_experts(ids, out->ne[2]);
    std::vector<float> gradients, inputs;
    for (size_t e = 0; e < rows.size() && count > 0; ++e) {
        float* c = static_cast<float*>(out->data) + (static_cast<int64_t>(e) * n + first) * k;
        if (rows[e].empty()) {
            std::fill_n(c, count * k, 0.0f);
            continue;
        }
        gather(dy, rows[e], 1, gradients);
        gather(x, rows[e], ids->ne[0] / x->ne[1], inputs);
        Product p{};
        p.m = count;
        p.n = k;
        p.k = static_cast<int64_t>(rows[e].size());
        p.a = {gradients.data() + first, n, true, DType::F32};
        p.b = {inputs.data(), k, false, DType::F32};
        p.c = c;
        p.c_stride = k;
        p.c_type = DType::F32;
        multiply(p);
    }
}

}  // namespace toy::kernels
