#!/bin/sh
# Fetches one npm package, checks it against its integrity hash and unpacks it.
# usage: scripts/fetch-npm.sh NAME@VERSION sha512-BASE64 FOLDER    (the package's files land in FOLDER/package)
set -eu

die() { echo "$1" >&2; exit 1; }

[ $# -eq 3 ] || die "usage: fetch-npm.sh NAME@VERSION sha512-BASE64 FOLDER"
package=$1
integrity=$2
folder=$3

command -v npm >/dev/null 2>&1 || die "npm is missing, so $package cannot be fetched: install the package npm."
mkdir -p "$folder"
cd "$folder"
npm pack --silent --ignore-scripts "$package" >npm.log 2>&1 ||
    { cat npm.log >&2; die "npm could not fetch $package (its messages are above)."; }
set -- ./*.tgz
[ $# -eq 1 ] && [ -f "$1" ] || die "npm pack $package left no single archive in $folder."

# npm's integrity is base64, sha512sum prints hexadecimal: compare as hexadecimal, with nothing but coreutils.
wanted=$(printf %s "${integrity#sha512-}" | base64 -d | od -An -v -tx1 | tr -d ' \n')
found=$(sha512sum "$1" | cut -d ' ' -f 1)
[ "$found" = "$wanted" ] || die "$package does not match its integrity hash: expected $wanted, got $found; nothing of it was used."
tar -xzf "$1"
rm -f "$1" npm.log
