#!/bin/sh
# Makes build/oracle/lib-exact-gelu: the libraries of build/oracle/lib with a CPU backend of our own build, whose GELU
# is computed and not looked up in an F16 table. Only for recording fixtures; needs a CPU with AVX-512 VBMI and VNNI.
set -eu

cd "$(dirname "$0")/.."
scripts/fetch-oracle.sh
target=build/oracle/lib-exact-gelu
[ ! -f "$target/libggml-cpu-exact.so" ] || exit 0
work=$(mktemp -d build/.exact-gelu.XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cp -r build/ggml-source/ggml "$work/ggml"
sed -i '/^#define GGML_GELU_FP16/d' "$work/ggml/src/ggml-cpu/vec.h"
cmake -S tests/oracle/exact_gelu -B "$work/build" -G Ninja "-DGGML=$PWD/$work/ggml" -DCMAKE_BUILD_TYPE=Release \
    -DBUILD_SHARED_LIBS=ON -DGGML_BACKEND_DL=ON -DGGML_NATIVE=OFF -DGGML_OPENMP=OFF -DGGML_LLAMAFILE=ON \
    -DGGML_AVX512=ON -DGGML_AVX512_VBMI=ON -DGGML_AVX512_VNNI=ON >"$work/configure.log"
cmake --build "$work/build" --target ggml-cpu
mkdir -p "$work/lib"
cp build/oracle/lib/libggml-base.so build/oracle/lib/libggml.v*.so build/oracle/lib/libllama.v*.so "$work/lib"
cp "$work/build/bin/libggml-cpu.so" "$work/lib/libggml-cpu-exact.so"
mv "$work/lib" "$target"
