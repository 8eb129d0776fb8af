#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "handles.h"
#include "last_error.h"
#include "session.h"
#include "tinynn.h"

using namespace toy;
using namespace toy::capi;

namespace {

uint32_t& cell_of(Session& session, int cell) {
    if (cell < 0 || static_cast<size_t>(cell) >= Session::k_scratch_cells) {
        bad_input("there is no cell {}: the scratch has {}", cell, Session::k_scratch_cells);
    }
    return session.scratch()[static_cast<size_t>(cell)];
}

// fold(so far, value) over the first n cells, NaN where the call fails or, for a fold over nothing, at the start.
template <class Fold>
double reduce(const char* function, void* session, int n, double start, Fold fold) {
    return answer(function, std::numeric_limits<double>::quiet_NaN(), [&] {
        const SessionInUse in_use(session);
        if (n < 0 || static_cast<size_t>(n) > Session::k_scratch_cells) {
            bad_input("there are no {} cells: the scratch has {}", n, Session::k_scratch_cells);
        }
        double result = start;
        for (uint32_t bits : in_use->scratch().first(static_cast<size_t>(n))) {
            result = fold(result, static_cast<double>(std::bit_cast<float>(bits)));
        }
        return result;
    });
}

constexpr double k_infinity = std::numeric_limits<double>::infinity();

}  // namespace

void tnn_scratch_set(void* session, int cell, double value) {
    status(__func__, [&] {
        const SessionInUse in_use(session);
        cell_of(*in_use, cell) = std::bit_cast<uint32_t>(static_cast<float>(value));
    });
}
double tnn_scratch_get(void* session, int cell) {
    return answer(__func__, std::numeric_limits<double>::quiet_NaN(), [&] {
        const SessionInUse in_use(session);
        return static_cast<double>(std::bit_cast<float>(cell_of(*in_use, cell)));
    });
}
void tnn_scratch_set_i32(void* session, int cell, int value) {
    status(__func__, [&] {
        const SessionInUse in_use(session);
        cell_of(*in_use, cell) = std::bit_cast<uint32_t>(value);
    });
}
int tnn_scratch_get_i32(void* session, int cell) {
    return answer(__func__, 0, [&] {
        const SessionInUse in_use(session);
        return std::bit_cast<int>(cell_of(*in_use, cell));
    });
}

double tnn_scratch_min_f32(void* session, int n) {
    return reduce(__func__, session, n, k_infinity, [](double a, double x) { return std::min(a, x); });
}
double tnn_scratch_max_f32(void* session, int n) {
    return reduce(__func__, session, n, -k_infinity, [](double a, double x) { return std::max(a, x); });
}
double tnn_scratch_sum_f32(void* session, int n) {
    return reduce(__func__, session, n, 0.0, [](double a, double x) { return a + x; });
}
double tnn_scratch_sum_abs_f32(void* session, int n) {
    return reduce(__func__, session, n, 0.0, [](double a, double x) { return a + std::abs(x); });
}
double tnn_scratch_sum_sq_f32(void* session, int n) {
    return reduce(__func__, session, n, 0.0, [](double a, double x) { return a + x * x; });
}
int tnn_scratch_nan_count_f32(void* session, int n) {
    const double count =
        reduce(__func__, session, n, 0.0, [](double a, double x) { return std::isnan(x) ? a + 1 : a; });
    return std::isnan(count) ? 0 : static_cast<int>(count);
}
