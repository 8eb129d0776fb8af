#!/usr/bin/env python3
"""Writes small GGUF files, one feature each, as seeds for gguf_fuzz.

usage: make_gguf_seeds.py FOLDER
"""

import struct
import sys
from pathlib import Path

# code: (struct format, a value)
SCALARS = {0: ("B", 200), 1: ("b", -1), 2: ("H", 60000), 3: ("h", -1), 4: ("I", 7), 5: ("i", -7), 6: ("f", 1.5),
           7: ("B", 1), 10: ("Q", 2**63), 11: ("q", -1), 12: ("d", 1.5)}
STRING, ARRAY = 8, 9


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def key(name, code, payload):
    return text(name) + struct.pack("<I", code) + payload


def scalar(name, code, value):
    return key(name, code, struct.pack("<" + SCALARS[code][0], value))


def array(name, code, items):
    return key(name, ARRAY, struct.pack("<IQ", code, len(items)) + b"".join(items))


def tensor(name, shape, code, offset):
    return text(name) + struct.pack(f"<I{len(shape)}QiQ", len(shape), *shape, code, offset)


def model(keys=(), tensors=(), data=0, version=3, alignment=32):
    header = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys)) + b"".join(keys) + b"".join(tensors)
    return header + bytes(-len(header) % alignment) + bytes(range(256)) * (data // 256 + 1)


def seeds():
    yield "empty", model()
    yield "version_2", model([scalar("a", 4, 1)], version=2)
    yield "big_endian", b"GGUF" + struct.pack(">IQQ", 3, 1, 1)
    for code, (form, value) in SCALARS.items():
        yield f"scalar_{code}", model([scalar("a.b", code, value)])
        yield f"array_{code}", model([array("a.b", code, [struct.pack("<" + form, value)] * 3)])
    yield "string", model([key("general.architecture", STRING, text("llama"))])
    yield "strings", model([array("tokenizer.ggml.tokens", STRING, [text("a"), text(""), text("bcd")])])
    yield "nested", model([array("a", ARRAY, [struct.pack("<IQ", 4, 0)])])
    for alignment in (1, 8, 64, 4096):
        yield f"alignment_{alignment}", model([scalar("general.alignment", 4, alignment)],
                                              [tensor("a", [4], 0, 0), tensor("b", [4], 0, max(16, alignment))],
                                              8192, alignment=alignment)
    yield "shapes", model([], [tensor("a", [], 0, 0), tensor("b", [2, 3], 0, 32), tensor("c", [1, 2, 3, 4], 24, 64),
                               tensor("zero", [5, 0], 0, 96), tensor("d", [256, 2], 12, 96)], 1024)
    for code in (1, 2, 8, 14, 23, 28, 30, 39):
        yield f"type_{code}", model([], [tensor("t", [256], code, 0)], 2048)
    yield "split", model([scalar("split.no", 2, 0), scalar("split.count", 2, 2), scalar("split.tensors.count", 5, 1)],
                         [tensor("a", [4], 0, 0)], 64)
    yield "unsplit", model([scalar("split.count", 2, 1)], [tensor("a", [4], 0, 0)], 64)


folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name, content in seeds():
    (folder / f"{name}.gguf").write_bytes(content)
