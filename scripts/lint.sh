#!/bin/sh
# Layers and budgets, formatting, then a clang 19 build of everything with clang-tidy over src/ and bindings/.
# The build is incremental: what has not changed is not looked at again.
set -eu

cd "$(dirname "$0")/.."
python3 scripts/check-layers.py
git ls-files -co --exclude-standard -- '*.h' '*.cpp' '*.c' |
    while read -r file; do [ ! -f "$file" ] || echo "$file"; done |
    xargs -r clang-format-14 --dry-run -Werror
scripts/build.sh lint
