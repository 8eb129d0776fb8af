#include <fmt/ranges.h>
#include <ggml.h>

#include <algorithm>

#include "tensor/gradient_ops.h"
#include "tensor/kernels/accumulate.h"
#include "tensor/ops.h"
#include "tensor/ops/record.h"

namespace toy {
namespace {

ggml_tensor* node_like(const Lowering& to, const Layout& out, std::span<ggml_tensor* const> in,
                       ggml_custom_op_t compute, void* self = nullptr) {
    std::vector<ggml_tensor*> operands(in.begin(), in.end());
    return ggml_custom_4d(to.context, GGML_TYPE_F32, out.ne[0], out.ne[1], out.ne[2], out.ne[3], operands.data(),
                          static_cast<int>(operands.size()), compute, GGML_N_TASKS_MAX, self);
}

ggml_tensor* node_in_place(const Lowering& to, std::span<ggml_tensor* const> in, ggml_custom_op_t compute) {
    std::vector<ggml_tensor*> operands(in.begin() + 1, in.end());
    return ggml_custom_inplace(to.context, in[0], operands.data(), static_cast<int>(operands.size()), compute,
                               GGML_N_TASKS_MAX, nullptr);
}

void require_plain(const Layout& x, const char* operand) {
    require_type(x, DType::F32, operand);
    require_packed(x, operand);
    require_packed_rows(x, operand);
}

struct SumTo : Op {
    Layout like;
    bool is_into;
    SumTo(const Layout& l, bool into) : like(l), is_into(into) {}

    std::string_view name() const override { return is_into ? "add_into" : "sum_to"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout& x = in.back();
        const Layout& out = is_into ? in[0] : like;
        require_plain(x, "x");
        require_plain(out, "the sum");
        if (!repeats_into(out, x)) bad_input("{} cannot be summed to {}", describe_shape(x), describe_shape(out));
        return out;
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        if (to.has_kernels && is_into) {
            return node_in_place(to, in, [](ggml_tensor* out, int ith, int nth, void*) {
                kernels::sum_repeated(out, out->src[1], true, ith, nth);
            });
        }
        if (to.has_kernels) {
            return node_like(to, like, in, [](ggml_tensor* out, int ith, int nth, void*) {
                kernels::sum_repeated(out, out->src[0], false, ith, nth);
            });
        }
        ggml_tensor* shape = ggml_new_tensor(to.context, GGML_TYPE_F32, 4, is_into ? in[0]->ne : like.ne.data());
        ggml_tensor* sum =
            ggml_are_same_shape(in.back(), shape) ? in.back() : ggml_repeat_back(to.context, in.back(), shape);
        if (is_into) return ggml_add_inplace(to.context, in[0], sum);
        return sum == in.back() ? ggml_cont(to.context, sum) : sum;
    }
    int lowered_nodes() const override { return 3; }
    int aliases() const override { return is_into ? 0 : -1; }
    bool writes(int source) const override { return is_into && source == 0; }
};

struct AddRows : Op {
    Layout table;
    bool is_into;
    AddRows(const Layout& t, bool into) : table(t), is_into(into) {}

    std::string_view name() const override { return is_into ? "add_rows_into" : "add_rows"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout &x = in[in.size() - 2], &ids = in[in.size() - 1];
        const Layout& out = is_into ? in[0] : table;
        require_plain(x, "x");
        require_plain(out, "the sum");
        require_type(ids, DType::I32, "ids");
        require_packed_rows(ids, "ids");
        if (out.ne[0] != x.ne[0] || out.ne[2] != x.ne[2] || out.ne[3] != x.ne[3] || ids.ne[0] != x.ne[1] ||
            ids.ne[1] != x.ne[2] || ids.ne[2] != x.ne[3] || ids.ne[3] != 1) {
            bad_input("x {}, ids {} and the table {} do not fit [.., T, D], [.., T] and [.., V, D]", describe_shape(x),
                      describe_shape(ids), describe_shape(out));
        }
        return out;
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        if (!to.device.is_cpu()) return lower_plain(to, in);
        if (is_into) {
            return node_in_place(to, in, [](ggml_tensor* out, int ith, int nth, void*) {
                kernels::add_rows(out, out->src[1], out->src[2], true, ith, nth);
            });
        }
        return node_like(to, table, in, [](ggml_tensor* out, int ith, int nth, void*) {
            kernels::add_rows(out, out->src[0], out->src[1], false, ith, nth);
        });
    }
    // ggml's gradient of get_rows knows no batch axes.
    ggml_tensor* lower_plain(const Lowering& to, std::span<ggml_tensor* const> in) const {
        ggml_tensor *x = in[in.size() - 2], *ids = in[in.size() - 1];
        if (x->ne[2] * x->ne[3] != 1) bad_input("device {} adds no rows with batch axes", to.device.name());
        ggml_tensor* shape = ggml_new_tensor(to.context, GGML_TYPE_F32, 4, is_into ? in[0]->ne : table.ne.data());
        ggml_tensor* sum = ggml_get_rows_back(to.context, x, ids, shape);
        return is_into ? ggml_add_inplace(to.context, in[0], sum) : sum;
    }
    int lowered_nodes() const override { return 3; }
    int aliases() const override { return is_into ? 0 : -1; }
    bool writes(int source) const override { return is_into && source == 0; }
    IndexUse indices(std::span<const Layout> in) const override {
        return {is_into ? 2 : 1, is_into ? in[0].ne[1] : table.ne[1]};
    }
};

struct ViewBack : Op {
    Layout target;
    std::array<size_t, 4> strides;
    size_t offset;
    ViewBack(const Layout& t, const std::array<size_t, 4>& s, size_t o) : target(t), strides(s), offset(o) {}

    std::string_view name() const override { return "view_back"; }
    Layout infer(std::span<const Layout> in) const override {
        require_plain(in[0], "x");
        require_plain(target, "the target");
        size_t end = offset + sizeof(float);
        for (size_t i = 0; i < 4; ++i) end += static_cast<size_t>(in[0].ne[i] - 1) * strides[i];
        if (end > target.bytes()) bad_input("{} lies outside {}", in[0].describe(), target.describe());
        return target;
    }
    static void compute(ggml_tensor* out, int ith, int, void* self) {
        const auto& op = *static_cast<const ViewBack*>(self);
        if (ith == 0) kernels::add_view(out, out->src[0], op.strides, op.offset);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        if (!to.device.is_cpu()) bad_input("device {} has no gradient of views by bytes", to.device.name());
        return node_like(to, target, in, compute, const_cast<ViewBack*>(this));
    }
};

struct Join : Op {
    size_t axis;  // ggml's
    std::vector<int64_t> starts;
    int64_t length;
    Join(size_t a, std::vector<int64_t> s, int64_t l) : axis(a), starts(std::move(s)), length(l) {}

    std::string_view name() const override { return "join"; }
    Layout infer(std::span<const Layout> in) const override {
        if (axis > 3 || in.empty() || in.size() != starts.size() || in.size() > k_most_joined)
            bad_input("{} parts with {} starts cannot be joined along axis {}", in.size(), starts.size(), axis);
        Layout out = in[0];
        out.ne[axis] = length;
        int64_t end = 0;
        for (size_t i = 0; i < in.size(); ++i) {
            require_plain(in[i], "a part");
            Layout part = in[i];
            if (starts[i] < end || part.ne[axis] > length - starts[i])
                bad_input("slices from {} on overlap or reach beyond {}", fmt::join(starts, ", "), length);
            end = starts[i] + part.ne[axis];
            part.ne[axis] = length;
            if (!part.same_shape(out)) bad_input("the part {} differs in another axis", describe_shape(in[i]));
        }
        return packed_ne(DType::F32, std::max(in[0].rank, static_cast<int>(axis) + 1), out.ne);
    }
    static void compute(ggml_tensor* out, int ith, int nth, void* self) {
        const auto& join = *static_cast<const Join*>(self);
        kernels::join(out, join.axis, join.starts, ith, nth);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        if (!to.has_kernels) return lower_plain(to, in);
        std::array<int64_t, 4> ne{in[0]->ne[0], in[0]->ne[1], in[0]->ne[2], in[0]->ne[3]};
        ne[axis] = length;
        return node_like(to, packed_ne(DType::F32, 4, ne), in, compute, const_cast<Join*>(this));
    }
    // Each part is padded with zeros up to the next one, then they are joined.
    ggml_tensor* lower_plain(const Lowering& to, std::span<ggml_tensor* const> in) const {
        ggml_tensor* joined = nullptr;
        for (size_t i = 0; i < in.size(); ++i) {
            const int64_t end = i + 1 < in.size() ? starts[i + 1] : length;
            int left[4] = {}, right[4] = {};
            left[axis] = static_cast<int>(i == 0 ? starts[0] : 0);
            right[axis] = static_cast<int>(end - starts[i] - in[i]->ne[axis]);
            ggml_tensor* part = in[i];
            if (left[axis] != 0 || right[axis] != 0) {
                part = ggml_pad_ext(to.context, part, left[0], right[0], left[1], right[1], left[2], right[2], left[3],
                                    right[3]);
            }
            joined = joined == nullptr ? part : ggml_concat(to.context, joined, part, static_cast<int>(axis));
        }
        return joined == in[0] ? ggml_cont(to.context, joined) : joined;
    }
    int lowered_nodes() const override { return 2 * static_cast<int>(k_most_joined); }
};

}  // namespace

Tensor sum_to(Operand x, const Layout& like) { return record(SumTo(like, false), {x.tensor}, x.where); }
Tensor add_into(Tensor sum, Operand x) { return record(SumTo({}, true), {sum, x.tensor}, x.where); }

Tensor add_rows(Operand x, Tensor ids, const Layout& table) {
    return record(AddRows(table, false), {x.tensor, ids}, x.where);
}

Tensor add_rows_into(Tensor sum, Operand x, Tensor ids) {
    return record(AddRows({}, true), {sum, x.tensor, ids}, x.where);
}

Tensor view_back(Operand x, const Layout& target, const std::array<size_t, 4>& strides, size_t offset) {
    return record(ViewBack(target, strides, offset), {x.tensor}, x.where);
}

Tensor join(const std::vector<Tensor>& parts, size_t axis, const std::vector<int64_t>& starts, int64_t length) {
    if (parts.empty()) bad_input("nothing to join");
    Graph* graph = parts.front().graph();
    if (graph == nullptr) failure("join: the first part belongs to no graph");
    return graph->append(std::make_shared<Join>(axis, starts, length), parts, std::source_location::current());
}

}  // namespace toy
