#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs and waits of coroutines, from a program's scheduler to the report: as many as it says it
# had, with its sites, threads and contexts; two JDKs read the same; what is lost is counted.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"

# record NAME PROGRAM ARGUMENTS...: to $work/NAME.jfr, what both say beside it
record() {
	local name=$1
	shift
	bounded "$weft" record -e "${engine:-cpu}" ${options-} -o "$work/$name.jfr" -- "$@" \
		>"$work/$name.own" 2>"$work/$name.err" || { cat "$work/$name.err"; return 1; }
}

report() { # NAME ARGUMENTS...
	local name=$1
	shift
	bounded "$weft" report "$work/$name.jfr" --json --top 0 "$@"
}

rows() { # NAME ARGUMENTS...: "key <tab> events", sorted
	report "$@" | jq -r '.rows[] | [.key, .samples] | @tsv' | sort
}

counter() { # NAME COUNTER
	report "$1" --event all | jq -r --arg name "$2" '.counters[$name] // 0'
}

own() { # NAME WORD: the number behind it in what the program printed
	awk -v word="$2" '{ for (i = 1; i < NF; i++) if ($i == word) print $(i + 1) }' "$work/$1.own"
}

total() { # NAME EVENT
	report "$1" --event "$2" --by coroutine | jq '[.rows[].samples] | add // 0'
}

none_is_missing() { # NAME
	same 0 "$(grep -c ' lost' "$work/$1.err")" &&
		same "$(own "$1" runs)" "$(total "$1" coroutine-run)" &&
		same "$(own "$1" waits)" "$(total "$1" coroutine-wait)" &&
		same "$(counter "$1" events_attempted)" "$(counter "$1" events_delivered)"
}

summary_counts_them() {
	grep -q "$(($(own "$1" runs) + $(own "$1" waits))) coroutine runs and waits" "$work/$1.err" || {
		cat "$work/$1.err"
		return 1
	}
}

by_coroutine() { # as many runs of each
	same "$(for i in 0 1 2 3 4 5 6 7; do printf '500%d\t40\n' $i; done)" "$(rows "$1" --event coroutine-run --by coroutine)"
}

# 40 rounds: 20 suspensions at the one, 19 at the other place, and one end, of each of 8.
by_site() {
	local got
	got=$(rows "$1" --event coroutine-run --by site | sed 's/ coroutines.c:[0-9]*//')
	same "$(printf '(none)\t8\nwait_for_data\t160\nwait_for_turn\t152\n' | sort)" "$got" &&
		report "$1" --event coroutine-run --by site | jq -r '.rows[].key' | grep -q '^wait_for_turn coroutines.c:[0-9]*$'
}

by_function_and_thread() {
	rows "$1" --event coroutine-wait --by function | grep -q '^wait_for_turn' &&
		same 320 "$(report "$1" --event coroutine-wait --by thread | jq '[.rows[].samples] | add')"
}

# A run is as long as it took: at least what it burns.
weights_are_times() {
	local ns
	ns=$(report "$1" --event coroutine-run --by coroutine | jq '[.rows[].total_ns] | add')
	at_least $((320 * 200000)) "$ns"
}

contexts_are_theirs() {
	local got
	got=$(rows linked --event coroutine-run --by span)
	same "$(for i in 0 1 2 3 4 5 6 7; do printf '%016x\t40\n' $((1000 + i)); done)" "$got"
}

labels_are_theirs() {
	local got
	got=$(rows linked --event coroutine-run --by label:route)
	same "$(for i in 0 1 2 3 4 5 6 7; do printf '/%d\t40\n' "$i"; done)" "$got"
}

# Samples on CPU time know which one ran: never one together with another's span.
samples_know_it() {
	local span
	same 0 "$(report linked --by coroutine --where 'span=00000000000003e8' | jq '[.rows[] | select(.key != "5000") | .samples] | add // 0')" &&
		span=$(report linked --by coroutine | jq '[.rows[] | select(.key | startswith("500")) | .samples] | add // 0') &&
		at_least 20 "$span"
}

# alone COROUTINE KEYS...: of its samples none has another key than these, or none at all.
alone() { # NAME COROUTINE BY KEY
	same "" "$(report "$1" --where "coroutine=$2" --by "$3" | jq -r --arg key "$4" '.rows[].key | select(. != $key and . != "(none)")')"
}

# Each sample in a coroutine has its span and its label, on whichever thread; none is another's.
samples_are_exact() { # NAME SAMPLES
	local i with=0 places=0 more
	for i in 0 1 2 3 4 5 6 7; do
		alone "$1" "500$i" span "$(printf '%016x' $((1000 + i)))" && alone "$1" "500$i" label:route "/$i" || return 1
		more=$(report "$1" --where "coroutine=500$i" --where "span=$(printf '%016x' $((1000 + i)))" --where "label:route=/$i" | jq '[.rows[].samples] | add // 0')
		with=$((with + more))
		more=$(report "$1" --by thread --where "coroutine=500$i" | jq '.rows | length')
		places=$((places + more))
	done
	at_least "$2" "$with" && at_least 9 "$places" # some of the eight on several threads
}

inline_samples_know_it() {
	at_least 20 "$(report inline --by coroutine | jq '[.rows[] | select(.key | startswith("500")) | .samples] | add // 0')" &&
		none_is_missing inline
}

jdk_reads() { # HOME NAME
	"$1/bin/jfr" summary "$work/$2.jfr" | awk '$1 ~ /^weft.Coroutine/ { n[$1] += $2 } END { print n["weft.CoroutineRun"], n["weft.CoroutineWait"] }' >"$work/jdk" &&
		same "$(own "$2" runs) $(own "$2" waits)" "$(cat "$work/jdk")" &&
		"$1/bin/jfr" print --events weft.CoroutineRun,weft.CoroutineWait "$work/$2.jfr" >"$work/printed" &&
		same "$(own "$2" runs)" "$(grep -c '^weft.CoroutineRun' "$work/printed")" &&
		same "$(own "$2" first)" "$(grep -c 'isFirst = true' "$work/printed")" &&
		same "$(own "$2" last)" "$(grep -c 'isLast = true' "$work/printed")" &&
		same "$(($(own "$2" waits) - $(own "$2" first)))" "$(grep -c 'schedulingDelay = [0-9]' "$work/printed")" &&
		grep -q 'wait_for_data() *line: [0-9]' "$work/printed"
}

converts() {
	bounded "$weft" convert --to collapsed -o "$work/stacks" "$work/linked.jfr" &&
		bounded "$weft" convert --to pprof -o "$work/a.pb.gz" "$work/linked.jfr" &&
		bounded "$weft" convert --to collapsed --event coroutine-wait -o "$work/waits" "$work/linked.jfr" &&
		grep -q wait_for_turn "$work/waits"
}

# The smallest ring, and a drain thread that is stopped: much is lost, nothing uncounted.
losses_are_counted() {
	local attempted delivered full
	options="--ring 32K" record lossy "$tools/coroutines" threads=1 coroutines=4 rounds=100000 || return 1
	attempted=$(counter lossy events_attempted) delivered=$(counter lossy events_delivered)
	full=$(counter lossy events_ring_full)
	same $((2 * 400000)) "$attempted" && same "$attempted" $((delivered + full)) &&
		same "$delivered" $(($(total lossy coroutine-run) + $(total lossy coroutine-wait))) &&
		same "$((full != 0))" "$(grep -c "events_ring_full $full)" "$work/lossy.err")"
}

chunks_are_whole() {
	options="--chunk-size 64K" record chunks "$tools/coroutines" threads=2 coroutines=8 rounds=250 burn=50 &&
		none_is_missing chunks
}

threads_can_be_left_out() {
	options="--threads nobody*" record nobody "$tools/coroutines" &&
		same 0 "$(total nobody coroutine-run)" &&
		same "$(($(own nobody runs) + $(own nobody waits)))" "$(counter nobody events_filtered)"
}

check "header-only: recorded with libweft preloaded" record preloaded "$tools/coroutines" rounds=40 burn=200
check "... none is missing" none_is_missing preloaded
check "... the summary counts them" summary_counts_them preloaded
check "... by coroutine" by_coroutine preloaded
check "... by site" by_site preloaded
check "... by function and thread" by_function_and_thread preloaded
check "... weights are times" weights_are_times preloaded
check "linked: recorded" record linked "$tools/coroutines-linked" rounds=40 burn=4000
check "... none is missing" none_is_missing linked
check "... by span" contexts_are_theirs
check "... by label" labels_are_theirs
check "samples on CPU time know the coroutine" samples_know_it
check "... each its own alone" samples_are_exact linked 20
check "converts as before" converts
options=--inline-context check "inline context: recorded" record inline "$tools/coroutines-linked" rounds=40 burn=4000
check "... samples know the coroutine" inline_samples_know_it
engine=cpu,wall check "with the wall engine: recorded" record wall "$tools/coroutines-linked" rounds=40 burn=4000 pause=500
check "... none is missing" none_is_missing wall
check "... its samples know the coroutine, each its own alone" samples_are_exact wall 20
check "losses are counted" losses_are_counted
check "each chunk is whole" chunks_are_whole
check "threads can be left out" threads_can_be_left_out
for version in 17 25; do
	if home=$(jdk $version); then
		check "JDK $version reads them" jdk_reads "$home" linked
	else
		skip "JDK $version reads them" "not installed"
	fi
done
finish
