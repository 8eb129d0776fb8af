#include "nn/state_space.h"

#include "tensor/graph.h"

namespace toy {
namespace {

// The convolution's result, activated: x [S·T, I'] -> [S·T, I']. `inputs` receives what it read, [S, I', W−1+T].
Tensor convolve(Tensor x, const StateSpace& m, const RecurrentState& past, int64_t sequences, Tensor& inputs) {
    const int64_t rows = x.dim(0), channels = m.spec.channels();
    const Tensor by_sequence = reshape(contiguous(x), {sequences, rows / sequences, channels});
    inputs = concat(past.conv, transpose(by_sequence), -1);
    return silu(reshape(ssm_conv(inputs, m.ssm_conv1d.weight), {rows, channels}) + m.ssm_conv1d.bias);
}

struct Selection {
    Tensor x;     ///< [S·T, I]
    Tensor dt;    ///< [S·T, J]
    Tensor b, c;  ///< [S·T, G·N]
};

// y [S·T, I] of the recurrence; remembers the states after it.
Tensor scan(const Selection& s, const StateSpace& m, const RecurrentState& past, Tensor inputs, int layer,
            Context& ctx) {
    const StateSpaceSpec& n = m.spec;
    const int64_t rows = s.x.dim(0), sequences = ctx.sequences(), tokens = rows / sequences;
    const auto grouped = [&](Tensor t) { return reshape(contiguous(t), {sequences, tokens, n.groups, n.state}); };
    const Tensor x = reshape(contiguous(s.x), {sequences, tokens, n.heads, n.head_size()});
    const Tensor dt = reshape(contiguous(s.dt), {sequences, tokens, n.heads});
    const Tensor both = ssm_scan(past.scan, x, dt, m.ssm_a, grouped(s.b), grouped(s.c), past.ids);
    const int64_t outputs = rows * n.inner, states = sequences * n.inner * n.state;
    ctx.remember(layer, contiguous(slice(inputs, -1, tokens, n.kernel - 1)),
                 reshape(slice(both, -1, outputs, states), {sequences, n.heads, n.head_size(), n.state}));
    const Tensor y = reshape(slice(both, -1, 0, outputs), {rows, n.inner});
    // One factor for each channel, or for each head of channels.
    if (n.version == 1) return y + reshape(x, {rows, n.inner}) * m.ssm_d;
    return y + reshape(reshape(x, {rows, n.heads, n.head_size()}) * m.ssm_d, {rows, n.inner});
}

Tensor mamba(Operand x, const StateSpace& m, const RecurrentState& past, int layer, Context& ctx) {
    const StateSpaceSpec& n = m.spec;
    Tensor inputs;
    const std::vector<Tensor> xz = split(linear(m.ssm_in, x), {n.inner, n.inner});  // [S·T, I], [S·T, I]
    Selection s;
    s.x = convolve(xz[0], m, past, ctx.sequences(), inputs);
    std::vector<Tensor> parts = split(linear(m.ssm_x, s.x), {n.dt_rank, n.state, n.state});  // [S·T, R], [S·T, N] twice
    if (n.has_weightless_norms) {
        for (Tensor& part : parts) part = rms_norm(part, {}, m.eps);
    }
    s.dt = linear(m.ssm_dt, contiguous(parts[0]));
    s.b = parts[1];
    s.c = parts[2];
    const Tensor y = scan(s, m, past, inputs, layer, ctx);
    return linear(m.ssm_out, swiglu(contiguous(xz[1]), y));
}

Tensor mamba2(Operand x, const StateSpace& m, const RecurrentState& past, int layer, Context& ctx) {
    const StateSpaceSpec& n = m.spec;
    Tensor inputs;
    const std::vector<Tensor> parts = split(linear(m.ssm_in, x), {n.inner, n.channels(), n.heads});  // z, x|B|C, dt
    const Tensor convolved = convolve(parts[1], m, past, ctx.sequences(), inputs);
    const std::vector<Tensor> xbc = split(convolved, {n.inner, n.groups * n.state, n.groups * n.state});
    const Selection s{xbc[0], contiguous(parts[2]) + m.ssm_dt.bias, xbc[1], xbc[2]};
    const Tensor y = swiglu(contiguous(parts[0]), scan(s, m, past, inputs, layer, ctx));
    const Tensor normed = norm(heads(y, n.groups), m.ssm_norm);  // [S·T, G, I/G]
    return linear(m.ssm_out, merge_heads(normed));
}

}  // namespace

Tensor state_space(Operand x, const StateSpace& m, int layer, Context& ctx) {
    const Scope scope(x.tensor, "state_space");
    const StateSpaceSpec& n = m.spec;
    const RecurrentState past = ctx.recall(layer, {n.channels(), n.kernel - 1, n.heads, n.head_size(), n.state});
    return n.version == 1 ? mamba(x, m, past, layer, ctx) : mamba2(x, m, past, layer, ctx);
}

}  // namespace toy
