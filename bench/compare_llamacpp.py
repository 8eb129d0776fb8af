#!/usr/bin/env python3
"""Runs `toy bench` and `llama-bench` in turn on the same files and reports the ratio of their speeds.

Each pair is one process of either side, back to back, in alternating order; the figure is the median over the pairs of
toy's tokens per second divided by llama.cpp's, with a 95 % interval from the order statistics of the pairs (exact for a
median, whatever the distribution). Before that, each side picks its better flash-attention setting in a short trial.
"""

import argparse
import datetime
import json
import math
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FIRST_TOKEN_PROMPT = "1,2,3,4,5,6,7,8"


def run(command):
    """Runs a command; returns its stdout, its peak resident memory in MiB and its wall time in seconds."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.perf_counter()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        text = out.read().decode()
        if child.returncode != 0:
            sys.exit(f"{' '.join(command)} ended with {child.returncode}:\n{err.read().decode()[-2000:]}")
    return text, usage.ru_maxrss / 1024, seconds


def sizes(test):
    """Tokens of prompt and of generation: pp512 is (512, 0), tg128 is (0, 128)."""
    kind, count = re.fullmatch(r"(pp|tg)(\d+)", test).groups()
    return (int(count), 0) if kind == "pp" else (0, int(count))


class Side:
    """One of the two programs: how to call it."""

    def __init__(self, name, command):
        self.name, self.command = name, command

    def measure(self, model, threads, test, flash, repetitions):
        """Median tokens per second over the repetitions of one process, and its peak memory in MiB."""
        prompt, generate = sizes(test)
        words = {"model": model, "threads": threads, "prompt": prompt, "generate": generate, "flash": flash, "reps": repetitions}
        text, memory, _ = run([word.format(**words) for word in self.command])
        results = json.loads(text)
        results = results if isinstance(results, list) else results["results"]
        (result,) = [r for r in results if (r["n_prompt"], r["n_gen"]) == (prompt, generate)]
        return statistics.median(result["samples_ts"]), memory


def median_interval(values):
    """Median, and the bounds of its 95 % interval: the k-th smallest and largest of n values, with the largest k for
    which a fair coin shows fewer than k heads in n throws with a chance of at most 2.5 %."""
    ordered, n = sorted(values), len(values)
    below, k = 0.0, 0
    while k < n // 2:
        below += math.comb(n, k) / 2**n
        if below > 0.025:
            break
        k += 1
    low, high = (ordered[k - 1], ordered[n - k]) if k else (-math.inf, math.inf)
    return statistics.median(ordered), low, high


def better_flash(side, model, threads, test):
    """The faster flash-attention setting of a side, by three alternating trials."""
    speeds = {"off": [], "on": []}
    for _ in range(3):
        for flash, found in speeds.items():
            found.append(side.measure(model, threads, test, flash, 1)[0])
    return max(speeds, key=lambda flash: statistics.median(speeds[flash]))


def compare(toy, llama, model, threads, test, options):
    """All pairs of one case."""
    flash = {side: options.flash or better_flash(side, model, threads, test) for side in (toy, llama)}
    pairs, memory = [], {toy: [], llama: []}
    for i in range(options.pairs):
        speeds = {}
        for side in (toy, llama) if i % 2 == 0 else (llama, toy):
            speeds[side], mib = side.measure(model, threads, test, flash[side], options.repetitions)
            memory[side].append(mib)
        pairs.append((speeds[toy], speeds[llama]))
    ratio, low, high = median_interval([a / b for a, b in pairs])
    return {
        "model": Path(model).name, "threads": threads, "test": test, "ratio": ratio, "low": low, "high": high,
        "toy_tokens_per_second": statistics.median(a for a, _ in pairs),
        "llama_tokens_per_second": statistics.median(b for _, b in pairs),
        "toy_flash_attention": flash[toy], "llama_flash_attention": flash[llama],
        "toy_peak_mib": statistics.median(memory[toy]), "llama_peak_mib": statistics.median(memory[llama]),
        "pairs": pairs,
    }  # fmt: skip


def first_token(options, model):
    """Milliseconds from the start of `toy infer` to its first byte of text, warm cache, median and interval."""
    command = [word.format(model=model, prompt=FIRST_TOKEN_PROMPT) for word in options.infer_command.split(" ")]
    found = []
    for _ in range(options.pairs + 1):
        begin = time.perf_counter()
        child = subprocess.Popen([options.toy, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        first = child.stdout.read(1)
        found.append(1000 * (time.perf_counter() - begin))
        child.stdout.read()
        if child.wait() != 0 or not first:
            sys.exit(f"toy {' '.join(command)} ended with {child.returncode} and {'some' if first else 'no'} text")
    return median_interval(found[1:])  # the first one warmed the cache


def machine(options):
    """What the numbers belong to."""
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    cache = Path(options.build, "CMakeCache.txt").read_text(encoding="utf-8")

    def cached(key):
        found = re.search(rf"^{key}:\w+=(.*)$", cache, re.MULTILINE)
        return found.group(1) if found else ""

    compiler = subprocess.run([cached("CMAKE_CXX_COMPILER"), "--version"], capture_output=True, text=True, check=True)
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "cpu": cpu.group(1) if cpu else platform.processor(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "load": os.getloadavg(),
        "compiler": compiler.stdout.splitlines()[0],
        "flags": f"{cached('CMAKE_CXX_FLAGS')} {cached('CMAKE_CXX_FLAGS_RELEASE')}".strip()
        + "".join(f" {key}={cached(key)}" for key in ("GGML_NATIVE", "GGML_LLAMAFILE", "GGML_OPENMP")),
    }


def parse_options():
    parser = argparse.ArgumentParser(prog="compare-llamacpp", description=__doc__.splitlines()[0])
    parser.add_argument("--toy", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--llama-bench", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--models", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--types", default="F32,Q8_0,Q4_K_M", help="weight types (default: %(default)s)")
    parser.add_argument("--threads", default="1,2", help="thread counts (default: %(default)s)")
    parser.add_argument("--tests", default="pp512,tg128", help="ppN: a prompt of N tokens, tgN: N tokens one by one (default: %(default)s)")
    parser.add_argument("--pairs", type=int, default=15, help="pairs for each case (default: %(default)s)")
    parser.add_argument("--repetitions", type=int, default=2, help="runs inside each process (default: %(default)s)")
    parser.add_argument("--flash", choices=["on", "off"], help="this flash-attention setting for both, instead of the better one")
    parser.add_argument("--output", default="build/llamacpp-results.json", help="results file (default: %(default)s)")
    parser.add_argument(
        "--toy-command",
        default="bench {model} --json --threads {threads} --prompt {prompt} --generate {generate} --flash-attention {flash} --kv-type f16 --repetitions {reps}",
        help="arguments of toy bench",
    )
    parser.add_argument(
        "--infer-command",
        default="infer {model} --prompt-ids {prompt} --n 1",
        help="arguments of toy infer for the time to the first token; empty: leave it out",
    )
    options = parser.parse_args()
    if options.pairs < 6:
        parser.error("--pairs: fewer than 6 pairs give no 95 % interval")
    return options


def main():
    options = parse_options()
    toy = Side("toy", [options.toy, *options.toy_command.split(" ")])
    llama = Side("llama.cpp", [options.llama_bench, *(
        "-m {model} -t {threads} -p {prompt} -n {generate} -fa {flash} -r {reps} -o json".split(" "))])  # fmt: skip
    report = {"machine": machine(options), "repetitions": options.repetitions, "cases": []}
    for key, value in report["machine"].items():
        print(f"{key}: {value}")
    print("\n| weights | threads | test | toy t/s (fa) | llama.cpp t/s (fa) | ratio, 95 % interval | peak MiB toy / llama.cpp |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for weights in options.types.split(","):
        model = str(Path(options.models, f"smollm-{weights}.gguf"))
        for threads in map(int, options.threads.split(",")):
            for test in options.tests.split(","):
                case = compare(toy, llama, model, threads, test, options)
                report["cases"].append(case)
                print(
                    f"| {weights} | {threads} | {test} | {case['toy_tokens_per_second']:.1f} ({case['toy_flash_attention']}) "
                    f"| {case['llama_tokens_per_second']:.1f} ({case['llama_flash_attention']}) "
                    f"| {case['ratio']:.3f} ({case['low']:.3f} to {case['high']:.3f}) "
                    f"| {case['toy_peak_mib']:.0f} / {case['llama_peak_mib']:.0f} |",
                    flush=True,
                )
    if options.infer_command:
        median, low, high = first_token(options, str(Path(options.models, "smollm-Q8_0.gguf")))
        report["first_token_ms"] = {"model": "smollm-Q8_0.gguf", "median": median, "low": low, "high": high}
        print(f"\nFirst token of toy infer, Q8_0, warm cache: {median:.0f} ms ({low:.0f} to {high:.0f}) after the start of the process")
    partial = Path(options.output).with_suffix(".partial")
    partial.write_text(json.dumps(report, indent=1), encoding="utf-8")
    os.replace(partial, options.output)
    print(f"results: {options.output}")


if __name__ == "__main__":
    main()
