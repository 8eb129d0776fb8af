#include "core/error.h"
#include "handles.h"
#include "last_error.h"
#include "session.h"
#include "tinynn.h"

using namespace toy;
using namespace toy::capi;

int tnn_realize(void* session, void* result) {
    return status(__func__, [&] {
        const SessionInUse in_use(session);
        in_use->realize(Session::Which::a, tensor_of(result, *in_use));
    });
}

int tnn_build_forward_only(void* session, void* result) {
    return status(__func__, [&] {
        const SessionInUse in_use(session);
        in_use->want_result(tensor_of(result, *in_use));
    });
}

int tnn_add_to_graph(void* session, void* node) {
    return status(__func__, [&] {
        const SessionInUse in_use(session);
        in_use->want(tensor_of(node, *in_use));
    });
}

int tnn_compute(void* session) {
    return status(__func__, [&] { SessionInUse(session)->compute(Session::Which::a); });
}

int tnn_realize_b(void* session, void* result) {
    return status(__func__, [&] {
        const SessionInUse in_use(session);
        in_use->realize(Session::Which::b, tensor_of(result, *in_use));
    });
}

int tnn_compute_b(void* session) {
    return status(__func__, [&] { SessionInUse(session)->compute(Session::Which::b); });
}

int tnn_switch_a(void* session) {
    return status(__func__, [&] { SessionInUse(session)->select(Session::Which::a); });
}

int tnn_switch_b(void* session) {
    return status(__func__, [&] { SessionInUse(session)->select(Session::Which::b); });
}

int tnn_reset_for_rebuild(void* session) {
    return status(__func__, [&] { SessionInUse(session)->reset(); });
}

void tnn_set_output(void* t) {
    status(__func__, [&] {
        const TensorInUse in_use(t);
        in_use->tape().output(in_use->on_tape(in_use.tensor()));
    });
}

int tnn_graph_n_nodes(void* session) {
    return answer(__func__, 0, [&] { return static_cast<int>(SessionInUse(session)->operations().size()); });
}

void* tnn_graph_node(void* session, int i) {
    return answer(__func__, static_cast<void*>(nullptr), [&] {
        const SessionInUse in_use(session);
        const std::vector<int32_t> operations = in_use->operations();
        if (i < 0 || i >= static_cast<int>(operations.size())) {
            bad_input("there is no node {}: the graph has {}", i, operations.size());
        }
        return in_use->handle_of(Tensor(&in_use->tape(), operations[static_cast<size_t>(i)]));
    });
}
