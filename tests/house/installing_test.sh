#!/bin/sh
# What make install installs works from where it lies, also below a DESTDIR.
# usage: installing_test.sh BUILD_FOLDER
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $1" >&2; exit 1; }

DESTDIR="$work" cmake --install "$1" --prefix /opt/toy >"$work/log" 2>&1 || fail "$(cat "$work/log")"
root=$work/opt/toy
"$root/bin/toy" --version | grep -q '^toy [0-9]' || fail "the installed toy does not tell its version"
grep -q 'toy' "$root/share/man/man1/toy-infer.1" || fail "no manual page for toy infer"
for file in bash-completion/completions/toy zsh/site-functions/_toy fish/vendor_completions.d/toy.fish doc/toy/LICENSE; do
    [ -s "$root/share/$file" ] || fail "share/$file is missing or empty"
done
[ "$(find "$work" -mindepth 1 -maxdepth 1 ! -name opt ! -name log)" = "" ] || fail "something was installed outside the prefix"
echo "installing: ok"
