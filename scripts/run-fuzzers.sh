#!/bin/sh
# Runs every fuzz target for some seconds. Inputs found on the way are kept in build/fuzz/corpus, one that crashes in
# build/fuzz/crashes; committed seeds come from fuzz/seeds/<target>.
# usage: scripts/run-fuzzers.sh SECONDS
set -eu

cd "$(dirname "$0")/.."
seconds=$1
found=0
mkdir -p build/fuzz/crashes
for program in build/fuzz/bin/*_fuzz; do
    [ -x "$program" ] || continue
    found=$((found + 1))
    name=${program##*/}
    corpus=build/fuzz/corpus/$name
    mkdir -p "$corpus"
    seeds=
    [ ! -d "fuzz/seeds/$name" ] || seeds=fuzz/seeds/$name
    echo "== $name for $seconds s"
    # 2 GB and 25 s per input: more than the limits of docs/security.md let any input take.
    "$program" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=25 -print_final_stats=1 \
        -artifact_prefix=build/fuzz/crashes/"$name"- "$corpus" $seeds
done
[ $found -gt 0 ] || { echo "fuzz: build/fuzz/bin holds no fuzz target." >&2; exit 1; }
echo "fuzz: $found target(s) ran $seconds s each without a crash"
