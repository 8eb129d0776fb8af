#!/usr/bin/env python3
"""Gradients of single operators from PyTorch in float64, for tests/tensor/gradient_test.cpp.

usage: gradients_torch.py OUT.json      (Debian: python3-torch)

A case is a function of random inputs; recorded are the inputs (float32), the result, a random gradient of the result,
and the gradients of the inputs that PyTorch derives from it. The test builds the same function from toy's operators.
"""

import base64
import json
import math
import sys

import numpy
import torch

torch.set_default_dtype(torch.float64)
generator = torch.Generator().manual_seed(20261201)
cases = []


def draw(*shape, low=-1.0, high=1.0):
    values = torch.rand(shape, generator=generator) * (high - low) + low
    return values.to(torch.float32).to(torch.float64)


def encode(values):
    array = numpy.ascontiguousarray(values.detach().numpy().astype("<f4"))
    return base64.b64encode(array.tobytes()).decode()


def case(name, function, *inputs):
    """Integer inputs have no gradient."""
    leaves = [x.clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
    y = function(*leaves)
    dy = draw(*y.shape) if y.dim() else draw(1).reshape(())
    smooth = [x for x in leaves if x.is_floating_point()]
    gradients = iter(torch.autograd.grad(y, smooth, dy, allow_unused=True))
    recorded = []
    for x in leaves:
        entry = {"shape": list(x.shape)}
        if not x.is_floating_point():
            recorded.append({**entry, "integers": x.flatten().tolist()})
            continue
        gradient = next(gradients)
        recorded.append({**entry, "values": encode(x)})
        if gradient is not None:
            recorded[-1]["gradient"] = encode(gradient)
    cases.append({"name": name, "inputs": recorded, "y": encode(y), "dy": encode(dy)})


def rms(x, w=None, eps=1e-5):
    y = x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps)
    return y if w is None else y * w


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gelu_erf(x):
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


silu = torch.nn.functional.silu

# ---- arithmetic ----
case("add", lambda x, y: x + y, draw(3, 4, 6), draw(3, 4, 6))
case("add_row", lambda x, y: x + y, draw(3, 4, 6), draw(6))
case("add_column", lambda x, y: x + y, draw(4, 6), draw(4, 1))
case("add_middle", lambda x, y: x + y, draw(3, 4, 6), draw(3, 1, 6))
case("add_itself", lambda x: x + x, draw(4, 6))
case("sub_row", lambda x, y: x - y, draw(4, 6), draw(6))
case("mul", lambda x, y: x * y, draw(4, 6), draw(4, 6))
case("mul_row", lambda x, y: x * y, draw(3, 4, 6), draw(6))
case("mul_column", lambda x, y: x * y, draw(3, 4, 6), draw(3, 4, 1))
case("mul_tiled", lambda x, y: x * y.repeat(1, 2), draw(4, 6), draw(4, 3))
case("div", lambda x, y: x / y, draw(4, 6), draw(4, 6, low=0.5, high=2))
case("div_column", lambda x, y: x / y, draw(4, 6), draw(4, 1, low=0.5, high=2))
case("scale", lambda x: x * 0.3, draw(4, 6))
case("scale_bias", lambda x: x * 0.3 + 2, draw(4, 6))
case("softcap", lambda x: 3 * torch.tanh(x / 3), draw(4, 6, low=-8, high=8))
case("silu", silu, draw(4, 6, low=-6, high=6))
case("relu", torch.relu, draw(4, 6))
case("relu_square", lambda x: torch.relu(x) ** 2, draw(4, 6))
case("tanh", torch.tanh, draw(4, 6, low=-3, high=3))
case("sigmoid", torch.sigmoid, draw(4, 6, low=-6, high=6))
case("exp", torch.exp, draw(4, 6))
case("log", torch.log, draw(4, 6, low=0.2, high=3))
case("sqrt", torch.sqrt, draw(4, 6, low=0.2, high=3))
case("square", torch.square, draw(4, 6))
case("negate", lambda x: -x, draw(4, 6))
case("softplus", torch.nn.functional.softplus, draw(4, 6, low=-6, high=6))
case("gelu", gelu, draw(5, 37, low=-6, high=6))
case("gelu_erf", gelu_erf, draw(5, 37, low=-6, high=6))
case("swiglu", lambda g, u: silu(g) * u, draw(4, 6, low=-4, high=4), draw(4, 6))
case("geglu", lambda g, u: gelu(g) * u, draw(4, 6, low=-4, high=4), draw(4, 6))

# ---- norms ----
case("rms_norm", rms, draw(70, 33), draw(33))
case("rms_norm_plain", rms, draw(5, 33))
case("rms_norm_heads", rms, draw(70, 3, 8), draw(8))
case("rms_norm_each_head", rms, draw(70, 3, 8), draw(3, 8))
layer = torch.nn.functional.layer_norm
case("layer_norm", lambda x, w, b: layer(x, (33,), w, b, 1e-5), draw(70, 33), draw(33), draw(33))
case("layer_norm_weight", lambda x, w: layer(x, (33,), w, None, 1e-5), draw(70, 33), draw(33))
case("layer_norm_plain", lambda x: layer(x, (33,), None, None, 1e-5), draw(5, 33))
case("l2_norm", lambda x: x / torch.clamp(x.norm(dim=-1, keepdim=True), min=1.5), draw(9, 8))

# ---- products ----
case("matmul", lambda w, x: x @ w.T, draw(13, 9), draw(7, 9))
case("matmul_vector", lambda w, x: x @ w.T, draw(13, 9), draw(1, 9))
case("matmul_batch", lambda w, x: x @ w.transpose(-1, -2), draw(2, 3, 5, 9), draw(2, 3, 7, 9))
case("matmul_shared", lambda w, x: x @ w.transpose(-1, -2), draw(5, 9), draw(2, 3, 7, 9))
case("matmul_grouped", lambda w, x: x @ w.repeat_interleave(2, 1).transpose(-1, -2), draw(2, 2, 5, 9), draw(2, 4, 7, 9))
case("matmul_grouped_twice", lambda w, x: x @ w.repeat_interleave(2, 1).repeat_interleave(2, 0).transpose(-1, -2),
     draw(2, 2, 5, 9), draw(4, 4, 7, 9))
ids = torch.tensor([[0, 2], [2, 1], [0, 3], [3, 2], [2, 0]])
case("matmul_id_one", lambda w, x, i: torch.einsum("tunk,tk->tun", w[i], x[:, 0]), draw(5, 4, 6), draw(5, 1, 6), ids)
case("matmul_id_each", lambda w, x, i: torch.einsum("tunk,tuk->tun", w[i], x), draw(5, 4, 6), draw(5, 2, 6), ids)
case("add_id", lambda x, b, i: x + b[i], draw(5, 2, 4), draw(5, 4), ids)
case("outer_product", lambda a, b: b.T @ a, draw(5, 4), draw(5, 3))
case("outer_product_batch", lambda a, b: b.transpose(-1, -2) @ a, draw(5, 4), draw(3, 5, 6))


# ---- attention ----
def softmax(x, mask=None, scale=1.0, slopes=None):
    z = x * scale
    if mask is not None:
        z = z + (mask if slopes is None else mask * slopes)
    return torch.softmax(z, -1)


case("softmax", softmax, draw(2, 3, 4, 8, low=-3, high=3))
case("softmax_mask", lambda x, m: softmax(x, m.detach(), 0.7), draw(2, 3, 4, 8, low=-3, high=3), draw(4, 8))
slopes = torch.tensor([2.0 ** (-8 / 4 * (h + 1)) for h in range(4)]).reshape(4, 1, 1)
case("softmax_alibi", lambda x, m: softmax(x, m.detach(), 0.7, slopes), draw(4, 5, 8), draw(5, 8, low=-4, high=0))
causal = torch.triu(torch.full((6, 8), -math.inf), 3)
case("causal_softmax", lambda x: softmax(x + causal), draw(2, 6, 8))


def rotate(x, positions, order, dims, base=10000.0, scale=1.0, ext=0.0, attn=1.0, original=0, factors=None):
    """x [T, H, d]; the angles of arXiv 2104.09864, scaled as in arXiv 2309.00071 (beta 32 and 1)."""
    half = dims // 2
    i = torch.arange(half)
    angle = positions[:, None] * base ** (-2.0 * i / dims)
    if factors is not None:
        angle = angle / factors
    turned = angle * scale
    if ext:
        def corner(beta):
            return dims * math.log(original / (beta * 2 * math.pi)) / (2 * math.log(base))
        low, high = max(0, math.floor(corner(32))), min(dims - 1, math.ceil(corner(1)))
        ramp = 1 - torch.clamp((i - low) / max(0.001, high - low), 0, 1)
        mix = ramp * ext
        turned = turned * (1 - mix) + angle * mix
        attn = attn * (1 + 0.1 * math.log(1 / scale))
    cos, sin = torch.cos(turned)[:, None] * attn, torch.sin(turned)[:, None] * attn
    first, second = (x[..., 0:dims:2], x[..., 1:dims:2]) if order == "normal" else (x[..., :half], x[..., half:dims])
    a, b = first * cos - second * sin, first * sin + second * cos
    y = torch.stack([a, b], -1).flatten(-2) if order == "normal" else torch.cat([a, b], -1)
    return torch.cat([y, x[..., dims:]], -1)


positions = torch.tensor([0, 1, 5, 17, 300])
case("rope_normal", lambda x, p: rotate(x, p, "normal", 8), draw(5, 2, 8), positions)
case("rope_neox", lambda x, p: rotate(x, p, "neox", 8, base=500.0, scale=0.25), draw(5, 2, 8), positions)
case("rope_partial", lambda x, p: rotate(x, p, "neox", 4), draw(5, 2, 8), positions)
case("rope_yarn", lambda x, p: rotate(x, p, "neox", 8, scale=0.25, ext=1.0, original=64), draw(5, 2, 8), positions)
case("rope_factors", lambda x, p, f: rotate(x, p, "normal", 8, factors=f.detach()), draw(5, 2, 8), positions,
     draw(4, low=1, high=8))

# ---- shapes ----
case("reshape", lambda x: x.reshape(6, 4) * 2, draw(2, 3, 4))
case("permute", lambda x: x.permute(2, 0, 1) * 2, draw(2, 3, 4))
case("transpose", lambda x: x.transpose(-1, -2), draw(2, 3, 4))
case("slices", lambda x: x[:, 1:3] * 2 + x[:, 4:6] + x[:, 0:2], draw(5, 7))
case("slice_rows", lambda x: x[1:3] * 2, draw(5, 7))
case("split", lambda x: torch.cat([x[:, 5:7], x[:, 0:5] * 2], -1), draw(3, 7))
case("concat_rows", lambda x, y: torch.cat([x, y], 0) ** 2, draw(2, 5), draw(3, 5))
case("concat_columns", lambda x, y: torch.cat([x, y], -1) ** 2, draw(3, 5), draw(3, 2))
case("repeat", lambda x: x.repeat(3, 2) ** 2, draw(2, 3))
case("heads", lambda x: (x.reshape(5, 3, 4) ** 2).transpose(0, 1), draw(5, 12))
case("heads_of_slice", lambda x: x[:, 4:12].reshape(5, 2, 4) ** 2, draw(5, 16))
case("merge_heads", lambda x: (x ** 2).reshape(5, 12), draw(5, 3, 4))
case("byte_view", lambda x: torch.as_strided(x, (3, 4), (5, 1), 2) ** 2, draw(20))

# ---- rows ----
rows = torch.tensor([3, 0, 3, 5, 3])
case("get_rows", lambda t, i: t[i] ** 2, draw(6, 7), rows)
batched = torch.tensor([[1, 1], [0, 2], [3, 0]])
case("get_rows_batch", lambda t, i: torch.stack([t[b][i[b]] for b in range(3)]) ** 2, draw(3, 4, 5), batched)
case("set_rows", lambda t, x, i: (t * 2).index_put((i,), x * 3) ** 2, draw(6, 7), draw(3, 7), torch.tensor([4, 0, 2]))


def set_block(t, x):
    flat = (t * 2).flatten()
    places = (torch.arange(3)[:, None] * 9 + torch.arange(4)[None] + 5).flatten()
    return flat.index_put((places,), (x * 3).flatten()).reshape(t.shape) ** 2


case("set_block", set_block, draw(6, 8), draw(3, 4))

# ---- sums ----
case("sum", lambda x: (x ** 2).sum().reshape(1), draw(3, 4))
case("sum_rows", lambda x: (x ** 2).sum(-1, keepdim=True), draw(3, 4, 5))
case("mean_rows", lambda x: (x ** 2).mean(-1, keepdim=True), draw(3, 4, 5))
case("cross_entropy_rows", lambda z, t: -(t.detach() * torch.log_softmax(z, -1)).sum(-1).mean().reshape(1),
     draw(5, 9, low=-3, high=3), draw(5, 9, low=0, high=1))
targets = torch.tensor([3, -1, 0, 8, 8])


def token_losses(z, t):
    losses = -torch.log_softmax(z, -1).gather(-1, t.clamp(min=0)[:, None])[:, 0]
    return losses * (t >= 0)


case("cross_entropy", token_losses, draw(5, 9, low=-3, high=3), targets)

# ---- convolutions ----
case("im2col", lambda x: torch.nn.functional.unfold(x, (2, 3), (2, 1), (1, 2), (2, 1)).transpose(1, 2), draw(2, 3, 6, 5))
case("conv_2d", lambda k, x: torch.nn.functional.conv2d(x, k, None, (2, 1), (1, 2), (1, 2)), draw(4, 3, 2, 3),
     draw(2, 3, 6, 5))
case("ssm_conv", lambda x, k: torch.nn.functional.conv1d(x, k[:, None], groups=5).transpose(1, 2), draw(2, 5, 9),
     draw(5, 4))


def scan(states, x, dt, a, b, c):
    """states [S, J, P, N], x [S, T, J, P], dt [S, T, J], a [J, 1 or N], b and c [S, T, G, N]."""
    step = torch.nn.functional.softplus(dt)
    heads = x.shape[2] // b.shape[2]
    h, ys = states, []
    for t in range(x.shape[1]):
        bt, ct = (v[:, t].repeat_interleave(heads, 1)[:, :, None] for v in (b, c))  # [S, J, 1, N]
        decay = torch.exp(step[:, t, :, None] * a)[:, :, None]  # [S, J, 1, N or 1]
        h = h * decay + (step[:, t, :, None] * x[:, t])[..., None] * bt
        ys.append((h * ct).sum(-1))
    return torch.cat([torch.stack(ys, 1).flatten(), h.flatten()])


case("ssm_scan_1", scan, draw(2, 6, 1, 4), draw(2, 5, 6, 1), draw(2, 5, 6, low=-2, high=2), draw(6, 4, low=-2, high=-0.1),
     draw(2, 5, 1, 4), draw(2, 5, 1, 4))
case("ssm_scan_2", scan, draw(2, 4, 3, 8), draw(2, 5, 4, 3), draw(2, 5, 4, low=-2, high=2), draw(4, 1, low=-2, high=-0.1),
     draw(2, 5, 2, 8), draw(2, 5, 2, 8))

with open(sys.argv[1], "w", encoding="utf-8") as file:
    file.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
print(f"{len(cases)} cases, PyTorch {torch.__version__}")
