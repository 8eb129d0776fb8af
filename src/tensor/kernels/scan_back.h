#pragma once
#include <cstdint>

struct ggml_tensor;

/// The gradient of the selective scan (ops.h, ssm_scan), as a custom CPU node.
namespace toy::kernels {

/// Where in the result each gradient starts: that of x at 0, then dt, a, b and c for each chunk of heads apart, and of
/// the first states. Chunks, not threads, so that sums do not depend on the number of threads.
struct ScanParts {
    int64_t chunks;
    int64_t dt, a, b, c, states, total;
};
/// For heads of P elements, J heads, `rows` tokens of S sequences in all, elements of a and of b, N.
ScanParts scan_parts(int64_t p, int64_t j, int64_t rows, int64_t sequences, int64_t a_elements, int64_t b_elements,
                     int64_t n);

/// Sources: states, x, dt, a, b, c, ids, dy (outputs, then new states), all packed.
void scan_back(ggml_tensor* out, int ith, int nth);

}  // namespace toy::kernels
