#!/bin/sh
# Fetches the oracle into build/oracle: lib/ with the prebuilt libllama of the pinned llama.cpp release (Linux on x86-64)
# and include/ with the headers of the same release. Only for recording fixtures; no build and no test needs it.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/scripts/pins.sh"
oracle=$root/build/oracle
stamp="$LLAMA_BINARY_PACKAGE $LLAMA_SOURCE_PACKAGE"
[ "$(cat "$oracle/packages" 2>/dev/null)" = "$stamp" ] && exit 0

mkdir -p "$root/build"
work=$(mktemp -d "$root/build/.oracle.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
"$root/scripts/fetch-npm.sh" "$LLAMA_BINARY_PACKAGE" "$LLAMA_BINARY_INTEGRITY" "$work/binary"
"$root/scripts/fetch-npm.sh" "$LLAMA_SOURCE_PACKAGE" "$LLAMA_SOURCE_INTEGRITY" "$work/source"
git clone -q --bare "$work/source/package/llama/gitRelease.bundle" "$work/llama.git"
mkdir -p "$work/oracle/include"
mv "$work/binary/package/bins/linux-x64" "$work/oracle/lib"
for folder in include ggml/include; do
    git -C "$work/llama.git" archive -o "$work/headers.tar" "HEAD:$folder"
    tar -xf "$work/headers.tar" -C "$work/oracle/include"
done
echo "$stamp" >"$work/oracle/packages"
[ ! -e "$oracle" ] || mv "$oracle" "$work/old"
mv "$work/oracle" "$oracle"
