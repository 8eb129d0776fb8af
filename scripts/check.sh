#!/bin/sh
# Lint, then the tests under address and undefined-behaviour sanitizers, then under the thread sanitizer, then each fuzz
# target for some seconds. Every step runs, even when an earlier one failed; the last line sums up.
# usage: scripts/check.sh fast|all    (fast leaves out tests whose suite or name begins with Slow)
set -u

cd "$(dirname "$0")/.."
case ${1:-fast} in
    fast) exclude='\.Slow' ;;
    all) exclude='^$' ;;
    *) echo "check: unknown suite $1 (fast or all)." >&2; exit 2 ;;
esac
summary=
failed=0

step() {
    name=$1
    shift
    if "$@"; then
        summary="$summary, $name ok"
    else
        summary="$summary, $name FAILED"
        failed=1
    fi
}

suite() {
    scripts/build.sh "$1" && ctest --preset "$1" -j "$(nproc)" -E "$exclude"
}

fuzz() {
    scripts/build.sh fuzz && scripts/run-fuzzers.sh 20
}

step lint scripts/lint.sh
step "asan+ubsan" suite asan
step tsan suite tsan
step fuzz fuzz
echo "check:${summary#,}"
exit $failed
