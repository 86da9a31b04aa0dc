#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the shared libraries export is what tests/abi/<library>.syms lists, no more, no less.
# usage: symbols.sh SOURCE BUILD [--update]
#   --update writes the lists anew: after a change of the public interface that is meant
set -u
lists=$1/tests/abi build=$2 update=${3-}
n=0 status=0

exported() {
	nm -D --defined-only --extern-only --format=posix "$1" | cut -d' ' -f1 | sed 's/@.*//' |
		LC_ALL=C sort -u
}

scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
# links to a library are installed too, but have no file of the name in the build tree
for library in $(meson introspect --installed "$build" | jq -r 'keys[]' | grep '^/.*\.so'); do
	name=$(basename "$library" | sed 's/\.so.*//')
	n=$((n + 1))
	exported "$library" >"$scratch/found" || status=1
	[ "$update" = --update ] && cp "$scratch/found" "$lists/$name.syms"
	if [ -s "$scratch/found" ] && diff -u "$lists/$name.syms" "$scratch/found" >"$scratch/diff" 2>&1
	then
		echo "ok $n - symbols of $name"
	else
		status=1
		echo "not ok $n - symbols of $name"
		sed 's/^/# /' "$scratch/diff"
	fi
done
echo "1..$n"
[ $n -gt 0 ] && exit $status
