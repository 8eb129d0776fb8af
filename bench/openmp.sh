#!/bin/sh
# Should ggml be built with OpenMP? Builds toy both ways and compares decoding on two threads, quiet and beside a busy
# neighbour (openmp.py). The models are those of bench/compare-llamacpp, which must have run before.
# usage: bench/openmp.sh [--models DIR] [options of openmp.py]
set -eu

cd "$(dirname "$0")/.."
models=build/llamacpp/models
if [ "${1:-}" = --models ]; then
    models=$2
    shift 2
fi
[ -f "$models/smollm-Q8_0.gguf" ] || { echo "openmp: no models in $models; run bench/compare-llamacpp first." >&2; exit 1; }
for openmp in ON OFF; do
    cmake --preset release -B "build/openmp-$openmp" -DTOY_TESTS=OFF -DTOY_OPENMP=$openmp >/dev/null
    cmake --build "build/openmp-$openmp"
done
arguments='bench {model} --json --threads {threads} --prompt {prompt} --generate {generate} --flash-attention {flash} --kv-type f16 --repetitions {reps}'
exec /usr/bin/python3 bench/openmp.py --models "$models" --with "build/openmp-ON/bin/toy $arguments" \
    --without "build/openmp-OFF/bin/toy $arguments" "$@"
