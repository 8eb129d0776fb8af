#!/usr/bin/env python3
"""What models compute by their definition, in float64 (NumPy), from the F32 weights of a GGUF file: a second oracle
beside llama.cpp, and the only one where llama.cpp departs from a definition (docs/models.md). Written from the papers and
the models' own code, not from ours. Prints a fixture (docs/oracle.md).
usage: float64_models.py FILE.gguf NAME
"""
import base64
import json
import struct
import sys

import numpy as np

POSITIONS = [0, 6, 31, 32, 63, 149, 299]


def read_gguf(path):
    """Metadata and F32 tensors of a little-endian GGUF version 3 file."""
    data = open(path, "rb").read()
    at = 8

    def take(form):
        nonlocal at
        value = struct.unpack_from("<" + form, data, at)[0]
        at += struct.calcsize("<" + form)
        return value

    def text():
        nonlocal at
        length = take("Q")
        at += length
        return data[at - length:at]

    def value(kind):
        if kind == 8:
            return text().decode("utf-8", "replace")
        if kind == 9:
            inner, count = take("I"), take("Q")
            return [value(inner) for _ in range(count)]
        return take("BbHhIif?"[kind] if kind < 8 else {10: "Q", 11: "q", 12: "d"}[kind])

    count, pairs = take("Q"), take("Q")
    keys = {}
    for _ in range(pairs):
        name = text().decode()
        keys[name] = value(take("I"))
    infos = []
    for _ in range(count):
        name = text().decode()
        shape = [take("Q") for _ in range(take("I"))][::-1]
        kind, offset = take("I"), take("Q")
        assert kind == 0, f"{name} is not F32"
        infos.append((name, shape, offset))
    start = (at + 31) // 32 * 32
    tensors = {}
    for name, shape, offset in infos:
        size = int(np.prod(shape))
        tensors[name] = np.frombuffer(data, "<f4", size, start + offset).reshape(shape).astype(np.float64)
    return keys, tensors


class Model:
    def __init__(self, path):
        keys, self.w = read_gguf(path)
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
        if name + ".bias" in self.w:  # layer norm
            x = x - x.mean(-1, keepdims=True)
            scale = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps)
            return x * scale * self.w[name + ".weight"] + self.w[name + ".bias"]
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps) * self.w[name + ".weight"]

    def rope(self, x):
        """x [T, n, d] rotated: neighbouring pairs in arch llama, halves elsewhere, none in GPT-2."""
        if self.arch == "gpt2":
            return x
        dims = self.keys.get("rope.dimension_count", self.size)
        i = np.arange(dims // 2)
        angles = np.arange(len(x))[:, None, None] * self.keys.get("rope.freq_base", 10000.0) ** (-2.0 * i / dims)
        cos, sin = np.cos(angles), np.sin(angles)
        y = x.copy()
        first, second = (slice(0, dims, 2), slice(1, dims, 2)) if self.arch == "llama" else (
            slice(0, dims // 2), slice(dims // 2, dims))
        y[..., first] = x[..., first] * cos - x[..., second] * sin
        y[..., second] = x[..., first] * sin + x[..., second] * cos
        return y

    def window(self, layer):
        window = self.keys.get("attention.sliding_window", 0)
        return 0 if self.arch == "gemma2" and layer % 2 == 1 else window

    def attention(self, x, layer):
        blk = f"blk.{layer}."
        q_size, kv_size = self.heads * self.size, self.kv_heads * self.size
        if blk + "attn_qkv.weight" in self.w:
            q, k, v = np.split(self.linear(x, blk + "attn_qkv"), [q_size, q_size + kv_size], axis=-1)
        else:
            q, k, v = (self.linear(x, blk + "attn_" + n) for n in "qkv")
        tokens = len(x)
        q = self.rope(q.reshape(tokens, self.heads, self.size))
        k = self.rope(k.reshape(tokens, self.kv_heads, self.size))
        v = v.reshape(tokens, self.kv_heads, self.size)
        group = self.heads // self.kv_heads
        scores = np.einsum("thd,shd->hts", q, np.repeat(k, group, 1)) / np.sqrt(self.size)
        cap = self.keys.get("attn_logit_softcapping", 0)
        if cap:
            scores = cap * np.tanh(scores / cap)
        distance = np.arange(tokens)[:, None] - np.arange(tokens)[None, :]
        window = self.window(layer)
        hidden = (distance < 0) | ((distance >= window) if window else False)
        scores = np.where(hidden, -np.inf, scores)
        p = np.exp(scores - scores.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        y = np.einsum("hts,shd->thd", p, np.repeat(v, group, 1)).reshape(tokens, q_size)
        return self.linear(y, blk + "attn_output")

    def feed_forward(self, x, layer):
        blk = f"blk.{layer}."
        gelu = lambda z: 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z ** 3)))
        silu = lambda z: z / (1 + np.exp(-z))
        up = self.linear(x, blk + "ffn_up")
        if self.arch == "gpt2":
            inner = gelu(up)
        elif self.arch == "phi3":
            gate, up = np.split(up, 2, axis=-1)
            inner = silu(gate) * up
        else:
            gate = self.linear(x, blk + "ffn_gate")
            inner = (gelu(gate) if self.arch == "gemma2" else silu(gate)) * up
        return self.linear(inner, blk + "ffn_down")

    def log_probs(self, ids):
        x = self.w["token_embd.weight"][ids]
        if self.arch == "gemma2":
            x = x * np.sqrt(self.width)
        if self.arch == "gpt2":
            x = x + self.w["position_embd.weight"][: len(ids)]
        for layer in range(self.layers):
            blk = f"blk.{layer}."
            a = self.attention(self.norm(x, blk + "attn_norm"), layer)
            x = x + (self.norm(a, blk + "post_attention_norm") if self.arch == "gemma2" else a)
            f = self.feed_forward(self.norm(x, blk + "ffn_norm"), layer)
            x = x + (self.norm(f, blk + "post_ffw_norm") if self.arch == "gemma2" else f)
        logits = self.norm(x, "output_norm") @ self.w.get("output.weight", self.w["token_embd.weight"]).T
        cap = self.keys.get("final_logit_softcapping", 0)
        if cap:
            logits = cap * np.tanh(logits / cap)
        logits -= logits.max(-1, keepdims=True)
        return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def fnv1a(path):
    value = 0xCBF29CE484222325
    for byte in open(path, "rb").read():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def main(path, name):
    model = Model(path)
    ids = np.random.default_rng(1).integers(3, 512, POSITIONS[-1] + 1)
    rows = model.log_probs(ids)[POSITIONS]
    print(json.dumps({
        "format": "toy/float64-v1", "oracle": "tests/oracle/float64_models.py", "model": name, "model_fnv1a": fnv1a(path),
        "tokens": ids.tolist(), "positions": POSITIONS,
        "log_probs": [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in rows]}, indent=0))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
