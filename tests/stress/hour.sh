#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An hour of a hundred threads at 1 kHz (hour.c): flat memory, every sample once and in its span, no
# more bytes for each than docs/recording.md says; with limits the newest of it. The JDK's tool
# counts the same.
#
#   WEFT_SECONDS=72
. "$(dirname "$0")/../acceptance/lib.sh"
seconds=${WEFT_SECONDS:-72}
hour=$BUILD/tests/stress/hour
most_per_sample=16
need_kib=$((seconds * 2000 + 1000000))

free_kib=$(df -Pk "$work" | awk 'NR == 2 { print $4 }')
[ "$free_kib" -gt "$need_kib" ] || skip_all "$work has no room for $need_kib KiB"

figure() { # NAME: from the last run
	awk -v name="$1" '{ for (i = 1; i < NF; i += 2) if ($i == name) print $(i + 1) }' \
		"$work/figures"
}

run() { # [MAX_BYTES [MAX_AGE]]
	"$hour" "$work/hour.jfr" "$seconds" "$@" >"$work/figures"
}

small() {
	awk -v is="$(figure per-sample)" -v most="$most_per_sample" 'BEGIN { exit !(is > 0 && is <= most) }'
}

counted() { # by the JDK's tool
	jfr summary "$work/hour.jfr" >"$work/summary" || return 1
	for row in "jdk.ExecutionSample samples" "weft.Span spans"; do
		set -- $row
		same "$(figure "$2")" "$(awk -v name="$1" '$1 == name { print $2 }' "$work/summary")" ||
			return 1
	done
}

look() { # WHAT: at what the last run has left
	note "$1: $(cat "$work/figures")"
	if have jfr; then
		check "$1: jfr summary counts the same" counted
	else
		skip "$1: jfr summary counts the same" "no JDK"
	fi
	rm -f "$work/hour.jfr"
}

dropped() {
	[ "$(figure dropped)" -gt 0 ]
}

check "all of it: flat memory, every sample" run
check "all of it: $most_per_sample bytes a sample at the most" small
look "all of it"

check "--max-size: the newest, never more" run $((seconds * 400000))
check "--max-size: something was dropped" dropped
look "--max-size"

check "--max-age: the newest, none too old" run 0 $((seconds / 4))
check "--max-age: something was dropped" dropped
look "--max-age"

[ "$seconds" -ge 3600 ] || finish
check "both" run $((seconds * 400000)) $((seconds / 2))
check "both: something was dropped" dropped
look "both"
finish
