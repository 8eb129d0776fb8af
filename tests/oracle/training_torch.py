#!/usr/bin/env python3
"""Gradients of whole models, and the losses of ten steps of AdamW, SGD and Muon, from PyTorch in float64 and the F32 weights of a GGUF file,
for tests/engine/training_test.cpp. Written from the papers, not from our code.

usage: training_torch.py FILE.gguf NAME      (Debian: python3-torch)   prints a fixture
"""

import base64
import json
import math
import sys

import numpy
import torch

from float64_models import fnv1a, read_gguf

torch.set_default_dtype(torch.float64)
ROWS, TOKENS, STEPS, SAMPLES = 2, 40, 10, 400
LEARNING_RATE, BETAS, EPS, DECAY, MOMENTUM = 1e-3, (0.9, 0.95), 1e-8, 0.1, 0.95


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


silu = torch.nn.functional.silu


class Model:
    def __init__(self, path):
        keys, weights = read_gguf(path)
        self.w = {name: torch.tensor(values).requires_grad_() for name, values in weights.items()}
        self.arch = keys["general.architecture"]
        self.keys = {k[len(self.arch) + 1:]: v for k, v in keys.items() if k.startswith(self.arch + ".")}
        self.layers, self.width = self.keys["block_count"], self.keys["embedding_length"]
        self.heads = self.keys["attention.head_count"]
        self.kv_heads = self.keys.get("attention.head_count_kv", self.heads)
        self.size = self.keys.get("attention.key_length", self.width // self.heads)
        self.eps = self.keys.get("attention.layer_norm_rms_epsilon", self.keys.get("attention.layer_norm_epsilon"))

    def linear(self, x, name):
        y = x @ self.w[name + ".weight"].T
        return y + self.w[name + ".bias"] if name + ".bias" in self.w else y

    def norm(self, x, name):
        if name + ".bias" in self.w:
            x = x - x.mean(-1, keepdim=True)
            y = x / torch.sqrt((x * x).mean(-1, keepdim=True) + self.eps)
            return y * self.w[name + ".weight"] + self.w[name + ".bias"]
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + self.eps) * self.w[name + ".weight"]

    def rope(self, x):
        """x [B, T, n, d] rotated: neighbouring pairs in arch llama, halves elsewhere, none in GPT-2."""
        if self.arch == "gpt2":
            return x
        dims = self.keys.get("rope.dimension_count", self.size)
        i = torch.arange(dims // 2)
        angles = torch.arange(x.shape[1])[:, None, None] * self.keys.get("rope.freq_base", 10000.0) ** (-2.0 * i / dims)
        cos, sin = torch.cos(angles), torch.sin(angles)
        if self.arch == "llama":
            first, second = x[..., 0:dims:2], x[..., 1:dims:2]
            y = torch.stack([first * cos - second * sin, first * sin + second * cos], -1).flatten(-2)
        else:
            first, second = x[..., :dims // 2], x[..., dims // 2:dims]
            y = torch.cat([first * cos - second * sin, first * sin + second * cos], -1)
        return torch.cat([y, x[..., dims:]], -1)

    def attention(self, x, layer):
        blk = f"blk.{layer}."
        q_size, kv_size = self.heads * self.size, self.kv_heads * self.size
        if blk + "attn_qkv.weight" in self.w:
            q, k, v = torch.split(self.linear(x, blk + "attn_qkv"), [q_size, kv_size, kv_size], -1)
        else:
            q, k, v = (self.linear(x, blk + "attn_" + n) for n in "qkv")
        rows, tokens = x.shape[:2]
        q = self.rope(q.reshape(rows, tokens, self.heads, self.size))
        k = self.rope(k.reshape(rows, tokens, self.kv_heads, self.size))
        v = v.reshape(rows, tokens, self.kv_heads, self.size)
        group = self.heads // self.kv_heads
        k, v = k.repeat_interleave(group, 2), v.repeat_interleave(group, 2)
        scores = torch.einsum("bthd,bshd->bhts", q, k) / math.sqrt(self.size)
        cap = self.keys.get("attn_logit_softcapping", 0)
        if cap:
            scores = cap * torch.tanh(scores / cap)
        distance = torch.arange(tokens)[:, None] - torch.arange(tokens)[None, :]
        window = self.keys.get("attention.sliding_window", 0)
        if self.arch == "gemma2" and layer % 2 == 1:
            window = 0
        hidden = distance < 0
        if window:
            hidden = hidden | (distance >= window)
        p = torch.softmax(scores.masked_fill(hidden, -math.inf), -1)
        y = torch.einsum("bhts,bshd->bthd", p, v).reshape(rows, tokens, q_size)
        return self.linear(y, blk + "attn_output")

    def experts(self, x, layer):
        """Softmax over the chosen experts' scores, which is the normalised softmax over all (Mixtral)."""
        blk = f"blk.{layer}.ffn_"
        scores = torch.softmax(x @ self.w[blk + "gate_inp.weight"].T, -1)
        weights, ids = torch.topk(scores, self.keys["expert_used_count"], -1)
        weights = weights / weights.sum(-1, keepdim=True)
        apply = lambda name, y: torch.einsum("btunk,btuk->btun", self.w[blk + name + "_exps.weight"][ids], y)
        each = x[:, :, None].expand(-1, -1, ids.shape[-1], -1)
        y = apply("down", silu(apply("gate", each)) * apply("up", each))
        return (y * weights[..., None]).sum(2)

    def feed_forward(self, x, layer):
        blk = f"blk.{layer}."
        if blk + "ffn_gate_inp.weight" in self.w:
            return self.experts(x, layer)
        up = self.linear(x, blk + "ffn_up")
        if self.arch == "gpt2":
            return self.linear(gelu(up), blk + "ffn_down")
        gate = self.linear(x, blk + "ffn_gate")
        return self.linear((gelu(gate) if self.arch == "gemma2" else silu(gate)) * up, blk + "ffn_down")

    def loss(self, ids, targets):
        """The mean over targets that are not -1."""
        x = self.w["token_embd.weight"][ids]
        if self.arch == "gemma2":
            x = x * math.sqrt(self.width)
        if self.arch == "gpt2":
            x = x + self.w["position_embd.weight"][: ids.shape[1]]
        for layer in range(self.layers):
            blk = f"blk.{layer}."
            a = self.attention(self.norm(x, blk + "attn_norm"), layer)
            x = x + (self.norm(a, blk + "post_attention_norm") if self.arch == "gemma2" else a)
            f = self.feed_forward(self.norm(x, blk + "ffn_norm"), layer)
            x = x + (self.norm(f, blk + "post_ffw_norm") if self.arch == "gemma2" else f)
        logits = self.norm(x, "output_norm") @ self.w.get("output.weight", self.w["token_embd.weight"]).T
        cap = self.keys.get("final_logit_softcapping", 0)
        if cap:
            logits = cap * torch.tanh(logits / cap)
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)


class Muon:
    """Of the matrices in the blocks, as its author describes it (Jordan 2024), scaled as in arXiv 2502.16982."""

    def __init__(self, matrices, rest):
        self.matrices = [(w, torch.zeros_like(w)) for w in matrices]
        self.rest = rest

    def zero_grad(self):
        self.rest.zero_grad()
        for w, _ in self.matrices:
            w.grad = None

    def step(self):
        self.rest.step()
        with torch.no_grad():
            for w, m in self.matrices:
                m.mul_(MOMENTUM).add_(w.grad)
                x = w.grad + MOMENTUM * m
                x = x / (x.flatten(-2).norm(dim=-1)[..., None, None] + 1e-7)
                turned = x.shape[-2] > x.shape[-1]
                x = x.transpose(-1, -2) if turned else x
                for _ in range(5):
                    inner = x @ x.transpose(-1, -2)
                    x = 3.4445 * x + (-4.7750 * inner + 2.0315 * inner @ inner) @ x
                x = x.transpose(-1, -2) if turned else x
                w.mul_(1 - LEARNING_RATE * DECAY).sub_(LEARNING_RATE * 0.2 * math.sqrt(max(w.shape[-2:])) * x)


def optimizer_of(kind, model):
    if kind == "muon":
        chosen = [w for n, w in model.w.items() if n.startswith("blk.") and w.dim() > 1]
    else:
        chosen = []
    is_chosen = {id(w) for w in chosen}
    others = [w for w in model.w.values() if id(w) not in is_chosen]
    groups = [{"params": [w for w in others if w.dim() > 1], "weight_decay": DECAY},
              {"params": [w for w in others if w.dim() == 1], "weight_decay": 0.0}]
    if kind == "sgd":
        return Sgd(groups)
    rest = torch.optim.AdamW(groups, lr=LEARNING_RATE, betas=BETAS, eps=EPS)
    return Muon(chosen, rest) if kind == "muon" else rest


class Sgd:
    """Momentum and decoupled decay, which torch.optim.SGD does not have."""

    def __init__(self, groups):
        self.all = [(w, torch.zeros_like(w), g["weight_decay"]) for g in groups for w in g["params"]]

    def zero_grad(self):
        for w, _, _ in self.all:
            w.grad = None

    def step(self):
        with torch.no_grad():
            for w, m, decay in self.all:
                m.mul_(BETAS[0]).add_(w.grad)
                w.mul_(1 - LEARNING_RATE * decay).sub_(LEARNING_RATE * m)


def losses_of(kind, path, batches):
    model = Model(path)
    optimizer = optimizer_of(kind, model)
    losses = []
    for batch in batches:
        optimizer.zero_grad()
        loss = model.loss(*batch)
        loss.backward()
        losses.append(float(loss))
        optimizer.step()
    return losses


def sample(values):
    """Elements at even distances, for tensors that are too large to record."""
    flat = values.detach().flatten().numpy()
    step = max(1, len(flat) // SAMPLES)
    return base64.b64encode(flat[::step].astype("<f4").tobytes()).decode()


def main(path, name):
    model = Model(path)
    random = numpy.random.default_rng(1)
    batches = []
    for _ in range(STEPS):
        text = random.integers(3, 512, (ROWS, TOKENS + 1))
        targets = text[:, 1:].copy()
        targets[0, :5] = -1
        targets[1, 30:] = -1
        batches.append((torch.tensor(text[:, :-1]), torch.tensor(targets)))
    loss = model.loss(*batches[0])
    loss.backward()
    gradients = {n: {"norm": float(w.grad.norm()), "sample": sample(w.grad)} for n, w in model.w.items()}
    losses = {kind: losses_of(kind, path, batches) for kind in ("adamw", "sgd", "muon")}
    print(json.dumps({
        "format": "toy/training-v1", "oracle": "tests/oracle/training_torch.py", "torch": torch.__version__,
        "model": name, "model_fnv1a": fnv1a(path), "rows": ROWS, "tokens": TOKENS,
        "learning_rate": LEARNING_RATE, "betas": BETAS, "eps": EPS, "decay": DECAY, "momentum": MOMENTUM,
        "ids": [b[0].flatten().tolist() for b in batches], "targets": [b[1].flatten().tolist() for b in batches],
        "losses": losses, "gradients": gradients}))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
