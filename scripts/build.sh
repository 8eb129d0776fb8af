#!/bin/sh
# Configures (only when something that configuring depends on has changed) and builds one preset.
# usage: scripts/build.sh PRESET [CMake arguments]
set -eu

cd "$(dirname "$0")/.."
preset=$1
shift
folder=build/$preset
stamp=$folder/configured     # holds the arguments of the last successful configuration

if [ ! -f "$folder/build.ninja" ] || [ CMakePresets.json -nt "$stamp" ] || [ "$(cat "$stamp" 2>/dev/null)" != "$*" ]; then
    mkdir -p "$folder"
    rm -f "$stamp"
    echo "configuring $folder"
    cmake --preset "$preset" "$@" >"$folder/configure.log" 2>&1 || { cat "$folder/configure.log" >&2; exit 1; }
    echo "$*" >"$stamp"
fi
cmake --build --preset "$preset"
