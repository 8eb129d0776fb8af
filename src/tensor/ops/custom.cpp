#include <ggml.h>

#include "tensor/ops.h"
#include "tensor/ops/record.h"

namespace toy {
namespace {

constexpr size_t k_most_operands = 9;  // GGML_MAX_SRC is 10, and ggml keeps one

Layout layout_of(const ggml_tensor* tensor) {
    Layout layout{static_cast<DType>(tensor->type), ggml_n_dims(tensor), {}, {}};
    for (size_t i = 0; i < 4; ++i) {
        layout.ne[i] = tensor->ne[i];
        layout.nb[i] = tensor->nb[i];
    }
    return layout;
}

// ggml keeps the address of this operator in the node; the tape owns it as long as the graph lives.
struct Custom : Op {
    std::string label;
    Layout out;
    std::function<void(const CustomCall&)> function;
    Custom(std::string l, const Layout& o, std::function<void(const CustomCall&)> f)
        : label(std::move(l)), out(o), function(std::move(f)) {}

    std::string_view name() const override { return label; }
    Layout infer(std::span<const Layout> in) const override {
        if (in.size() > k_most_operands)
            bad_input("a custom node has at most {} operands, not {}", k_most_operands, in.size());
        if (!out.is_contiguous()) bad_input("the result of a custom node is packed, not {}", out.describe());
        return out;
    }
    static void call(ggml_tensor* node, int ith, int nth, void* self) {
        CustomCall call{{node->data, layout_of(node)}, {}, ith, nth};
        for (int i = 0; i < GGML_MAX_SRC && node->src[i] != nullptr; ++i) {
            call.in.push_back({node->src[i]->data, layout_of(node->src[i])});
        }
        static_cast<const Custom*>(self)->function(call);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        if (!to.device.is_cpu()) bad_input("{} is computed on the CPU alone, not on {}", label, to.device.name());
        std::vector<ggml_tensor*> operands(in.begin(), in.end());
        return ggml_custom_4d(to.context, static_cast<ggml_type>(out.type), out.ne[0], out.ne[1], out.ne[2], out.ne[3],
                              operands.data(), static_cast<int>(operands.size()), call, GGML_N_TASKS_MAX,
                              const_cast<Custom*>(this));
    }
    std::optional<int64_t> index_bound(std::span<const Layout>) const override { return 0; }  // its author's business
};

}  // namespace

Tensor custom(std::string name, const Layout& out, std::initializer_list<Tensor> operands,
              std::function<void(const CustomCall&)> function, std::source_location where) {
    return record(Custom(std::move(name), out, std::move(function)), operands, where);
}

}  // namespace toy
