#!/bin/sh
# Runs the micro-benchmarks that the bench preset built (bench/*_bench.cpp), one after the other.
set -eu

cd "$(dirname "$0")/.."
found=0
for program in build/bench/bin/*_bench; do
    [ -x "$program" ] || continue
    found=1
    echo "== ${program##*/}"
    "$program"
done
[ $found -eq 1 ] || { echo "bench: build/bench/bin holds no benchmark." >&2; exit 1; }
