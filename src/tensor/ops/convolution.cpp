#include <ggml.h>

#include <limits>

#include "tensor/backward.h"
#include "tensor/gradient_ops.h"
#include "tensor/ops.h"
#include "tensor/ops/record.h"

namespace toy {
namespace {

constexpr int k_most = 1 << 20;  // of stride, padding and dilation: far beyond use, far below int's overflow

// Positions of a kernel of `kernel` elements on an axis of `size` elements.
int64_t positions(int64_t size, int64_t kernel, int stride, int pad, int dilation) {
    if (stride < 1 || dilation < 1 || pad < 0 || stride > k_most || dilation > k_most || pad > k_most) {
        bad_input("stride {}, dilation {} and padding {} are not in 1..{}, 1..{} and 0..{}", stride, dilation, pad,
                  k_most, k_most, k_most);
    }
    const int64_t room = size + 2 * int64_t{pad} - 1;
    if (kernel < 1 || kernel - 1 > room / dilation) {
        bad_input("a kernel of {} elements with dilation {} does not fit {} elements padded by {}", kernel, dilation,
                  size, pad);
    }
    return (room - dilation * (kernel - 1)) / stride + 1;
}

// The shape rule of im2col, shared with its gradient: `image` as in ops.h.
Layout columns_of(const Layout& kernel, const Layout& image, const Conv2d& how, bool is_2d, DType type) {
    const auto &k = kernel.ne, &x = image.ne;
    const int64_t width = positions(x[0], k[0], how.stride_x, how.pad_x, how.dilation_x);
    if (!is_2d) {
        if (k[1] != x[1] || k[3] != 1 || x[3] != 1) {
            bad_input("the kernel {} and the image {} do not fit [O, C, KX] and [B, C, X]", describe_shape(kernel),
                      describe_shape(image));
        }
        return packed(type, {x[2], width, k[1] * k[0]});
    }
    if (k[2] != x[2]) {
        bad_input("the kernel {} and the image {} do not fit [O, C, KY, KX] and [B, C, Y, X]", describe_shape(kernel),
                  describe_shape(image));
    }
    const int64_t height = positions(x[1], k[1], how.stride_y, how.pad_y, how.dilation_y);
    return packed(type, {x[3], height, width, k[2] * k[1] * k[0]});
}

// ggml keeps the distance between channels and between images in an int.
void require_small_strides(const Layout& image) {
    constexpr size_t most = std::numeric_limits<int>::max();
    if (image.nb[1] > most || image.nb[2] > most || image.nb[3] > most) {
        bad_input("the image {} is too large", image.describe());
    }
}

struct Im2Col : Op {
    Conv2d how;
    bool is_2d;
    DType type;
    Im2Col(const Conv2d& h, bool two, DType t) : how(h), is_2d(two), type(t) {}

    std::string_view name() const override { return "im2col"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout& image = in[1];
        if (type != DType::F32 && type != DType::F16) bad_input("columns cannot be {}", toy::name(type));
        if (image.type != DType::F32 && !(image.type == DType::F16 && type == DType::F16)) {
            bad_input("columns of {} cannot come from {}", toy::name(type), image.describe());
        }
        require_packed_rows(image, "the image");
        if (is_2d && image.nb[1] != image.nb[0] * static_cast<size_t>(image.ne[0])) {
            bad_input("the rows of the image {} do not follow each other; make it contiguous", describe_shape(image));
        }
        require_small_strides(image);
        return columns_of(in[0], image, how, is_2d, type);
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_im2col(to.context, in[0], in[1], how.stride_x, how.stride_y, how.pad_x, how.pad_y, how.dilation_x,
                           how.dilation_y, is_2d, static_cast<ggml_type>(type));
    }
    bool is_smooth(int source) const override { return source == 1; }
    void pull_back(const Pullback& p) const override {
        p.give(1, im2col_back(contiguous(p.dy()), p.in(0), p.in(1).layout().ne, how, is_2d));
    }
};

struct Im2ColBack : Op {
    std::array<int64_t, 4> ne;
    Conv2d how;
    bool is_2d;
    Im2ColBack(const std::array<int64_t, 4>& n, const Conv2d& h, bool two) : ne(n), how(h), is_2d(two) {}

    std::string_view name() const override { return "im2col_back"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout &columns = in[0], &kernel = in[1];
        require_type(columns, DType::F32, "columns");
        require_packed(columns, "columns");
        if (kernel.type != DType::F32 && kernel.type != DType::F16) bad_input("the kernel is {}", kernel.describe());
        const Layout image = packed_ne(DType::F32, is_2d ? 4 : 3, ne);
        require_small_strides(image);
        const Layout expected = columns_of(kernel, image, how, is_2d, DType::F32);
        if (!columns.same_shape(expected)) {
            bad_input("columns are {}, but must be {}", describe_shape(columns), describe_shape(expected));
        }
        return image;
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        std::array<int64_t, 4> shape = ne;
        return ggml_im2col_back(to.context, in[0], in[1], shape.data(), how.stride_x, how.stride_y, how.pad_x,
                                how.pad_y, how.dilation_x, how.dilation_y, is_2d);
    }
    bool is_smooth(int source) const override { return source == 0; }
    void pull_back(const Pullback& p) const override {
        p.give(0, im2col(p.in(1), contiguous(p.dy()), how, is_2d, DType::F32));
    }
};

// ggml's direct convolution: where ggml_conv_2d rounds the unrolled image to float16, this keeps the kernel's type.
struct Convolve : Op {
    Conv2d how;
    explicit Convolve(const Conv2d& h) : how(h) {}

    std::string_view name() const override { return "conv_2d"; }
    Layout infer(std::span<const Layout> in) const override {
        const Layout &kernel = in[0], &image = in[1];
        if (kernel.type != DType::F32 && kernel.type != DType::F16) bad_input("the kernel is {}", kernel.describe());
        require_type(image, DType::F32, "the image");
        require_packed(kernel, "the kernel");
        require_packed(image, "the image");
        const Layout columns = columns_of(kernel, image, how, true, DType::F32);
        // ggml computes in a scratch of 16 MB, in which one position with all its channels must fit.
        constexpr int64_t scratch = 16 * 1024 * 1024;
        if (columns.ne[0] > scratch / 8 || kernel.ne[3] > scratch / 8) {
            bad_input("a kernel {} with {} elements per channel is too large", describe_shape(kernel), columns.ne[0]);
        }
        return packed_ne(DType::F32, 4, {columns.ne[1], columns.ne[2], kernel.ne[3], columns.ne[3]});
    }
    ggml_tensor* lower(const Lowering& to, std::span<ggml_tensor* const> in) const override {
        return ggml_conv_2d_direct(to.context, in[0], in[1], how.stride_x, how.stride_y, how.pad_x, how.pad_y,
                                   how.dilation_x, how.dilation_y);
    }
    // A convolution is a product of the unrolled image with the kernel: [B·OY·OX, C·KY·KX] by [O, C·KY·KX].
    void pull_back(const Pullback& p) const override {
        const Layout &kernel = p.in(0).layout(), &image = p.in(1).layout(), &y = p.y().layout();
        const int64_t outputs = kernel.ne[3], inputs = kernel.ne[0] * kernel.ne[1] * kernel.ne[2];
        const Tensor dy = reshape(contiguous(permute(p.dy(), {0, 2, 3, 1})), {-1, outputs});  // [B·OY·OX, O]
        if (p.wants(0)) {
            const Tensor columns = reshape(im2col(p.in(0), p.in(1), how, true, DType::F32), {-1, inputs});
            p.give(0, reshape(gemm(dy, true, columns, false), {outputs, kernel.ne[2], kernel.ne[1], kernel.ne[0]}));
        }
        if (!p.wants(1)) return;
        const Tensor weight =
            reshape(kernel.type == DType::F32 ? p.in(0) : cast(p.in(0), DType::F32), {outputs, inputs});
        const Tensor columns = reshape(gemm(dy, false, weight, false), {y.ne[3], y.ne[1], y.ne[0], inputs});
        p.give(1, im2col_back(columns, p.in(0), image.ne, how, true));
    }
};

}  // namespace

Tensor im2col(Operand kernel, Tensor image, const Conv2d& how, bool is_2d, DType type) {
    return record(Im2Col(how, is_2d, type), {kernel.tensor, image}, kernel.where);
}

Tensor im2col_back(Operand columns, Tensor kernel, const std::array<int64_t, 4>& ne, const Conv2d& how, bool is_2d) {
    return record(Im2ColBack(ne, how, is_2d), {columns.tensor, kernel}, columns.where);
}

Tensor conv_2d(Tensor kernel, Operand image, const Conv2d& how) {
    return record(Convolve(how), {kernel, image.tensor}, image.where);
}

}  // namespace toy
