#include <array>
#include <cmath>

#include "core/error.h"
#include "handles.h"
#include "last_error.h"
#include "session.h"
#include "tensor/ops.h"
#include "tinynn.h"

using namespace toy;
using namespace toy::capi;

namespace {

// The operands of one call, as nodes of the session's tape. A use through C has no place in our sources to report.
class Operands {
 public:
    explicit Operands(Session& session) : session_(session) {}
    Tensor operator[](void* handle) const { return session_.on_tape(tensor_of(handle, session_)); }
    Operand operator()(void* handle) const { return {(*this)[handle], std::source_location{}}; }
    Tensor optional(void* handle) const { return handle == nullptr ? Tensor() : (*this)[handle]; }

 private:
    Session& session_;
};

Operand unplaced(Tensor tensor) { return {tensor, std::source_location{}}; }

template <class Body>
void* node(const char* function, void* session, Body body) {
    return answer(function, static_cast<void*>(nullptr), [&] {
        const SessionInUse in_use(session);
        in_use->require_room();
        return in_use->handle_of(body(Operands(*in_use)));
    });
}

float real(double value) { return static_cast<float>(value); }

size_t distance(long bytes) {
    if (bytes < 0) bad_input("an offset or stride of {} bytes points before its tensor", bytes);
    return static_cast<size_t>(bytes);
}

int64_t extent(int n) {
    if (n < 1) bad_input("an axis cannot have {} elements", n);
    return n;
}

// A norm's weights as nodes of their own, as those who walk a graph expect them.
Tensor scaled(Tensor unit, Tensor gamma) { return unplaced(unit) * gamma; }

}  // namespace

// ---- arithmetic and norms ----

void* tnn_matmul(void* session, void* a, void* b) {
    return node(__func__, session, [&](const Operands& use) { return matmul(use[a], use(b)); });
}
void* tnn_add(void* session, void* a, void* b) {
    return node(__func__, session, [&](const Operands& use) { return use(a) + use[b]; });
}
void* tnn_mul(void* session, void* a, void* b) {
    return node(__func__, session, [&](const Operands& use) { return use(a) * use[b]; });
}
void* tnn_scale(void* session, void* a, double s) {
    return node(__func__, session, [&](const Operands& use) { return scale_bias(use(a), real(s), 0.0F); });
}
void* tnn_silu(void* session, void* a) {
    return node(__func__, session, [&](const Operands& use) { return silu(use(a)); });
}
void* tnn_gelu(void* session, void* a) {
    return node(__func__, session, [&](const Operands& use) { return gelu(use(a)); });
}
void* tnn_tanh(void* session, void* a) {
    return node(__func__, session, [&](const Operands& use) { return toy::tanh(use(a)); });
}
void* tnn_swiglu_split(void* session, void* gate, void* up) {
    return node(__func__, session, [&](const Operands& use) { return swiglu(use(gate), use[up]); });
}
void* tnn_rms_norm(void* session, void* x, void* gamma, double eps) {
    return node(__func__, session,
                [&](const Operands& use) { return scaled(rms_norm(use(x), {}, real(eps)), use[gamma]); });
}
void* tnn_layer_norm(void* session, void* x, void* gamma, void* beta, double eps) {
    return node(__func__, session, [&](const Operands& use) {
        return unplaced(scaled(layer_norm(use(x), {}, {}, real(eps)), use[gamma])) + use[beta];
    });
}

// ---- attention ----

void* tnn_softmax(void* session, void* a) {
    return node(__func__, session, [&](const Operands& use) { return softmax(use(a)); });
}
void* tnn_soft_max_ext(void* session, void* a, void* mask, double scale, double max_bias) {
    return node(__func__, session,
                [&](const Operands& use) { return softmax(use(a), use.optional(mask), real(scale), real(max_bias)); });
}
void* tnn_diag_mask_inf(void* session, void* a, int n_past) {
    return node(__func__, session, [&](const Operands& use) { return causal_mask(use(a), n_past); });
}
void* tnn_rope_ext(void* session, void* x, void* positions, int n_dims, double freq_base, double freq_scale,
                   double ext_factor, double attn_factor, double beta_fast, double beta_slow, void* freq_factors) {
    return node(__func__, session, [&](const Operands& use) {
        Rope how;
        how.order = Rope::Order::neox;
        how.dims = n_dims;
        how.base = real(freq_base);
        how.frequency_scale = real(freq_scale);
        how.ext_factor = real(ext_factor);
        how.attn_factor = real(attn_factor);
        how.beta_fast = real(beta_fast);
        how.beta_slow = real(beta_slow);
        return rope(use(x), use[positions], how, use.optional(freq_factors));
    });
}
void* tnn_flash_attn_ext(void* session, void* q, void* k, void* v, void* mask, double scale, double max_bias,
                         double softcap) {
    return node(__func__, session, [&](const Operands& use) {
        return flash_attention(use(q), use[k], use[v], use.optional(mask), real(scale), real(softcap), real(max_bias));
    });
}

// ---- shapes ----

void* tnn_concat(void* session, void* a, void* b, int dim) {
    return node(__func__, session, [&](const Operands& use) {
        if (dim < 0 || dim > 3) bad_input("there is no axis {}", dim);
        return concat(use(a), use[b], -1 - dim);
    });
}
void* tnn_view_1d(void* session, void* t, int ne0, long offset) {
    return node(__func__, session,
                [&](const Operands& use) { return byte_view(use(t), {extent(ne0)}, {}, distance(offset)); });
}
void* tnn_view_2d(void* session, void* t, int ne0, int ne1, long row_stride, long offset) {
    return node(__func__, session, [&](const Operands& use) {
        return byte_view(use(t), {extent(ne0), extent(ne1)}, {distance(row_stride)}, distance(offset));
    });
}
void* tnn_reshape_2d(void* session, void* t, int ne0, int ne1) {
    return node(__func__, session, [&](const Operands& use) { return reshape(use(t), {extent(ne1), extent(ne0)}); });
}
void* tnn_reshape_3d(void* session, void* t, int ne0, int ne1, int ne2) {
    return node(__func__, session, [&](const Operands& use) {
        return reshape(use(t), {extent(ne2), extent(ne1), extent(ne0)});
    });
}
void* tnn_permute(void* session, void* t, int axis0, int axis1, int axis2, int axis3) {
    return node(__func__, session, [&](const Operands& use) {
        // ggml says where each axis goes, fastest first; ours says where each one comes from, slowest first.
        const std::array<int, 4> target{axis0, axis1, axis2, axis3};
        std::array<int, 4> order{-1, -1, -1, -1};
        for (size_t i = 0; i < 4; ++i) {
            if (target[i] < 0 || target[i] > 3) bad_input("there is no axis {}", target[i]);
            order[static_cast<size_t>(3 - target[i])] = 3 - static_cast<int>(i);
        }
        return permute(use(t), {order[0], order[1], order[2], order[3]});
    });
}
void* tnn_cont_2d(void* session, void* t, int ne0, int ne1) {
    return node(__func__, session, [&](const Operands& use) {
        return reshape(unplaced(contiguous(use(t))), {extent(ne1), extent(ne0)});
    });
}
void* tnn_transpose(void* session, void* t) {
    return node(__func__, session, [&](const Operands& use) { return transpose(use(t)); });
}

// ---- copies and rows ----

void* tnn_cpy(void* session, void* src, void* dst) {
    return node(__func__, session, [&](const Operands& use) { return copy_into(use(src), use[dst]); });
}
void* tnn_cast(void* session, void* t, int type) {
    return node(__func__, session, [&](const Operands& use) {
        const std::optional<DType> wanted = dtype_from_code(type);
        if (!wanted) bad_input("there is no tensor type {}", type);
        return cast(use(t), *wanted);
    });
}
void* tnn_get_rows(void* session, void* table, void* rows) {
    return node(__func__, session, [&](const Operands& use) { return get_rows(use[table], use(rows)); });
}
void* tnn_set_rows(void* session, void* dst, void* src, void* rows) {
    return node(__func__, session, [&](const Operands& use) { return set_rows(use[dst], use(src), use[rows]); });
}
