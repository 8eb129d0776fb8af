#!/bin/sh
# Makes a fresh Debian 12 ready to build toy: installs the Debian packages that are missing and obtains ggml's source.
# A second run finds everything in place and does nothing.
#
# usage: scripts/bootstrap.sh [--for build|test|lint|fuzz|bench|oracle] [--ggml-source DIR] [--no-packages]
#   --for           what is going to be done; the later words add packages to those of the first (default: build)
#   --ggml-source   use this ggml tree (the folder with ggml's CMakeLists.txt) and fetch none
#   --no-packages   install nothing; CMake then says what is missing
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/scripts/pins.sh"

die() { echo "bootstrap: $1" >&2; exit 1; }

purpose=build
ggml_source=
packages=yes
while [ $# -gt 0 ]; do
    case $1 in
        --for) [ $# -ge 2 ] || die "--for needs a value."; purpose=$2; shift ;;
        --ggml-source) [ $# -ge 2 ] || die "--ggml-source needs a folder."; ggml_source=$2; shift ;;
        --no-packages) packages=no ;;
        *) die "unknown option $1 (known: --for, --ggml-source, --no-packages)." ;;
    esac
    shift
done

# Programs as command:package: one that is on the PATH counts, whoever installed it. Libraries as Debian packages.
programs="g++:g++ cmake:cmake ninja:ninja-build git:git pkg-config:pkg-config"
libraries="nlohmann-json3-dev libfmt-dev libspdlog-dev libpcre2-dev libutf8proc-dev libssl-dev libgtest-dev
           librapidcheck-dev"
programs="$programs python3:python3"
case $purpose in
    build | test) ;;
    lint)
        programs="$programs clang-format-14:clang-format-14 clang-tidy-19:clang-tidy-19 clang++-19:clang-19"
        libraries="$libraries libbenchmark-dev" ;;
    fuzz)
        programs="$programs clang++-19:clang-19"
        libraries="$libraries libclang-rt-19-dev" ;;
    oracle) libraries="$libraries python3-numpy python3-jinja2 python3-torch" ;;
    bench) libraries="$libraries python3-numpy libbenchmark-dev" ;;
    *) die "--for $purpose is unknown (build, test, lint, fuzz, bench or oracle)." ;;
esac

# Sets `missing` to the Debian packages of $1 (command:package words) and $2 (package words) that are not there.
find_missing() {
    missing=
    for pair in $1; do
        command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair##*:}"
    done
    [ -n "$2" ] || return 0
    if ! command -v dpkg-query >/dev/null 2>&1; then
        missing="$missing $2"
        return 0
    fi
    installed=$(dpkg-query -W -f '${Package} ${db:Status-Abbrev}\n' $2 2>/dev/null | grep ' ii' | cut -d ' ' -f 1) || true
    for library in $2; do
        case "
$installed
" in
            *"
$library
"*) ;;
            *) missing="$missing $library" ;;
        esac
    done
}

# Installs the packages of find_missing's arguments that are not there.
install_missing() {
    [ $packages = yes ] || return 0
    find_missing "$1" "$2"
    [ -n "$missing" ] || return 0
    missing=$(echo $missing)
    command -v apt-get >/dev/null 2>&1 ||
        die "this system has no apt-get and lacks what these Debian packages hold: $missing; install it, then pass --no-packages (make BOOTSTRAP_FLAGS=--no-packages)."
    if [ "$(id -u)" -eq 0 ]; then
        sudo=
    else
        command -v sudo >/dev/null 2>&1 || die "these Debian packages are missing: $missing; run this as root, or install sudo."
        sudo=sudo
    fi
    echo "bootstrap: installing $missing"
    # An index that is old names packages that are gone, one that is absent names none. apt-get has much to say, which
    # only matters when it fails.
    log=$(mktemp)
    { $sudo apt-get -q update && $sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
        install $missing; } >"$log" 2>&1 || { cat "$log" >&2; rm -f "$log"; die "apt-get could not install $missing (its messages are above)."; }
    rm -f "$log"
}

# Succeeds where CMake will find an installed ggml package of the version that cmake/Ggml.cmake asks for.
ggml_is_installed() {
    version=$(sed -n 's/^set(TOY_GGML_VERSION \(.*\))$/\1/p' "$root/cmake/Ggml.cmake")
    for prefix in $(echo "${CMAKE_PREFIX_PATH:-}" | tr ':;' '  ') /usr/local /usr; do
        for file in "$prefix"/lib/cmake/ggml/ggml-config-version.cmake "$prefix"/lib/*/cmake/ggml/ggml-config-version.cmake; do
            grep -q "PACKAGE_VERSION \"$version\"" "$file" 2>/dev/null && return 0
        done
    done
    return 1
}

# Succeeds where a whole tree of the pinned package lies in $1. Trees of older checkouts lack the chat templates.
tree_is_there() {
    [ "$(cat "$1/package" 2>/dev/null)" = "$LLAMA_SOURCE_PACKAGE" ] && [ -d "$1/models/templates" ]
}

# Unpacks ggml, the tokenizer vocabularies and the chat templates into build/ggml-source. The tree appears under its
# name only when it is whole, so a run that was killed leaves nothing that a later one could mistake for it.
fetch_ggml_source() {
    tree=$root/build/ggml-source
    tree_is_there "$tree" && return 0
    install_missing "npm:npm git:git" ""
    mkdir -p "$root/build"
    exec 9>"$root/build/.ggml-source.lock"
    flock 9                                    # a second bootstrap waits for the first, then finds its work done
    tree_is_there "$tree" && return 0
    rm -rf "$root"/build/.ggml-source.??????   # what killed runs left
    work=$(mktemp -d "$root/build/.ggml-source.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM
    echo "bootstrap: fetching $LLAMA_SOURCE_PACKAGE (about 35 MB) for ggml, tokenizer vocabularies and chat templates"
    "$root/scripts/fetch-npm.sh" "$LLAMA_SOURCE_PACKAGE" "$LLAMA_SOURCE_INTEGRITY" "$work" ||
        die "no ggml: pass a ggml source tree with make TOY_GGML_SOURCE=DIR, or run this again with the npm registry in reach."
    git clone -q --bare "$work/package/llama/gitRelease.bundle" "$work/llama.git"
    mkdir "$work/tree"
    git -C "$work/llama.git" archive -o "$work/tree.tar" HEAD ggml LICENSE 'models/ggml-vocab-*' models/templates
    tar -xf "$work/tree.tar" -C "$work/tree"
    git -C "$work/llama.git" rev-parse --short HEAD >"$work/tree/commit"
    echo "$LLAMA_SOURCE_PACKAGE" >"$work/tree/package"
    [ ! -e "$tree" ] || mv "$tree" "$work/old"
    mv "$work/tree" "$tree"
}

install_missing "$programs" "$libraries"
if [ -n "$ggml_source" ]; then
    [ -f "$ggml_source/CMakeLists.txt" ] || die "$ggml_source holds no CMakeLists.txt, so it is no ggml source tree."
fi
# The tests need the vocabularies and templates of the pinned package, wherever ggml itself comes from.
if [ "$purpose" = test ] || { [ -z "$ggml_source" ] && ! ggml_is_installed; }; then
    fetch_ggml_source
fi
