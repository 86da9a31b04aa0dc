#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prepared contexts in a thread pool whose requests change threads: shares by label and by root
# span are those that the program measures itself, in each set of formats; labels
# and ids of a sample are of one request.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"
pool=$BUILD/examples/pool

by() {
	bounded "$weft" report "$@" --json --top 0 | jq -r '.rows[] | [.key, .samples] | @tsv' | sort
}

samples_of() { # FILE KEY: of its row
	awk -F'\t' -v key="$2" '$1 == key { n = $2 } END { print n + 0 }' "$1"
}

record() { # FORMATS PRELOADED
	WEFT_PUBLISH=$1 LD_PRELOAD=${2-} bounded "$weft" record -F 400 -o "$work/a.jfr" -- \
		"$pool" 3 2000 >"$work/own" 2>"$work/err" || {
		cat "$work/err"
		return 1
	}
	by --by label:tenant "$work/a.jfr" >"$work/tenants" &&
		by --by root "$work/a.jfr" >"$work/roots" &&
		cat "$work/own" "$work/tenants" "$work/roots"
}

# Within five standard errors of a share, by the number of samples.
shares_are_right() {
	awk -v acme="$(samples_of "$work/tenants" acme)" -v beta="$(samples_of "$work/tenants" beta)" '
		{ own[$1] = $2 }
		END {
			n = acme + beta; a = acme / n; b = own["acme"] / (own["acme"] + own["beta"])
			error = 5 * sqrt(b * (1 - b) / n)
			printf "acme: %.3f of samples, %.3f of its own CPU time, +- %.3f\n", a, b, error
			exit n < 200 || b < 0.6 || a - b > error || b - a > error
		}' "$work/own"
}

labels_are_spans() { # but for a sample between the stores of a write
	for pair in acme:0000000000000ace beta:0000000000000acf; do
		local label root
		label=$(samples_of "$work/tenants" "${pair%:*}")
		root=$(samples_of "$work/roots" "${pair#*:}")
		[ $((label > root ? label - root : root - label)) -le 3 ] || return 1
	done
	for pair in acme:0000000000000acf beta:0000000000000ace; do
		same 0 "$(bounded "$weft" report "$work/a.jfr" --where "label:tenant=${pair%:*}" \
			--where "root=${pair#*:}" --json 2>/dev/null | jq .samples)" || return 1
	done
}


preload=$BUILD/src/customlabels/libcustomlabels-weft.so
check "a pool is recorded" record v1
check "shares by label are those that it measures" shares_are_right
check "labels and root spans are of one request" labels_are_spans
check "with all formats" record v1,labels,otel "$preload"
check "likewise: shares" shares_are_right
check "likewise: one request" labels_are_spans
finish
