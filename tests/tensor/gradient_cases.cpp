#include "tensor/gradient_cases.h"

#include "tensor/graph.h"
#include "tensor/ops.h"

namespace toy::test {
namespace {

using In = const std::vector<Tensor>&;

Rope rotation(Rope::Order order, int dims, float base = 10000.0f, float scale = 1.0f) {
    Rope how;
    how.order = order;
    how.dims = dims;
    how.base = base;
    how.frequency_scale = scale;
    return how;
}

Rope yarn() {
    Rope how = rotation(Rope::Order::neox, 8, 10000.0f, 0.25f);
    how.ext_factor = 1.0f;
    how.original_context = 64;
    return how;
}

Tensor rows_replaced(In in) { return square(set_rows(contiguous(in[0] * 2.0f), in[1] * 3.0f, in[2])); }

using Cases = std::map<std::string, GradientCase>;

Cases elementwise() {
    const GradientCase add = [](In in) { return in[0] + in[1]; };
    const GradientCase mul = [](In in) { return in[0] * in[1]; };
    const GradientCase div = [](In in) { return in[0] / in[1]; };
    return {
        {"add", add},
        {"add_row", add},
        {"add_column", add},
        {"add_middle", add},
        {"add_itself", [](In in) { return in[0] + in[0]; }},
        {"sub_row", [](In in) { return in[0] - in[1]; }},
        {"mul", mul},
        {"mul_row", mul},
        {"mul_column", mul},
        {"mul_tiled", mul},
        {"div", div},
        {"div_column", div},
        {"scale", [](In in) { return in[0] * 0.3f; }},
        {"scale_bias", [](In in) { return scale_bias(in[0], 0.3f, 2.0f); }},
        {"softcap", [](In in) { return softcap(in[0], 3.0f); }},
        {"silu", [](In in) { return silu(in[0]); }},
        {"relu", [](In in) { return relu(in[0]); }},
        {"relu_square", [](In in) { return square(relu(in[0])); }},
        {"tanh", [](In in) { return tanh(in[0]); }},
        {"sigmoid", [](In in) { return sigmoid(in[0]); }},
        {"exp", [](In in) { return exp(in[0]); }},
        {"log", [](In in) { return log(in[0]); }},
        {"sqrt", [](In in) { return sqrt(in[0]); }},
        {"square", [](In in) { return square(in[0]); }},
        {"negate", [](In in) { return negate(in[0]); }},
        {"softplus", [](In in) { return softplus(in[0]); }},
        {"gelu", [](In in) { return gelu(in[0]); }},
        {"gelu_erf", [](In in) { return gelu_erf(in[0]); }},
        {"swiglu", [](In in) { return swiglu(in[0], in[1]); }},
        {"geglu", [](In in) { return geglu(in[0], in[1]); }},
    };
}

Cases norms() {
    const GradientCase rms = [](In in) { return rms_norm(in[0], in.size() > 1 ? in[1] : Tensor(), 1e-5f); };
    const GradientCase layer = [](In in) {
        return layer_norm(in[0], in.size() > 1 ? in[1] : Tensor(), in.size() > 2 ? in[2] : Tensor(), 1e-5f);
    };
    return {
        {"rms_norm", rms},           {"rms_norm_plain", rms},
        {"rms_norm_heads", rms},     {"rms_norm_each_head", rms},
        {"layer_norm", layer},       {"layer_norm_weight", layer},
        {"layer_norm_plain", layer}, {"l2_norm", [](In in) { return l2_norm(in[0], 1.5f); }},
    };
}

Cases products() {
    const GradientCase product = [](In in) { return matmul(in[0], in[1]); };
    const GradientCase routed = [](In in) { return matmul_id(in[0], in[1], in[2]); };
    const GradientCase outer = [](In in) { return outer_product(in[0], in[1]); };
    return {
        {"matmul", product},
        {"matmul_vector", product},
        {"matmul_batch", product},
        {"matmul_shared", product},
        {"matmul_grouped", product},
        {"matmul_grouped_twice", product},
        {"matmul_id_one", routed},
        {"matmul_id_each", routed},
        {"add_id", [](In in) { return add_id(in[0], in[1], in[2]); }},
        {"outer_product", outer},
        {"outer_product_batch", outer},
    };
}

Cases attention() {
    return {
        {"softmax", [](In in) { return softmax(in[0]); }},
        {"softmax_mask", [](In in) { return softmax(in[0], in[1], 0.7f); }},
        {"softmax_alibi", [](In in) { return softmax(in[0], in[1], 0.7f, 8.0f); }},
        {"causal_softmax", [](In in) { return softmax(causal_mask(in[0], 2)); }},
        {"rope_normal", [](In in) { return rope(in[0], in[1], rotation(Rope::Order::normal, 8)); }},
        {"rope_neox", [](In in) { return rope(in[0], in[1], rotation(Rope::Order::neox, 8, 500.0f, 0.25f)); }},
        {"rope_partial", [](In in) { return rope(in[0], in[1], rotation(Rope::Order::neox, 4)); }},
        {"rope_yarn", [](In in) { return rope(in[0], in[1], yarn()); }},
        {"rope_factors", [](In in) { return rope(in[0], in[1], rotation(Rope::Order::normal, 8), in[2]); }},
    };
}

Cases shapes() {
    return {
        {"reshape",
         [](In in) {
             return reshape(in[0], {6, 4}) * 2.0f;
         }},
        {"permute",
         [](In in) {
             return contiguous(permute(in[0], {2, 0, 1})) * 2.0f;
         }},
        {"transpose", [](In in) { return transpose(in[0]); }},
        {"slices",
         [](In in) {
             const auto piece = [&](int64_t start) { return contiguous(slice(in[0], -1, start, 2)); };
             return piece(1) * 2.0f + piece(4) + piece(0);
         }},
        {"slice_rows", [](In in) { return slice(in[0], 0, 1, 2) * 2.0f; }},
        {"split",
         [](In in) {
             const std::vector<Tensor> parts = split(in[0], {5, 2});
             return concat(parts[1], contiguous(parts[0]) * 2.0f, -1);
         }},
        {"concat_rows", [](In in) { return square(concat(in[0], in[1], 0)); }},
        {"concat_columns", [](In in) { return square(concat(in[0], in[1], -1)); }},
        {"repeat",
         [](In in) {
             return square(repeat(in[0], in[0].graph()->input("like", DType::F32, {6, 6})));
         }},
        {"heads",
         [](In in) {
             return contiguous(permute(square(contiguous(heads(in[0], 3))), {1, 0, 2}));
         }},
        {"heads_of_slice", [](In in) { return square(contiguous(heads(slice(in[0], -1, 4, 8), 2))); }},
        {"merge_heads", [](In in) { return merge_heads(square(in[0])); }},
        {"byte_view",
         [](In in) {
             return square(contiguous(byte_view(in[0], {4, 3}, {20}, 8)));
         }},
    };
}

Cases rows_and_sums() {
    return {
        {"get_rows", [](In in) { return square(get_rows(in[0], in[1])); }},
        {"get_rows_batch", [](In in) { return square(get_rows(in[0], in[1])); }},
        {"set_rows", rows_replaced},
        {"set_block", [](In in) { return square(set_block(in[0] * 2.0f, in[1] * 3.0f, 36, 20)); }},
        {"sum", [](In in) { return sum(square(in[0])); }},
        {"sum_rows", [](In in) { return sum_rows(square(in[0])); }},
        {"mean_rows", [](In in) { return mean_rows(square(in[0])); }},
        {"cross_entropy_rows", [](In in) { return cross_entropy_rows(in[0], in[1]); }},
        {"cross_entropy", [](In in) { return cross_entropy(in[0], in[1]); }},
    };
}

Cases convolutions() {
    const GradientCase scan = [](In in) {
        const int64_t sequences = in[0].dim(0);
        const Tensor states = in[0].graph()->input("ids", DType::I32, {sequences});
        return ssm_scan(in[0], in[1], in[2], in[3], in[4], in[5], states);
    };
    return {
        {"im2col",
         [](In in) {
             const Conv2d how{1, 2, 2, 1, 1, 2};
             const Tensor kernel = in[0].graph()->input("kernel", DType::F32, {1, 3, 2, 3});
             const Tensor columns = im2col(kernel, in[0], how, true, DType::F32);
             return reshape(columns, {2, columns.dim(1) * columns.dim(2), columns.dim(3)});
         }},
        {"conv_2d",
         [](In in) {
             return conv_2d(in[0], in[1], {1, 2, 2, 1, 2, 1});
         }},
        {"ssm_conv", [](In in) { return ssm_conv(in[0], in[1]); }},
        {"ssm_scan_1", scan},
        {"ssm_scan_2", scan},
    };
}

}  // namespace

const std::map<std::string, GradientCase>& gradient_cases() {
    static const Cases all = [] {
        Cases cases;
        for (const Cases& part :
             {elementwise(), norms(), products(), attention(), shapes(), rows_and_sums(), convolutions()}) {
            cases.insert(part.begin(), part.end());
        }
        return cases;
    }();
    return all;
}

}  // namespace toy::test
