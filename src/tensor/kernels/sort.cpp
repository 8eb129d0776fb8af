#include "tensor/kernels/sort.h"

#include <ggml.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace toy::kernels {
namespace {

// A strict weak order whatever the values are: numbers before NaN, then by value, then by place.
template <bool descending>
struct Before {
    const float* x;
    bool operator()(int32_t a, int32_t b) const {
        const bool a_is_number = !std::isnan(x[a]);
        const bool b_is_number = !std::isnan(x[b]);
        if (a_is_number != b_is_number) return a_is_number;
        if (a_is_number && x[a] != x[b]) return descending ? x[a] > x[b] : x[a] < x[b];
        return a < b;
    }
};

template <bool descending>
void argsort(ggml_tensor* out, int ith, int nth) {
    const int64_t columns = out->ne[0];
    const auto* x = static_cast<const float*>(out->src[0]->data);
    auto* indices = static_cast<int32_t*>(out->data);
    for (int64_t row = ith; row < ggml_nrows(out); row += nth) {
        int32_t* first = indices + row * columns;
        std::iota(first, first + columns, 0);
        std::sort(first, first + columns, Before<descending>{x + row * columns});
    }
}

}  // namespace

void argsort_ascending_node(ggml_tensor* out, int ith, int nth, void*) { argsort<false>(out, ith, nth); }
void argsort_descending_node(ggml_tensor* out, int ith, int nth, void*) { argsort<true>(out, ith, nth); }

}  // namespace toy::kernels
