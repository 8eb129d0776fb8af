#include <initializer_list>

#include "core/error.h"
#include "handles.h"
#include "last_error.h"
#include "session.h"
#include "tinynn.h"

using namespace toy;
using namespace toy::capi;

namespace {

DType type_of(int code) {
    const std::optional<DType> type = dtype_from_code(code);
    if (!type) bad_input("there is no tensor type {}", code);
    return *type;
}

// `ne` in ggml's order.
Layout layout_of(DType type, std::initializer_list<int> ne) {
    std::array<int64_t, 4> extents{1, 1, 1, 1};
    size_t axis = 0;
    for (int n : ne) {
        if (n < 1) bad_input("axis {} of a tensor cannot have {} elements", axis, n);
        extents[axis++] = n;
    }
    return packed_ne(type, static_cast<int>(ne.size()), extents);
}

void* persistent(const char* function, void* session, int type, std::initializer_list<int> ne) {
    return answer(function, static_cast<void*>(nullptr), [&] {
        const SessionInUse in_use(session);
        return in_use->add_persistent(layout_of(type_of(type), ne));
    });
}

void* mapped(const char* function, void* session, int type, std::initializer_list<int> ne, size_t offset) {
    return answer(function, static_cast<void*>(nullptr), [&] {
        const SessionInUse in_use(session);
        return in_use->add_mapped(layout_of(type_of(type), ne), offset);
    });
}

void* input(const char* function, void* session, DType type, std::initializer_list<int> ne) {
    return answer(function, static_cast<void*>(nullptr), [&] {
        const SessionInUse in_use(session);
        return in_use->add_input(layout_of(type, ne));
    });
}

constexpr int k_f32 = static_cast<int>(DType::F32);

}  // namespace

void* tnn_input_1d_f32_persistent(void* session, int n) { return persistent(__func__, session, k_f32, {n}); }
void* tnn_input_2d_f32_persistent(void* session, int rows, int cols) {
    return persistent(__func__, session, k_f32, {cols, rows});
}
void* tnn_input_3d_f32_persistent(void* session, int ne0, int ne1, int ne2) {
    return persistent(__func__, session, k_f32, {ne0, ne1, ne2});
}
void* tnn_input_4d_f32_persistent(void* session, int ne0, int ne1, int ne2, int ne3) {
    return persistent(__func__, session, k_f32, {ne0, ne1, ne2, ne3});
}
void* tnn_input_2d_persistent_typed(void* session, int rows, int cols, int type) {
    return persistent(__func__, session, type, {cols, rows});
}
void* tnn_input_3d_persistent_typed(void* session, int ne0, int ne1, int ne2, int type) {
    return persistent(__func__, session, type, {ne0, ne1, ne2});
}

void* tnn_rope_freq_factors_alloc(void* session, int n_dims) {
    return answer(__func__, static_cast<void*>(nullptr), [&] {
        const SessionInUse in_use(session);
        if (n_dims % 2 != 0) bad_input("{} dimensions have no pairs to rotate", n_dims);
        return in_use->add_persistent(layout_of(DType::F32, {n_dims / 2}));
    });
}

int tnn_finalize_weights(void* session) {
    return status(__func__, [&] { SessionInUse(session)->finalize(); });
}

int tnn_session_attach_weight_mmap(void* session, void* base, size_t bytes) {
    return status(__func__, [&] { SessionInUse(session)->attach(base, bytes); });
}

void* tnn_input_1d_persistent_mmap(void* session, int n, int type, size_t offset) {
    return mapped(__func__, session, type, {n}, offset);
}
void* tnn_input_2d_persistent_mmap(void* session, int rows, int cols, int type, size_t offset) {
    return mapped(__func__, session, type, {cols, rows}, offset);
}
void* tnn_input_3d_persistent_mmap(void* session, int ne0, int ne1, int ne2, int type, size_t offset) {
    return mapped(__func__, session, type, {ne0, ne1, ne2}, offset);
}

long tnn_row_size(int type, int ne0) {
    return answer(__func__, 0L, [&] { return static_cast<long>(layout_of(type_of(type), {ne0}).bytes()); });
}

void* tnn_input_1d_f32(void* session, int n) { return input(__func__, session, DType::F32, {n}); }
void* tnn_input_2d_f32(void* session, int rows, int cols) { return input(__func__, session, DType::F32, {cols, rows}); }
void* tnn_input_1d_i32(void* session, int n) { return input(__func__, session, DType::I32, {n}); }
void* tnn_input_1d_i32_ctx(void* session, int n) { return input(__func__, session, DType::I32, {n}); }
