#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs with a clock of their own: a library that locks in clock_gettime and tells another time
# (libfaketime, where it is installed), and a time namespace. They end, with their samples, whose
# times are the collector's.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"
patience=100 # what waits for a lock of its own waits for ever

user=$tools/clock-user

recorded() { # NAME COMMAND...
	local name=$1
	shift
	bounded "$weft" record -F 1000 -o "$work/$name.jfr" -- "$@" >"$work/$name" 2>"$work/$name.err" \
		</dev/null || {
		echo "status $?"
		cat "$work/$name" "$work/$name.err"
		return 1
	}
	grep '^done' "$work/$name"
}

asking() { # FILE: samples in the program's function
	"$tools/list-samples" "$work/$1.jfr" | grep -c ask_the_time
}

counter() { # FILE NAME
	"$weft" report "$work/$1.jfr" --json --top 0 | jq -r ".counters.$2 // 0"
}

# By another clock they would be a day away from the machine's own, which began with the machine.
of_today() {
	"$tools/list-samples" "$work/$1.jfr" | awk -F'\t' -v now="$(cut -d" " -f1 /proc/uptime)" '{ n++; away = now - $1 / 1e9 }
		away > 40000 || away < -40000 { bad++; print }
		END { print n " samples, " bad + 0 " of another day"; exit bad > 0 || n == 0 }' | tail -3
	return "${PIPESTATUS[1]}"
}

sound() { # NAME
	check "$1: sampled" at_least 50 "$(asking "$1")" # of 2 s of CPU time: 200 ticks at 100 Hz
	check "$1: no sample is refused" same "0 0" "$(counter "$1" invalid) $(counter "$1" mistimed)"
	check "$1: its samples are of today" of_today "$1"
}

check "a library locks in clock_gettime: the program ends" \
	recorded locked sh -c "LD_PRELOAD=$tools/libclock-lock.so:\$LD_PRELOAD exec $user"
sound locked

if have faketime; then
	check "libfaketime: the program ends" recorded faketime faketime -f '+3d' "$user"
	sound faketime
else
	skip "libfaketime" "it is not installed"
fi

away=
for how in "unshare -T" "unshare -rT"; do
	[ -z "$away" ] && $how --monotonic 100000 --boottime 100000 true 2>/dev/null && away=$how
done
if [ -n "$away" ]; then
	check "another time namespace: the program ends" \
		recorded away $away --monotonic 100000 --boottime 100000 "$user"
	check "... it saw that one's time" at_least 100000 "$(awk '/^done/ { print $2 }' "$work/away")"
	sound away
	check "typed events in another time namespace" bounded "$weft" record -o "$work/events.jfr" -- \
		$away --monotonic 100000 --boottime 100000 "$tools/nested-events" 1 4 2000
	check "... none is refused" same "0 0" "$(counter events events_invalid) $(counter events events_mistimed)"
	check "... they are there" at_least 1000 "$("$weft" print --json --events 'test.*' \
		"$work/events.jfr" | grep -c '"type"')"
else
	skip "another time namespace" "unshare -T is not allowed, or not known"
fi
finish
