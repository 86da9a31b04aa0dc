#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `go tool pprof` reads what `weft convert` writes, and counts as `weft report` does: to the
# sample, for every function, by itself and in total.
. "$(dirname "$0")/lib.sh"
have go || skip_all "go is not installed"
have jq || skip_all "jq is not installed"
go tool pprof -h >/dev/null 2>&1 || [ $? = 2 ] || skip_all "go tool pprof does not run"

record() {
	bounded "$weft" record -F 240 -o "$work/a.jfr" -- "$tools/burn" 0.7 2 2>"$work/err" &&
		bounded "$weft" convert "$work/a.jfr" --to pprof -o "$work/a.pb.gz"
}

# name <tab> samples by itself <tab> samples in all, sorted
by_report() {
	bounded "$weft" report "$work/a.jfr" --by function --top 0 --json |
		jq -r '.rows[] | [.key, .self_samples, .samples] | @tsv' | sort
}

by_pprof() {
	PPROF_TMPDIR=$work bounded go tool pprof -top -sample_index=samples -nodecount=100000 \
		-nodefraction=0 -edgefraction=0 "$work/a.pb.gz" 2>/dev/null |
		sed '1,/flat%/d' | awk '{
			flat = $1; cum = $4; $1 = $2 = $3 = $4 = $5 = ""
			sub(/^ +/, ""); sub(/ \(inline\)$/, ""); print $0 "\t" flat "\t" cum }' | sort
}

agree() {
	by_report >"$work/report.tsv" && by_pprof >"$work/pprof.tsv" || return 1
	at_least 4 "$(wc -l <"$work/report.tsv")" && diff "$work/report.tsv" "$work/pprof.tsv"
}

totals_agree() {
	local ours theirs
	ours=$(bounded "$weft" report "$work/a.jfr" --json | jq .samples)
	theirs=$(awk -F'\t' '{ n += $2 } END { print n }' "$work/pprof.tsv")
	same "$ours" "$theirs"
}

check "record and convert to pprof" record || finish
check "go tool pprof -top and weft report agree to the sample, function by function" agree
check "... and in the total" totals_agree
finish
