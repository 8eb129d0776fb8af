#include <ggml.h>

#include "tensor/ops.h"
#include "tensor/ops/record.h"

namespace toy {
namespace {

struct SumRows : Op {
    std::string_view name() const override { return "sum_rows"; }
    Layout infer(std::span<const Layout> in) const override {
        require_type(in[0], DType::F32, "x");
        require_packed_rows(in[0], "x");
        return packed_ne(DType::F32, in[0].rank, {1, in[0].ne[1], in[0].ne[2], in[0].ne[3]});
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_sum_rows(to.context, in[0]);
    }
};

}  // namespace

Tensor sum_rows(Operand x) { return record(SumRows(), {x.tensor}, x.where); }

}  // namespace toy
