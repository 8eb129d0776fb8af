#include <limits>

#include "core/error.h"
#include "handles.h"
#include "last_error.h"
#include "op_codes.h"
#include "session.h"
#include "tinynn.h"

using namespace toy;
using namespace toy::capi;

namespace {

int to_int(int64_t value) {
    if (value > std::numeric_limits<int>::max()) failure("{} does not fit an int", value);
    return static_cast<int>(value);
}

int length_of_axis(const char* function, void* t, size_t axis) {
    return answer(function, -1, [&] { return to_int(TensorInUse(t).tensor().layout().ne[axis]); });
}

// The tape's record of a tensor; null for a persistent one, which is on a tape only where it is used.
const Node* node_of(const TensorInUse& in_use) {
    return in_use.tensor().parameter() != nullptr ? nullptr : &in_use->tape().node(in_use.tensor());
}

OpCode operator_of(const TensorInUse& in_use) {
    const Node* node = node_of(in_use);
    return op_code(node == nullptr || node->op == nullptr ? "" : node->op->name());
}

}  // namespace

int tnn_tensor_nelements(void* t) {
    return answer(__func__, 0, [&] { return to_int(TensorInUse(t).tensor().layout().elements()); });
}
int tnn_tensor_ne0(void* t) { return length_of_axis(__func__, t, 0); }
int tnn_tensor_ne1(void* t) { return length_of_axis(__func__, t, 1); }
int tnn_tensor_ne2(void* t) { return length_of_axis(__func__, t, 2); }
int tnn_tensor_ne3(void* t) { return length_of_axis(__func__, t, 3); }

size_t tnn_tensor_nbytes(void* t) {
    return answer(__func__, size_t{0}, [&] { return TensorInUse(t).tensor().layout().bytes(); });
}
int tnn_tensor_dtype(void* t) {
    return answer(__func__, -1, [&] { return static_cast<int>(TensorInUse(t).tensor().dtype()); });
}

int tnn_tensor_flags(void* t) {
    return answer(__func__, -1, [&] {
        const TensorInUse in_use(t);
        const Node* node = node_of(in_use);
        if (node == nullptr) return 0;
        constexpr int k_input = 1;
        constexpr int k_output = 2;
        return (node->kind == Node::Kind::input ? k_input : 0) | (node->is_output ? k_output : 0);
    });
}

int tnn_tensor_op(void* t) {
    return answer(__func__, -1, [&] { return operator_of(TensorInUse(t)).code; });
}
const char* tnn_tensor_op_name(void* t) {
    return answer(__func__, "", [&] { return operator_of(TensorInUse(t)).ggml_name; });
}

void* tnn_tensor_src(void* t, int i) {
    return answer(__func__, static_cast<void*>(nullptr), [&] {
        const TensorInUse in_use(t);
        const Node* node = node_of(in_use);
        const int count = node == nullptr ? 0 : static_cast<int>(node->sources.size());
        if (i < 0 || i >= count) bad_input("there is no source {}: the tensor has {}", i, count);
        const int32_t source = node->sources[static_cast<size_t>(i)];
        if (source < 0) bad_input("source {} is absent", i);
        return in_use->handle_of(Tensor(&in_use->tape(), source));
    });
}

const char* tnn_tensor_name(void* t) {
    return answer(__func__, "", [&] {
        const TensorInUse in_use(t);
        return kept_text(in_use->name_of(in_use.tensor()));
    });
}

void tnn_tensor_set_name(void* t, const char* name) {
    status(__func__, [&] {
        const TensorInUse in_use(t);
        if (name == nullptr) bad_input("a name is needed, not NULL");
        in_use->set_name(in_use.tensor(), name);
    });
}
