#include <ggml.h>

#include "tensor/backward.h"
#include "tensor/gradient_ops.h"
#include "tensor/ops.h"
#include "tensor/ops/record.h"

namespace toy {
namespace {

// Types that ggml's copy kernels write: all but the integers, F64, the types of activations and those (IQ1, IQ2, IQ3)
// whose quantisation searches a table.
bool is_copy_target(DType type) {
    return converts_to_f32(type) && !is_lattice(type) && type != DType::Q8_1 && type != DType::Q8_K;
}

struct GetRows : Op {
    std::string_view name() const override { return "get_rows"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout& table = in[0];
        const Layout& ids = in[1];
        if (!converts_to_f32(table.type) && table.type != DType::I32)
            bad_input("the table cannot be {}", table.describe());
        if (table.type == DType::Q8_1 || table.type == DType::Q8_K)
            bad_input("the table cannot be {}", table.describe());
        require_packed_rows(table, "the table");
        require_type(ids, DType::I32, "ids");
        require_packed_rows(ids, "ids");
        if (table.ne[2] != ids.ne[1] || table.ne[3] != ids.ne[2] || ids.ne[3] != 1) {
            bad_input("the table {} and ids {} differ in their batch axes", describe_shape(table), describe_shape(ids));
        }
        const DType type = table.type == DType::I32 ? DType::I32 : DType::F32;
        return packed_ne(type, std::max(2, ids.rank + 1), {table.ne[0], ids.ne[0], ids.ne[1], ids.ne[2]});
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_get_rows(to.context, in[0], in[1]);
    }
    IndexUse indices(std::span<const Layout> in) const override { return {1, in[0].ne[1]}; }
    void pull_back(const Pullback& p) const override { p.give_rows(0, p.dy(), p.in(1)); }
};

struct SetRows : Op {
    std::string_view name() const override { return "set_rows"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout &table = in[0], &x = in[1], &ids = in[2];
        if (!is_copy_target(table.type)) bad_input("rows of {} cannot be written", table.describe());
        require_type(x, DType::F32, "x");
        if (ids.type != DType::I64 && ids.type != DType::I32) bad_input("ids cannot be {}", ids.describe());
        require_packed_rows(table, "the table");
        require_apart(table, "the table");
        require_packed_rows(x, "x");
        require_packed_rows(ids, "ids");
        if (table.ne[0] != x.ne[0] || table.ne[2] != x.ne[2] || table.ne[3] != x.ne[3] || ids.ne[0] != x.ne[1] ||
            x.ne[2] % ids.ne[1] != 0 || x.ne[3] % ids.ne[2] != 0 || ids.ne[3] != 1) {
            bad_input("the table {}, x {} and ids {} do not fit [.., R, D], [.., N, D] and [N]", describe_shape(table),
                      describe_shape(x), describe_shape(ids));
        }
        return table;
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_set_rows(to.context, in[0], in[1], in[2]);
    }
    int aliases() const override { return 0; }
    bool writes(int source) const override { return source == 0; }
    IndexUse indices(std::span<const Layout> in) const override { return {2, in[0].ne[1]}; }
    // What was replaced has no part in the result: the gradient of written rows belongs to x alone.
    void pull_back(const Pullback& p) const override {
        const Tensor dy = contiguous(p.dy()), ids = p.in(2);
        if (ids.dtype() != DType::I32 || dy.layout().ne[2] * dy.layout().ne[3] != 1)
            bad_input("set_rows has a gradient for ids i32 and without batch axes only");
        const Tensor rows = get_rows(dy, ids);
        p.give(1, rows);
        if (p.wants(0)) p.give(0, dy - add_rows(rows, ids, packed_like(dy.layout(), DType::F32)));
    }
};

// Whether ggml's CPU copies from one layout to another: the pairs its kernels have, quantised rows packed.
bool is_copyable(const Layout& from, const Layout& to) {
    if (from.type == to.type) {
        return (from.type == DType::F32 || from.type == DType::F16 || from.type == DType::BF16 ||
                from.type == DType::I32 || (from.has_packed_rows() && to.has_packed_rows()));
    }
    if (from.type == DType::I32) return to.type == DType::F32;
    const bool is_plain = from.type == DType::F32 || from.type == DType::F16 || from.type == DType::BF16;
    if (is_plain && is_quantized(to.type))
        return is_copy_target(to.type) && from.has_packed_rows() && to.is_contiguous();
    if (is_plain) return to.type == DType::F32 || to.type == DType::F16 || to.type == DType::BF16;
    return is_quantized(from.type) && converts_to_f32(from.type) && to.type == DType::F32 && from.has_packed_rows() &&
           to.has_packed_rows();
}

struct CopyInto : Op {
    std::string_view name() const override { return "copy"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout& x = in[0];
        const Layout& target = in[1];
        if (x.elements() != target.elements()) {
            bad_input("{} elements cannot be copied into {}", x.elements(), describe_shape(target));
        }
        const bool blocks = is_quantized(x.type) || is_quantized(target.type);
        if (!is_copyable(x, target) || (blocks && !x.same_shape(target))) {
            bad_input("{} cannot be copied into {}", x.describe(), target.describe());
        }
        require_apart(target, "the target");
        return target;
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_cpy(to.context, in[0], in[1]);
    }
    int aliases() const override { return 1; }
    bool writes(int source) const override { return source == 1; }
    void pull_back(const Pullback& p) const override {
        const Layout& x = p.in(0).layout();
        p.give(0, reshape(contiguous(p.dy()), {x.ne[3], x.ne[2], x.ne[1], x.ne[0]}));
    }
};

struct Cast : Op {
    DType type;
    explicit Cast(DType t) : type(t) {}

    std::string_view name() const override { return "cast"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout result = packed_like(in[0], type);
        if (!is_copyable(in[0], result)) bad_input("{} cannot become {}", in[0].describe(), toy::name(type));
        return result;
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_cast(to.context, in[0], static_cast<ggml_type>(type));
    }
    void pull_back(const Pullback& p) const override { p.give(0, p.dy()); }  // gradients are f32 throughout
};

struct SetBlock : Op {
    size_t stride, offset;
    SetBlock(size_t s, size_t o) : stride(s), offset(o) {}

    std::string_view name() const override { return "set_block"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout& target = in[0];
        const Layout& x = in[1];
        if (target.type != DType::F32 && target.type != DType::I32)
            bad_input("the target cannot be {}", target.describe());
        require_type(x, target.type, "x");
        require_packed(target, "the target");
        require_packed_rows(x, "x");
        const size_t row = static_cast<size_t>(x.ne[0]) * block_bytes(x.type);
        // ggml keeps offset and stride in ints, the offset below 2^30.
        if (offset >= size_t{1} << 30 || stride >= size_t{1} << 31) bad_input("byte {} is too far", offset + stride);
        if (x.elements() > target.elements()) bad_input("{} is larger than {}", x.describe(), target.describe());
        const bool is_2d = x.ne[2] == 1 && x.ne[3] == 1;
        const auto rows = static_cast<size_t>(x.ne[1]);
        const size_t size = target.bytes();
        if (!is_2d || offset % 4 != 0 || stride % 4 != 0 || row > size || offset > size - row ||
            (rows > 1 && (stride > size || (rows - 1) > (size - row - offset) / std::max<size_t>(stride, 1)))) {
            bad_input("{} rows of {} bytes, {} apart from byte {} on, do not lie in {}", rows, row, stride, offset,
                      target.describe());
        }
        return target;
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_set_2d_inplace(to.context, in[0], in[1], stride, offset);
    }
    int aliases() const override { return 0; }
    bool writes(int source) const override { return source == 0; }
    void pull_back(const Pullback& p) const override {
        const Tensor dy = contiguous(p.dy());
        const Layout& x = p.in(1).layout();
        const Tensor block = contiguous(byte_view(dy, {x.ne[0], x.ne[1]}, {stride}, offset));
        p.give(1, block);
        if (p.wants(0)) {
            const size_t whole = stride * static_cast<size_t>(x.ne[1]);
            const Layout target = packed_like(dy.layout(), DType::F32);
            p.give(0, dy - view_back(block, target, {sizeof(float), stride, whole, whole}, offset));
        }
    }
};

}  // namespace

Tensor get_rows(Tensor table, Operand ids) { return record(GetRows(), {table, ids.tensor}, ids.where); }
Tensor set_rows(Tensor table, Operand x, Tensor ids) { return record(SetRows(), {table, x.tensor, ids}, x.where); }
Tensor copy_into(Operand x, Tensor target) { return record(CopyInto(), {x.tensor, target}, x.where); }
Tensor cast(Operand x, DType type) { return record(Cast(type), {x.tensor}, x.where); }
Tensor set_block(Tensor target, Operand x, size_t stride, size_t offset) {
    return record(SetBlock(stride, offset), {target, x.tensor}, x.where);
}

}  // namespace toy
