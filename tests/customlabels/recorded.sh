#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# recorded.sh WEFT PROGRAM: a recording holds the labels of the set that was current: weft's, then
# the program's own, then weft's. PROGRAM burns CPU time in each (recorded.c).
set -u
span_11=000000000000000b span_12=000000000000000c span_13=000000000000000d
weft=$1 program=$2
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
n=0 status=0

is() { # TEXT EXPECTED GOT
	n=$((n + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $n - $1"
	else
		status=1
		printf 'not ok %d - %s\n# expected: %s\n# got:      %s\n' "$n" "$1" "$2" "$3"
	fi
}

# WHERE BY: the keys with at least ten samples, in order. A sample between two calls may have
# the labels of the one and the span of the other.
keys() {
	"$weft" report --json --where "$1" --by "$2" "$scratch/w.jfr" |
		jq -r '.rows[] | select(.samples >= 10) | .key' | sort | tr '\n' ' '
}

"$weft" record -o "$scratch/w.jfr" -- "$program" 2>"$scratch/log"
is "the program ended well" 0 $?
is "weft's labels while its set is current" "$span_11 $span_13 " "$(keys "label:mine=weft's" span)"
is "the program's own in their place" "$span_12 " "$(keys label:tenant=acme span)"
is "as they change" "acme zeta " "$(keys span=$span_12 label:tenant)"
is "and none of weft's then" "(none) " "$(keys span=$span_12 label:mine)"
is "and weft's again afterwards" "weft's " "$(keys span=$span_13 label:mine)"
is "or of the program's own" "(none) " "$(keys span=$span_13 label:tenant)"
is "it was counted, once" 1 "$("$weft" report --json "$scratch/w.jfr" |
	jq '[.. | .labels_foreign? | numbers] | add')"
echo "1..$n"
exit $status
