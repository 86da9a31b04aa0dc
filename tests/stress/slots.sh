#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Slots for ever, and books that balance: thousands of threads alive, threads that end without
# a word, short threads without end, a ring that is full, slots that are stolen.
#
#   WEFT_LIVE=1500 WEFT_SHORT=12000   how many threads (make check-long: 12000 and 100000)
. "$(dirname "$0")/../acceptance/lib.sh"
have jq || skip_all "jq is not installed"
slots=$BUILD/tests/stress/slots
live=${WEFT_LIVE:-1500}
short=${WEFT_SHORT:-12000}
patience=${WEFT_PATIENCE:-120}
[ "$live" -le 4000 ] || patience=600

# NAME OPTIONS... -- COMMAND...: its output in NAME.out
record() {
	local name=$1
	shift
	bounded "$weft" record -o "$work/$name.jfr" "$@" >"$work/$name.out" 2>"$work/$name.err" || {
		cat "$work/$name.out" "$work/$name.err"
		return 1
	}
}

report() { # NAME: its head as JSON, in NAME.json
	"$weft" report "$work/$1.jfr" --json --top 1 >"$work/$1.json" || return 1
}

value() { # NAME MEMBER
	jq "$2 // 0" "$work/$1.json"
}

said() { # NAME WORD
	awk -v word="$2" '$1 == word { print $2 }' "$work/$1.out"
}

at_most() { # limit got
	awk -v limit="$1" -v got="$2" 'BEGIN { exit !(got ~ /^[0-9]+$/ && got + 0 <= limit + 0) }' || {
		printf 'expected at most %s, got %s\n' "$1" "$2"
		return 1
	}
}

balanced() { # NAME [LEAST]: of so many samples
	same true "$(jq ".books.balanced and .books.attempted >= ${2:-1}" "$work/$1.json")" || {
		"$weft" report "$work/$1.jfr" --counters
		return 1
	}
}

nothing_lost_for_a_slot() { # NAME
	same "0 0" "$(value "$1" .lost.no_slot) $(value "$1" .counters.context_slotless)"
}

shmem_of() {
	awk '/^RssShmem/ { print $2 }' "/proc/$1/status" 2>/dev/null
}

# While its threads live, and after the slots' memory is given back.
many_live() {
	"$weft" record -F 1000 -o "$work/live.jfr" -- "$slots" live "$live" "$work/go" \
		>"$work/live.out" 2>"$work/live.err" &
	local pid=$!
	started+=("$pid")
	await 1500 eval "grep -q . '$work/live.out' || ! kill -0 $pid" || return 1
	collector_kib=$(shmem_of "$pid")
	collector_holds=$(stat -L -c '%b' "$(memfd_of "$pid")" 2>/dev/null)
	touch "$work/go"
	wait "$pid" || {
		cat "$work/live.out" "$work/live.err"
		return 1
	}
	report live
}

memfd_of() { # PID: its session's memfd
	local fd
	for fd in /proc/"$1"/fd/*; do
		case $(readlink "$fd") in
		/memfd:weft-session*)
			printf '%s\n' "$fd"
			return
			;;
		esac
	done
}

memory_is_given_back() {
	note "program: $(said live peak_kib) KiB of session at its peak, $(said live left_kib) after"
	note "collector: ${collector_kib:-?} KiB after, its memfd ${collector_holds:-?} blocks"
	cat "$work/live.out"
	same "" "$(said live not_given_back)" &&
		at_most $(($(said live peak_kib) / 4 + 1024)) "${collector_kib:-999999999}" &&
		at_most $(($(said live peak_kib) / 2 + 2048)) "${collector_holds:-999999999}"
}

flat() { # WHAT: after the second half as after the first, but for what waits to be written
	local half end
	half=$(said short "half$1") end=$(said short "end$1")
	echo "half $half KiB, end $end KiB"
	at_most $((half + half / 10 + 4096)) "$end"
}

child_of() { # the program that weft runs
	awk '{ print $1 }' "/proc/$1/task/$1/children" 2>/dev/null
}

ticks_of() { # PID: CPU time, in ticks of 10 ms
	awk '{ print $14 + $15 }' "/proc/$1/stat" 2>/dev/null
}

full_ring() {
	local pid target until
	"$weft" record -F 1000 --ring 32K --stack raw -o "$work/full.jfr" -- "$tools/burn" 1.5 2 \
		>"$work/full.out" 2>"$work/full.err" &
	pid=$!
	started+=("$pid")
	await 300 eval '[ -n "$(child_of '$pid')" ]' || return 1
	target=$(child_of "$pid")
	started+=("$target")
	await 300 eval '[ "$(ticks_of '"$target"')" -gt 30 ]' || return 1
	kill -STOP "$pid"
	until=$(($(ticks_of "$target") + 100))
	await 600 eval '[ "$(ticks_of '"$target"')" -gt '"$until"' ]'
	kill -CONT "$pid"
	wait "$pid"
	report full && at_least 1 "$(value full .lost.ring_full)"
}

# Its first half of short threads is done: it is alone, and has used no CPU time for a second.
is_at_half_time() { # PID
	local used still=0
	used=$(ticks_of "$1")
	while [ "$still" -lt 10 ]; do
		sleep 0.1
		[ "$(ls "/proc/$1/task" | wc -l)" = 1 ] && [ "$(ticks_of "$1")" = "$used" ] || return 1
		still=$((still + 1))
	done
}

# RLIMIT_AS leaves the session a few hundred slots, for two thousand threads that nobody drains.
stealing() {
	(
		ulimit -v 1200000
		exec "$weft" record -F 1000 -o "$work/steal.jfr" -- "$slots" short 4000
	) >"$work/steal.out" 2>"$work/steal.err" &
	local pid=$! target
	started+=("$pid")
	await 300 eval '[ -n "$(child_of '$pid')" ]' || return 1
	target=$(child_of "$pid")
	await 600 eval '[ "$(ticks_of '"$target"')" -ge 3 ]' || return 1
	kill -STOP "$pid"
	await 100 is_at_half_time "$target"
	kill -CONT "$pid"
	wait "$pid" || cat "$work/steal.out" "$work/steal.err"
	report steal && at_least 1 "$(value steal .counters.slots_stolen)"
}

if check "$live threads alive at a time: all have a slot" many_live; then
	check "... and none was lost for want of one" nothing_lost_for_a_slot live
	check "... the slots are opened in blocks of 64" at_least $((live / 64)) "$(value live .counters.blocks_opened)"
	check "... all claims are in the histogram" at_least "$live" "$(value live '[.histograms.claim_ns[].count] | add')"
	check "... the books balance" balanced live
	check "... their memory is given back, on both sides" memory_is_given_back
fi
check "40 threads end by a raw exit: their slots are closed" record mute -F 1000 -- "$slots" mute 40
"$weft" report "$work/mute.jfr" --json --top 1 >"$work/mute.json" 2>/dev/null # there may be none
check "... counted" same 40 "$(value mute .counters.slots_reaped)"
check "... the books balance" balanced mute 0
# What is not written yet is in memory: chunks are short here.
check "$short short threads" record short -F 1000 --chunk-time 200ms -- "$slots" short "$short"
report short
note "program: $(said short half_kib) KiB at half time, $(said short end_kib) at the end;" \
	"collector: $(said short half_collector_kib), $(said short end_collector_kib)"
check "... none lost for want of a slot" nothing_lost_for_a_slot short
check "... no slot leaked" at_most 1 "$(value short .counters.slots_used)"
check "... the books balance, each slot's" balanced short
check "... closed one by one" at_least "$short" "$(value short .books.generations)"
check "... memory of the program: the second half as the first" flat _kib
check "... of the collector" flat _collector_kib
check "a collector that is stopped: rings are full" full_ring
check "... the books balance" balanced full
check "more threads than slots: slots are stolen" stealing
check "... the books balance" balanced steal
finish
