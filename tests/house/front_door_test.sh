#!/bin/sh
# The Makefile refuses in one sentence what cannot work, and its help names every target.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $1" >&2; exit 1; }
unset MAKEFLAGS MAKELEVEL MFLAGS   # when make test runs this

# Runs make in a copy of the Makefile that has no ../shared and nothing to build; expects exit code 2 and one line of ours.
mkdir "$work/toy"
cp "$root/Makefile" "$work/toy/"
refused() {
    code=0
    make -C "$work/toy" --no-print-directory "$@" >"$work/out" 2>&1 || code=$?
    [ $code -eq 2 ] || fail "make $* ended with $code: $(cat "$work/out")"
    [ "$(grep -vc '^make: \*\*\*' "$work/out")" -eq 1 ] || fail "make $* said more than one line: $(cat "$work/out")"
}
refused demo
grep -q "MODEL=path/to/model.gguf" "$work/out" || fail "make demo did not say what to pass: $(cat "$work/out")"
refused demo MODEL=absent.gguf
grep -q "no file absent.gguf" "$work/out" || fail "make demo did not name the file: $(cat "$work/out")"

make -s -C "$root" help >"$work/help"
for target in demo test check lint bench oracle fuzz install clean; do
    grep -q "^make $target " "$work/help" || fail "make help does not tell of $target"
done
echo "front door: ok"
