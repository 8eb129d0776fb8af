#!/usr/bin/env python3
"""Writes a random model in the shape of SmolLM2-135M as an F32 GGUF file.

usage: make_bench_model.py LLAMA_SOURCE OUTPUT      LLAMA_SOURCE: llama.cpp's tree, for gguf-py and a vocabulary

30 layers, 576 wide, 9 heads, 3 kv heads, 1536 feed-forward, vocabulary 49152, head tied to the embedding. The weights
are noise, so only speed and memory mean anything; the vocabulary is the first part of a real one, so that loading the
tokenizer costs what it costs in real files.
"""

import os
import sys
from pathlib import Path

import numpy as np

SOURCE, OUTPUT = Path(sys.argv[1]), Path(sys.argv[2])
sys.path.insert(0, str(SOURCE / "gguf-py"))
import gguf  # noqa: E402  (needs the path above)

LAYERS, WIDTH, HEADS, KV_HEADS, FEED_FORWARD, VOCABULARY, CONTEXT = 30, 576, 9, 3, 1536, 49152, 2048
HEAD = WIDTH // HEADS


def write_vocabulary(writer):
    """The first VOCABULARY tokens of Llama 3's vocabulary (they are in order of merging), the last one made BOS/EOS."""
    reader = gguf.GGUFReader(SOURCE / "models" / "ggml-vocab-llama-bpe.gguf")
    tokens = reader.get_field("tokenizer.ggml.tokens").contents()[:VOCABULARY]
    merges = reader.get_field("tokenizer.ggml.merges").contents()
    tokens[-1] = "<|endoftext|>"
    known = set(tokens)
    merges = [m for m in merges if "".join(m.split(" ")) in known and all(part in known for part in m.split(" "))]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.NORMAL] * (VOCABULARY - 1) + [gguf.TokenType.CONTROL])
    writer.add_token_merges(merges)
    writer.add_bos_token_id(VOCABULARY - 1)
    writer.add_eos_token_id(VOCABULARY - 1)
    writer.add_add_bos_token(False)


def main():
    partial = OUTPUT.with_suffix(".partial")
    writer = gguf.GGUFWriter(partial, "llama")
    writer.add_name("random model of SmolLM2-135M's shape")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_dimension_count(HEAD)
    writer.add_rope_freq_base(100000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(VOCABULARY)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    write_vocabulary(writer)

    random = np.random.default_rng(1)

    def matrix(name, rows, columns):
        writer.add_tensor(name, random.standard_normal((rows, columns), dtype=np.float32) * np.float32(columns**-0.5))

    def ones(name):
        writer.add_tensor(name, np.ones(WIDTH, np.float32))

    matrix("token_embd.weight", VOCABULARY, WIDTH)
    ones("output_norm.weight")
    for i in range(LAYERS):
        ones(f"blk.{i}.attn_norm.weight")
        ones(f"blk.{i}.ffn_norm.weight")
        matrix(f"blk.{i}.attn_q.weight", WIDTH, WIDTH)
        matrix(f"blk.{i}.attn_k.weight", KV_HEADS * HEAD, WIDTH)
        matrix(f"blk.{i}.attn_v.weight", KV_HEADS * HEAD, WIDTH)
        matrix(f"blk.{i}.attn_output.weight", WIDTH, WIDTH)
        matrix(f"blk.{i}.ffn_gate.weight", FEED_FORWARD, WIDTH)
        matrix(f"blk.{i}.ffn_up.weight", FEED_FORWARD, WIDTH)
        matrix(f"blk.{i}.ffn_down.weight", WIDTH, FEED_FORWARD)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.replace(partial, OUTPUT)


if __name__ == "__main__":
    main()
