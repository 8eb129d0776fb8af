#!/bin/sh
# scripts/fetch-npm.sh and scripts/bootstrap.sh without a network: a stand-in npm serves what the test wants.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $1" >&2; exit 1; }

# A checkout of its own, with a package that looks like the pinned one: a git bundle with ggml/ and models/.
mkdir -p "$work/toy/scripts" "$work/toy/cmake" "$work/bin" "$work/llama/ggml" "$work/llama/models" "$work/package/llama"
cp "$root"/scripts/*.sh "$work/toy/scripts/"
cp "$root/cmake/Ggml.cmake" "$work/toy/cmake/"
echo 'project(ggml)' >"$work/llama/ggml/CMakeLists.txt"
echo vocabulary >"$work/llama/models/ggml-vocab-x.gguf"
mkdir "$work/llama/models/templates"
echo template >"$work/llama/models/templates/x.jinja"
echo other >"$work/llama/models/other.gguf"
echo license >"$work/llama/LICENSE"
git -C "$work/llama" init -q
git -C "$work/llama" add .
git -C "$work/llama" -c user.name=test -c user.email=test@localhost commit -q -m tree
git -C "$work/llama" bundle create -q "$work/package/llama/gitRelease.bundle" HEAD
tar -czf "$work/served.tgz" -C "$work" package
integrity=sha512-$(sha512sum "$work/served.tgz" | cut -d ' ' -f 1 | tr -d '\n' | sed 's/../\\x&/g' | xargs -0 printf | base64 -w 0)
cat >"$work/bin/npm" <<END
#!/bin/sh
echo called >>"$work/calls"
[ ! -e "$work/offline" ] || { echo "npm error network" >&2; exit 1; }
[ ! -e "$work/hang" ] || { cp "$work/served.tgz" half.tgz; sleep 60; }
cp "$work/served.tgz" package-1.0.0.tgz
END
chmod +x "$work/bin/npm"
PATH=$work/bin:$PATH
tree=$work/toy/build/ggml-source
bootstrap() { "$work/toy/scripts/bootstrap.sh" --no-packages "$@" >"$work/out" 2>&1; }
# An installed ggml of the pinned version would rightly stop build from fetching; test always fetches.
set_pin() { sed -i "s|^LLAMA_SOURCE_$1=.*|LLAMA_SOURCE_$1=$2|" "$work/toy/scripts/pins.sh"; }

# The hash of the real package does not fit what is served: refused, nothing left.
if bootstrap --for test; then fail "a package with the wrong hash was accepted"; fi
grep -q "does not match its integrity hash" "$work/out" || fail "no word about the hash: $(cat "$work/out")"
[ ! -e "$tree" ] || fail "a refused package left $tree"

set_pin INTEGRITY "$integrity"
touch "$work/offline"
if bootstrap --for test; then fail "an unreachable registry went unnoticed"; fi
grep -q "could not fetch" "$work/out" || fail "no word about the registry: $(cat "$work/out")"
rm "$work/offline"

# Killed half-way: no tree, and the next run does the whole work and clears what was left.
touch "$work/hang"
setsid "$work/toy/scripts/bootstrap.sh" --no-packages --for test >/dev/null 2>&1 &
group=$!
tries=0
until [ -e "$(echo "$work"/toy/build/.ggml-source.*/half.tgz)" ]; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || fail "the stand-in npm was not called"
    sleep 0.05
done
kill -s KILL -- "-$group"
wait "$group" || true
rm "$work/hang"
[ ! -e "$tree" ] || fail "a killed run left $tree"
bootstrap --for test || fail "after a killed run: $(cat "$work/out")"
[ -f "$tree/ggml/CMakeLists.txt" ] && [ -f "$tree/models/ggml-vocab-x.gguf" ] || fail "the tree lacks files"
[ ! -e "$tree/models/other.gguf" ] || fail "more than the vocabularies was unpacked"
[ -n "$(cat "$tree/commit")" ] || fail "the revision of ggml was not noted"
set -- "$work"/toy/build/.ggml-source.??????
[ ! -e "$1" ] || fail "leftovers: $*"

[ -f "$tree/models/templates/x.jinja" ] || fail "the tree lacks the chat templates"

# Nothing left to do: npm is not asked again. A tree from before the templates, or of an old pin, is replaced.
before=$(wc -l <"$work/calls")
bootstrap --for test || fail "second run: $(cat "$work/out")"
[ "$(wc -l <"$work/calls")" -eq "$before" ] || fail "the second run fetched again"
rm -r "$tree/models/templates"
bootstrap --for test || fail "after a tree without templates: $(cat "$work/out")"
[ -f "$tree/models/templates/x.jinja" ] || fail "a tree without templates stayed"
set_pin PACKAGE other@2.0.0
bootstrap --for test || fail "after a new pin: $(cat "$work/out")"
[ "$(cat "$tree/package")" = other@2.0.0 ] || fail "the tree of the old pin stayed"

if bootstrap --ggml-source "$work"; then fail "a folder without CMakeLists.txt was taken for ggml"; fi
grep -q "is no ggml source tree" "$work/out" || fail "no word about the folder: $(cat "$work/out")"
if bootstrap --for nothing; then fail "an unknown purpose was accepted"; fi
echo "fetching: ok"
