#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Requests of a program that carries nothing of weft and publishes them for anybody's profiler: by
# the wall clock, from outside, against what its threads know of their waits. Judged by the number of
# looks, not by time: five standard errors of a share of as many independent samples, and a point
# for what a loaded collector adds.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"
[ -r /proc/thread-self/schedstat ] || skip_all "the kernel has no schedstat"

seconds=${WEFT_TEST_SECONDS:-6}
hertz=75

# begin PROGRAM ARGUMENT...: its PID in $pid, its words in $work/own.
begin() {
	"$@" >"$work/own" 2>"$work/errors" &
	pid=$!
	started+=("$pid")
	await 600 grep -q ^ready "$work/own"
}

# attach OPTION...: records $pid to its end.
attach() {
	bounded "$weft" record -o "$work/a.jfr" -e wall --wall-frequency $hertz "$@" -p "$pid" \
		2>"$work/err" || {
		cat "$work/err"
		return 1
	}
	wait "$pid"
}

which=(--event wall --where state=sleeping)

asked() { # JQ-FILTER OPTION...: of the workers' samples
	local filter=$1
	shift
	bounded "$weft" report --json "${which[@]}" --where thread=worker "$@" "$work/a.jfr" |
		jq "$filter"
}

samples() { # KEY VALUE
	asked "[.rows[] | select(.key == \"$2\") | .samples] | add // 0" --by "$1"
}

counter() { # NAME
	asked ".counters.$1 // 0"
}

# shares_are_true KEY FIRST SECOND [whole]: of the two requests, each against the other, and with
# `whole` against all, too.
shares_are_true() {
	tail -n 1 "$work/own" | awk -v first="$(samples "$1" "$2")" -v second="$(samples "$1" "$3")" \
		-v all="$(asked .samples)" -v whole="${4:+1}" '
		function check(what, seen, n, truth,   error, off) {
			error = sqrt(truth * (1 - truth) / n)
			off = seen / n - truth
			printf "%s: true %.2f %%, seen %.2f %% of %d, standard error %.2f\n", what,
				100 * truth, 100 * seen / n, n, 100 * error
			if ((off < 0 ? -off : off) > 5 * error + 0.01) bad = 1
		} {
			if (first + second < 100 || all < first + second) {
				printf "%d and %d of %d samples\n", first, second, all
				exit 1
			}
			check("the first of both", first, first + second, $1 / ($1 + $2))
			if (whole) check("the first of all", first, all, $1 / ($1 + $2 + $3))
			if (whole) check("the second of all", second, all, $2 / ($1 + $2 + $3))
			exit bad
		}'
}

has_none() { # KEY: no sample has it
	same 0 "$(asked '[.rows[] | select(.key != "(none)") | .samples] | add // 0' --by "$1")"
}

counted() { # NAME: more than nothing
	at_least 1 "$(counter "$1")"
}

first=0000000000000011 second=0000000000000022
trace=a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0

# inspect_sees FORMAT: threads by it, with one of both spans each; and so when they are stopped.
inspect_sees() {
	local stop
	for stop in "" --stop; do
		bounded "$weft" inspect --json $stop "$pid" >"$work/inspected" &&
			jq -e --arg abi "$1" '
				[.threads[].contexts[] | select(.abi == $abi)] as $all |
				($all | length > 0) and (.process[$abi].modules | length == 1) and all($all[];
					(.span_id == "'$first'" and .attributes.tenant == "acme") or
					(.span_id == "'$second'" and .attributes.tenant == "globex") or .torn)' \
				"$work/inspected" || return 1
	done
}

# The whole of each format: span, label, root span and trace.
for format in place swap nodejs; do
	begin "$tools/strange-requests" $format "$seconds"
	[ $format != nodejs ] || check "nodejs: weft inspect tells the format" await 300 inspect_sees nodejs
	check "$format: a program without weft is recorded from outside" attach
	check "$format: spans have their shares" shares_are_true span $first $second whole
	show "$work/check.out"
	check "$format: labels have their shares" shares_are_true label:tenant acme globex whole
	check "$format: the root span and the trace are told" \
		same "$(samples root 00000000000000cc)" "$(samples trace $trace)"
	check "$format: the root span is no label besides" has_none label:datadog.local_root_span_id
	check "$format: what was taken is counted" counted context_otel
	check "$format: nothing was unreadable" same 0 "$(counter context_unreadable)"
done

begin "$tools/strange-requests" labels "$seconds"
check "labels: a program without weft is recorded from outside" attach
check "labels: spans have their shares" shares_are_true span $first $second whole
show "$work/check.out"
check "labels: labels have their shares" shares_are_true label:tenant acme globex whole
check "labels: the span is no label besides" has_none label:span-id
check "labels: what was taken is counted" counted context_labels

# Two formats.
begin "$tools/strange-requests" both "$seconds"
check "both: recorded" attach
check "both: spans have their shares" shares_are_true span $first $second whole
# A thread may be met between the one and the other.
check "both: nothing disagrees" test "$(counter context_disagreed)" -le "$(($(counter context_otel) / 50))"

begin "$tools/strange-requests" differ "$seconds"
check "differ: recorded" attach
check "differ: OpenTelemetry's span comes first" shares_are_true span $first $second whole
check "differ: what it contradicts is counted" counted context_disagreed
check "differ: and left out" same 0 "$(samples span 0000000000000111)"

begin "$tools/strange-requests" differ "$seconds"
check "--context-from labels: recorded" attach --context-from labels
check "--context-from labels: these spans alone" \
	shares_are_true span 0000000000000111 0000000000000122 whole
check "--context-from labels: nothing else is looked at" same 0 "$(counter context_otel)"

begin "$tools/strange-requests" both "$seconds"
check "--context-from weft: recorded" attach --context-from weft
check "--context-from weft: no span" has_none span

# A library that comes by dlopen while the program is recorded.
begin "$tools/strange-requests-opens" place "$((seconds + 2))" "$tools/libstrange-requests-library.so"
check "dlopen: recorded" attach
check "dlopen: spans have their shares" shares_are_true span $first $second
show "$work/check.out"
check "dlopen: most of them" at_least 300 \
	"$(($(samples span $first) + $(samples span $second)))"

# Under weft: the same program with the runtime in it.
preloaded() {
	bounded "$weft" record -o "$work/a.jfr" -e wall --wall-frequency $hertz -- \
		"$tools/strange-requests" both "$seconds" >"$work/own"
}
check "preloaded: recorded" preloaded
check "preloaded: spans have their shares" shares_are_true span $first $second whole
show "$work/check.out"
check "preloaded: labels have their shares" shares_are_true label:tenant acme globex whole

# CPU time, by the handler. The variables are found a tenth of a second after the program began, later
# on a busy machine; it waits for that.
burn() { # FORMAT OPTION...
	local format=$1
	shift
	bounded "$weft" record -o "$work/a.jfr" "$@" -- "$tools/strange-requests" "$format" "$seconds" \
		- burn >"$work/own"
}

self_reads() { # LEAST MOST: of a hundred samples of workers; one may stand for several
	local all reads
	all=$(asked .samples) reads=$(counter context_self_read)
	echo "$reads reads of itself, $all samples"
	[ "$reads" -ge $((all * $1 / 100)) ] && [ "$reads" -le $((all * $2 / 100 + 100)) ]
}

which=(--event cpu)
for format in place swap nodejs labels both; do
	check "$format: CPU time is recorded" burn $format
	check "$format: spans have their shares of it" shares_are_true span $first $second whole
	show "$work/check.out"
	check "$format: labels have their shares of it" shares_are_true label:tenant acme globex whole
	case $format in
		place) reads="0 0" ;;
		swap) reads="10 110" ;; # one, in two of three requests
		nodejs) reads="60 700" ;; # up to six, and less in one of three
		*) reads="10 310" ;;
	esac
	# shellcheck disable=SC2086
	check "$format: memory that is not known is read by a call" self_reads $reads
	show "$work/check.out"
done
check "both: the trace is told" at_least 100 "$(samples trace $trace)"
check "differ: CPU time is recorded" burn differ
check "differ: OpenTelemetry's span comes first" shares_are_true span $first $second whole
check "differ: what it contradicts is counted" counted context_disagreed
check "differ: and left out" same 0 "$(samples span 0000000000000111)"
check "differ: --context-from labels" burn differ --context-from labels
check "differ: these spans alone" \
	shares_are_true span 0000000000000111 0000000000000122 whole
check "both: --context-from weft" burn both --context-from weft
check "both: no span" has_none span
check "both: nothing is read" same 0 "$(counter context_self_read)"
for format in gone torn; do
	check "$format: a program whose pointers lead to pages that are gone lives" burn $format
	check "$format: it has samples" at_least 100 "$(asked .samples)"
	check "$format: and no span" has_none span
	check "$format: that is counted" counted context_unreadable
done

# A filter that kills for the call by which memory is read that is not known.
filtered() { # FORMAT
	bounded "$weft" record -o "$work/a.jfr" -- "$tools/strange-requests" "$1" "$seconds" - burn \
		filter >"$work/own"
}
if "$tools/strange-requests" none 0 - burn filter >"$work/own" 2>&1; then
	check "filter: a program lives that kills who reads by that call" filtered swap
	check "filter: that was called before" counted context_self_read
	check "filter: and what was left out afterwards is counted" counted context_unreadable
	check "filter, place: what lies in the thread's own memory" filtered place
	check "filter, place: is read all the time" \
		shares_are_true span $first $second whole
	show "$work/check.out"
else
	skip "filter: a program lives that kills who reads by that call" "no seccomp filters here"
fi

# A library that comes late, whose variables may lie in no static TLS.
burn_late() {
	bounded "$weft" record -o "$work/a.jfr" -- "$tools/strange-requests-opens" "$1" \
		"$((seconds + 2))" "$tools/libstrange-requests-library.so" burn >"$work/own"
}
for format in swap nodejs both; do
	check "dlopen, $format: CPU time is recorded" burn_late $format
	check "dlopen, $format: spans have their shares of it" shares_are_true span $first $second
	show "$work/check.out"
	check "dlopen, $format: most of them" at_least 300 \
		"$(($(samples span $first) + $(samples span $second)))"
	most=730
	[ $format != nodejs ] || most=1400
	check "dlopen, $format: the variable is reached by calls, too" self_reads 50 $most
	show "$work/check.out"
done
finish
