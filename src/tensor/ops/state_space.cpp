#include <ggml.h>

#include "tensor/backward.h"
#include "tensor/gradient_ops.h"
#include "tensor/kernels/scan_back.h"
#include "tensor/ops.h"
#include "tensor/ops/record.h"

namespace toy {
namespace {

kernels::ScanParts parts_of(const Layout& x, const Layout& a, const Layout& b, const Layout& states) {
    return kernels::scan_parts(x.ne[0], x.ne[1], x.ne[2] * x.ne[3], x.ne[3], a.elements(), b.elements(), states.ne[0]);
}

// All gradients of ssm_scan, one after the other (kernels::ScanParts). Sources: those of the scan, which checked them,
// with x, b and c packed, then the gradient of its result.
struct ScanBack : Op {
    std::string_view name() const override { return "ssm_scan_back"; }
    Layout infer(std::span<const Layout> in) const override {
        for (size_t i : {1, 4, 5, 7}) require_packed(in[i], "an operand");
        return packed(DType::F32, {parts_of(in[1], in[3], in[4], in[0]).total});
    }
    static void compute(ggml_tensor* out, int ith, int nth, void*) { kernels::scan_back(out, ith, nth); }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        if (!to.device.is_cpu()) bad_input("device {} has no gradient of ssm_scan", to.device.name());
        std::vector<ggml_tensor*> operands(in.begin(), in.end());
        const ggml_tensor *x = in[1], *b = in[4];
        const int64_t total = kernels::scan_parts(x->ne[0], x->ne[1], x->ne[2] * x->ne[3], x->ne[3],
                                                  ggml_nelements(in[3]), ggml_nelements(b), in[0]->ne[0])
                                  .total;
        return ggml_custom_4d(to.context, GGML_TYPE_F32, total, 1, 1, 1, operands.data(),
                              static_cast<int>(operands.size()), compute, GGML_N_TASKS_MAX, nullptr);
    }
    IndexUse indices(std::span<const Layout> in) const override { return {6, in[0].ne[3]}; }
};

struct SsmConv : Op {
    std::string_view name() const override { return "ssm_conv"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout &x = in[0], &kernel = in[1];
        for (const Layout& operand : in) require_type(operand, DType::F32, "x and the kernel");
        require_packed(x, "x");
        require_packed(kernel, "the kernel");
        if (x.ne[3] != 1 || kernel.ne[2] != 1 || kernel.ne[3] != 1 || x.ne[1] != kernel.ne[1] || kernel.ne[0] < 1 ||
            x.ne[0] < kernel.ne[0]) {
            bad_input("x {} and the kernel {} do not fit [S, I, W-1+T] and [I, W]", describe_shape(x),
                      describe_shape(kernel));
        }
        return packed(DType::F32, {x.ne[2], x.ne[0] - kernel.ne[0] + 1, x.ne[1]});
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_ssm_conv(to.context, in[0], in[1]);
    }
    // y[s, t, i] = Σ over w of x[s, i, t + w]·k[i, w].
    void pull_back(const Pullback& p) const override {
        const Layout& kernel = p.in(1).layout();
        const int64_t taps = kernel.ne[0], channels = kernel.ne[1], tokens = p.y().layout().ne[1];
        const Tensor dy = transpose(p.dy());  // [S, I, T]
        std::vector<Tensor> columns;
        std::vector<int64_t> starts;
        for (int64_t w = 0; w < taps; ++w) {
            if (p.wants(0)) p.give_slice(0, dy * contiguous(slice(p.in(1), -1, w, 1)), 0, w);
            if (!p.wants(1)) continue;
            const Tensor by_sequence = sum_rows(dy * contiguous(slice(p.in(0), -1, w, tokens)));  // [S, I, 1]
            columns.push_back(sum_to(by_sequence, packed(DType::F32, {channels, 1})));
            starts.push_back(w);
        }
        if (p.wants(1)) p.give(1, joined(columns, starts, taps));
    }
    static Tensor joined(const std::vector<Tensor>& columns, const std::vector<int64_t>& starts, int64_t taps) {
        if (columns.size() > k_most_joined)
            bad_input("a kernel of {} taps has no gradient: at most {}", taps, k_most_joined);
        return join(columns, 0, starts, taps);
    }
};

struct SsmScan : Op {
    std::string_view name() const override { return "ssm_scan"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout &s = in[0], &x = in[1], &dt = in[2], &a = in[3], &b = in[4], &c = in[5], &ids = in[6];
        for (const Layout* operand : {&s, &x, &dt, &a, &b, &c}) {
            require_type(*operand, DType::F32, "every operand but ids");
            require_packed_rows(*operand, "an operand");
        }
        for (const Layout* operand : {&s, &dt, &a}) require_packed(*operand, "states, dt or a");
        for (const Layout* operand : {&x, &b, &c}) {
            if (operand->nb[1] != operand->nb[0] * static_cast<size_t>(operand->ne[0])) {
                bad_input("the heads of {} do not follow each other; make it contiguous", describe_shape(*operand));
            }
        }
        require_type(ids, DType::I32, "ids");
        require_packed(ids, "ids");
        const int64_t n = s.ne[0], p = x.ne[0], j = x.ne[1], t = x.ne[2], sequences = x.ne[3];
        const bool states_fit = s.ne[1] == p && s.ne[2] == j && ids.ne[0] == sequences && ids.elements() == sequences;
        const bool dt_fits = dt.ne[0] == j && dt.ne[1] == t && dt.ne[2] == sequences && dt.ne[3] == 1;
        const bool a_fits = (a.ne[0] == 1 || a.ne[0] == n) && a.ne[1] == j && a.ne[2] == 1 && a.ne[3] == 1;
        const bool b_fits = b.ne[0] == n && j % b.ne[1] == 0 && b.ne[2] == t && b.ne[3] == sequences;
        if (!states_fit || !dt_fits || !a_fits || !b_fits || !b.same_shape(c)) {
            bad_input("states {}, x {}, dt {}, a {}, b {}, c {} and ids {} do not fit", describe_shape(s),
                      describe_shape(x), describe_shape(dt), describe_shape(a), describe_shape(b), describe_shape(c),
                      describe_shape(ids));
        }
        return packed(DType::F32, {x.elements() + n * p * j * sequences});
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        constexpr int64_t kept_states = 1;  // of each sequence: the last
        return ggml_ssm_scan(to.context, in[0], in[1], in[2], in[3], in[4], in[5], in[6], kept_states);
    }
    IndexUse indices(std::span<const Layout> in) const override { return {6, in[0].ne[3]}; }
    void pull_back(const Pullback& p) const override {
        const Layout &states = p.in(0).layout(), &x = p.in(1).layout(), &dt = p.in(2).layout(), &a = p.in(3).layout(),
                     &b = p.in(4).layout();
        const Tensor all = record(ScanBack(),
                                  {p.in(0), contiguous(p.in(1)), p.in(2), p.in(3), contiguous(p.in(4)),
                                   contiguous(p.in(5)), p.in(6), contiguous(p.dy())},
                                  std::source_location::current());
        const kernels::ScanParts parts = parts_of(x, a, b, states);
        const auto part = [&](int64_t start, std::initializer_list<int64_t> dims) {
            int64_t count = 1;
            for (int64_t n : dims) count *= n;
            return reshape(slice(all, -1, start, count), dims);
        };
        p.give(1, part(0, {x.ne[3], x.ne[2], x.ne[1], x.ne[0]}));
        p.give(2, part(parts.dt, {dt.ne[2], dt.ne[1], dt.ne[0]}));
        p.give(3, part(parts.a, {a.ne[1], a.ne[0]}));
        const Layout shared = packed(DType::F32, {1, b.elements()});
        const auto give_summed = [&](int source, int64_t start) {
            const Tensor sum = sum_to(part(start, {parts.chunks, b.elements()}), shared);
            p.give(source, reshape(sum, {b.ne[3], b.ne[2], b.ne[1], b.ne[0]}));
        };
        give_summed(4, parts.b);
        give_summed(5, parts.c);
        if (!p.wants(0)) return;
        const int64_t size = states.ne[0] * states.ne[1] * states.ne[2];
        const Tensor rows =
            add_rows(part(parts.states, {x.ne[3], size}), p.in(6), packed(DType::F32, {states.ne[3], size}));
        p.give(0, reshape(rows, {states.ne[3], states.ne[2], states.ne[1], states.ne[0]}));
    }
};

}  // namespace

Tensor ssm_conv(Operand x, Tensor kernel) { return record(SsmConv(), {x.tensor, kernel}, x.where); }

Tensor ssm_scan(Operand states, Tensor x, Tensor dt, Tensor a, Tensor b, Tensor c, Tensor ids) {
    return record(SsmScan(), {states.tensor, x, dt, a, b, c, ids}, states.where);
}

}  // namespace toy
