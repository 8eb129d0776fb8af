#!/usr/bin/env python3
"""Decode on two threads with ggml's OpenMP threads against its own, on a quiet machine and beside a busy neighbour.

usage: openmp.py --models DIR --with COMMAND --without COMMAND [--pairs 15]

COMMAND prints llama-bench's JSON, with {model} {threads} {prompt} {generate} {flash} {reps} where values go. The ratio is
tokens per second without OpenMP divided by those with it. The neighbour is one process that computes without pause.
"""

import argparse
import contextlib
import subprocess
import sys
from pathlib import Path

from compare_llamacpp import Side, median_interval


@contextlib.contextmanager
def neighbour(busy):
    """Keeps one core busy while the block runs, where asked."""
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if busy else None
    try:
        yield
    finally:
        if child:
            child.kill()
            child.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", required=True)
    parser.add_argument("--with", dest="with_openmp", required=True)
    parser.add_argument("--without", dest="without_openmp", required=True)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--types", default="F32,Q8_0,Q4_K_M")
    parser.add_argument("--tests", default="tg128")
    options = parser.parse_args()
    sides = [Side("without", options.without_openmp.split(" ")), Side("with", options.with_openmp.split(" "))]
    print("| weights | test | neighbour | t/s without OpenMP | t/s with OpenMP | ratio, 95 % interval |\n|---|---|---|---|---|---|")
    for weights in options.types.split(","):
        model = str(Path(options.models, f"smollm-{weights}.gguf"))
        for test in options.tests.split(","):
            for busy in (False, True):
                speeds = {"with": [], "without": []}
                with neighbour(busy):
                    for i in range(options.pairs):
                        for side in sides if i % 2 == 0 else reversed(sides):
                            speeds[side.name].append(side.measure(model, 2, test, "on", 1)[0])
                ratio, low, high = median_interval([a / b for a, b in zip(speeds["without"], speeds["with"])])
                print(
                    f"| {weights} | {test} | {'busy' if busy else 'none'} | {median_interval(speeds['without'])[0]:.1f} "
                    f"| {median_interval(speeds['with'])[0]:.1f} | {ratio:.3f} ({low:.3f} to {high:.3f}) |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
