#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The kernel's account beside the samples: the rows of weft.ThreadCPU of each process are what
# wait4(2) tells of it, to within 1 % and what a program uses before it joins (its loading); be its
# threads pools, many and short, begun behind weft's back, or deaf. A thread that no sample names is
# named by its CPU time.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"

export ACCOUNT_LOG=$work/log
file=$work/a.jfr

# "pid <tab> thread <tab> used, s <tab> seen, s <tab> samples" of each row.
rows() {
	"$weft" print --json --events weft.ThreadCPU "$1" | jq -r '.recording.events[].values |
		[(.process | capture("\\[(?<pid>[0-9]+)\\]$").pid), (.eventThread.osName // "-"),
		 (.used | ltrimstr("PT") | rtrimstr("S")), (.seen | ltrimstr("PT") | rtrimstr("S")),
		 .samples] | @tsv'
}

record_all() {
	bounded "$weft" record -o "$file" -- "$tools/account" >"$work/out" 2>"$work/err" </dev/null || {
		cat "$work/out" "$work/err"
		return 1
	}
	rows "$file" >"$work/rows"
	[ -s "$work/rows" ]
}

# What was used before a program joined is a few ms, more where its files are cold.
agrees() { # KIND
	awk -v kind="$1" 'FNR == NR { if ($2 == kind) { pid = $1; told = $3 / 1e9 } next }
		$1 == pid { used += $3; seen += $4 }
		END {
			printf "%s: wait4 %.4f s, rows %.4f s, seen %.4f s\n", kind, told, used, seen
			exit !(told > 0.1 && used <= told * 1.01 + 0.005 && used >= told * 0.99 - 0.03)
		}' "$ACCOUNT_LOG" FS='\t' "$work/rows"
}

deaf_is_named() {
	awk -F'\t' '$2 == "blocker" { used += $3; seen += $4 }
		END { print "used " used ", seen " seen; exit !(used > 0.35 && used < 0.6 && seen == 0) }' \
		"$work/rows" && grep 'could not be sampled: .*blocker (blocks SIGPROF)' "$work/err"
}

# As the rows say.
sums_are_told() {
	local told sums
	told=$(sed -n 's/^weft record: seen \([0-9.]*\) s of \([0-9.]*\) s used .*/\1 \2/p' "$work/err")
	sums=$(awk -F'\t' '{ used += $3; seen += $4 } END { printf "%.2f %.2f", seen, used }' "$work/rows")
	echo "told $told, rows $sums"
	[ -n "$told" ] && awk -v told="$told" -v sums="$sums" 'BEGIN {
		split(told, t, " "); split(sums, s, " ")
		exit !(t[1] - s[1] <= 0.02 && s[1] - t[1] <= 0.02 && t[2] - s[2] <= 0.02 && s[2] - t[2] <= 0.02) }'
}

# Counts of signals are what the file has samples of, where each weighs one period or more.
samples_are_signals() {
	local rows all
	rows=$(awk -F'\t' '{ n += $5 } END { print n }' "$work/rows")
	all=$("$tools/list-samples" "$file" | wc -l)
	echo "signals $rows, samples $all"
	[ "$rows" -gt 0 ] && [ "$rows" -le "$all" ]
}

check "a recording of all kinds" record_all
for kind in pool storm notifications blocked raw forked execs; do
	check "$kind: rows and wait4 agree" agrees "$kind"
done
check "a thread that blocks all signals is named, with its CPU time" deaf_is_named
check "the last lines tell the sums" sums_are_told
check "no signal counts twice" samples_are_signals
finish
