#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demo server under load, by the wall clock: does the waiting route get the time that the
# server itself measured by CLOCK_MONOTONIC, and does all time add up? Shares are those of the
# routes in the time that requests took, running or not.
#
# Where threads wait for a CPU for three tenths of all time or more, shares of all time are shown
# and not judged: a look has to wait, too. What was waited in /wait lies between what it asked
# for and what it took, which is one and the same where no CPU has to be waited for: that is
# always judged.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"

requests=${WEFT_TEST_REQUESTS:-9000}
mix=/checkout=4,/compress=4,/search=4,/static=6,/wait=3
points=3
port=

start_server() { # ENGINES OPTIONS...
	rm -f "$work/port"
	"$weft" record -o "$work/$1.jfr" -e "$@" -- "$BUILD/examples/shop-server" -p 0 \
		-P "$work/port" -l "$work/$1.requests" >"$work/server.out" 2>"$work/$1.err" &
	weft_pid=$!
	started+=("$weft_pid")
	await 100 test -s "$work/port" || return 1
	port=$(cat "$work/port")
}

drive() {
	timeout -k 5 120 "$BUILD/examples/shop-load" -p "$port" -n "$requests" -t 60 -m "$mix"
}

stop_server() {
	kill -TERM "$weft_pid" && wait "$weft_pid"
}

record_shop() { # ENGINES OPTIONS...
	start_server "$@" || { show "$work/$1.err"; return 1; }
	drive && stop_server
}

report() {
	bounded "$weft" report --json --event wall "$@"
}

# ROUTE SECONDS, as the server's log has it; column 4: seconds that were not on a CPU.
own_time() { # LOG
	awk '!/^#/ { all[$2] += ($5 - $4) / 1e9; off[$2] += ($5 - $4 - $6) / 1e9 }
		END { for (r in all) print r, all[r], off[r] }' "$1" | sort
}

weft_time() { # FILE OPTIONS...
	report "$@" --by tag:route |
		jq -r '.rows[] | select(.key | startswith("/")) | "\(.key) \(.total_ns / 1e9)"' | sort
}

# Shares of the routes, at most $points apart.
shares_agree() { # ENGINES
	own_time "$work/$1.requests" >"$work/own"
	weft_time "$work/$1.jfr" >"$work/weft"
	join -a 1 -e 0 -o 0,1.2,2.2 "$work/own" "$work/weft" | awk -v points="$points" '
		{ route[NR] = $1; own[NR] = $2; weft[NR] = $3; owns += $2; wefts += $3 }
		END {
			if (!wefts || NR < 5) exit 1
			for (i = 1; i <= NR; i++) {
				a = 100 * own[i] / owns; b = 100 * weft[i] / wefts
				printf "%-12s %7.2f %7.2f %+7.2f\n", route[i], a, b, b - a
				if (b - a > points || a - b > points) bad = 1
			}
			exit bad
		}'
}

busy() { # ENGINES
	report "$work/$1.jfr" --where 'thread=worker-*' |
		jq '100 * .time.waiting_for_cpu_ns / .weight_ns | floor'
}

# What was blocked in /wait against the 20 ms that each of its requests sleeps, and what they took
# beyond their CPU time, as parts of the time of all requests.
waiting_agrees() { # ENGINES
	local blocked
	blocked=$(report "$work/$1.jfr" --where tag:route=/wait --where state=sleeping |
		jq .weight_ns)
	awk -v points="$points" -v weft="$blocked" -v asked="$(awk '$2 == "/wait" { n++ }
		END { print n * 0.020 }' "$work/$1.requests")" '
		{ all += $2 } $1 == "/wait" { own = $3 }
		END {
			from = 100 * asked / all; to = 100 * own / all; b = 100 * weft / 1e9 / all
			printf "waiting: server %.2f to %.2f %%, weft %.2f %%\n", from, to, b
			exit !(weft > 0) || b > to + points || b < from - points
		}' "$work/own"
}

# Every thread of the server lives as long as the recording: all states are all its time.
time_adds_up() { # ENGINES
	report "$work/$1.jfr" --by thread --where 'thread=worker-*' |
		jq -r '(.duration_ns / 1e9) as $d | .rows[] | "\(.key) \(.total_ns / 1e9) \($d)"' |
		awk '{ print; n++; if ($(NF - 1) < 0.9 * $NF || $(NF - 1) > 1.03 * $NF) bad = 1 }
			END { exit bad || n != 8 }'
}

waits_in_its_handler() { # ENGINES
	report "$work/$1.jfr" --by function --where tag:route=/wait --where state=sleeping |
		jq -r '(.weight_ns) as $all | .rows[] | select(.key == "handle_wait")
			| 100 * .total_ns / $all' | awk '{ print; got = $1 } END { exit !(got > 95) }'
}

events_of() { # FILE
	report "$1" | jq '.events["profiler.WallClockSample"].events'
}

java_counts() { # JDK ENGINES
	"$1/bin/jfr" summary "$work/$2.jfr" | awk '$1 == "profiler.WallClockSample" { print $2 }'
}

java_states() { # JDK ENGINES
	"$1/bin/jfr" print --events profiler.WallClockSample "$work/$2.jfr" >"$work/printed"
	grep -q '  state = "STATE_SLEEPING"' "$work/printed" &&
		grep -q '  state = "STATE_RUNNABLE"' "$work/printed" &&
		grep -q 'handle_wait()' "$work/printed" &&
		awk '$1 == "samples" { sum += $3 } END { print sum }' "$work/printed" >"$work/sum" &&
		same "$(report "$work/$2.jfr" | jq .samples)" "$(cat "$work/sum")"
}

converter_agrees() { # JAR ENGINES: also with --state
	local home
	home=$(jdk 25 || jdk 21 || jdk 17) || return 1
	for state in '' sleeping runnable; do
		"$home/bin/java" -jar "$1" -o collapsed ${state:+--state $state} "$work/$2.jfr" \
			"$work/collapsed" >/dev/null || return 1
		same "$(report "$work/$2.jfr" --where "state=${state:-*}" | jq .samples)" \
			"$(awk '{ sum += $NF } END { print sum + 0 }' "$work/collapsed")" || return 1
	done
}

check "the server is recorded by the wall clock, under load" \
	record_shop wall --wall-frequency 97 || finish
show "$work/wall.err"
own_time "$work/wall.requests" >"$work/own"
check "what /wait waited is what the server measured, within $points points" waiting_agrees wall
show "$work/check.out"
waited=$(busy wall)
note "threads waited for a CPU $waited % of the time"
if [ "$waited" -lt 30 ]; then
	check "each route has its share of the time that requests took, within $points points" \
		shares_agree wall
	show "$work/check.out"
else
	skip "each route has its share of the time that requests took" "the machine is busy"
	shares_agree wall >"$work/check.out" || true
	show "$work/check.out"
fi
check "of each thread, running, waiting for a CPU and blocked are all its time" time_adds_up wall
show "$work/check.out"
check "/wait waits in its handler" waits_in_its_handler wall
check "-e wall alone writes no sample of CPU time" same 0 "$("$tools/list-samples" "$work/wall.jfr" |
	wc -l)"
for version in 17 25; do
	if home=$(jdk $version); then
		check "JDK $version counts the same events" same "$(events_of "$work/wall.jfr")" \
			"$(java_counts "$home" wall)"
		check "JDK $version prints states, stacks and samples" java_states "$home" wall
	else
		skip "JDK $version reads it" "not installed"
	fi
done
jar=$(find "${M2_HOME:-$HOME/.m2}/repository/tools/profiler/jfr-converter" -name '*.jar' 2>/dev/null |
	sort | head -1)
if [ -n "$jar" ] && { jdk 25 || jdk 17; } >/dev/null; then
	check "async-profiler's converter counts the same samples, by state too" \
		converter_agrees "$jar" wall
else
	skip "async-profiler's converter counts the same" "its jar or a JDK is not here"
fi

requests=$((requests / 4))
check "both engines, and only threads that work for a request" record_shop cpu,wall \
	--wall-filter context --threads 'worker-*'
show "$work/cpu,wall.err"
own_time "$work/cpu,wall.requests" >"$work/own"
check "an idle worker gives no wall samples: all blocked time is in a context" same 0 "$(report \
	"$work/cpu,wall.jfr" --by tag:route --where state=sleeping |
	jq '[.rows[] | select(.key == "(none)") | .samples] | add // 0')"
check "no other thread is in the file" same 0 "$(bounded "$weft" report --json --event all \
	"$work/cpu,wall.jfr" --by thread |
	jq '[.rows[] | select(.key | startswith("worker-") | not)] | length')"
check "running time is the same by either engine" awk -v cpu="$(bounded "$weft" report --json \
	--event cpu "$work/cpu,wall.jfr" | jq .weight_ns)" -v wall="$(report "$work/cpu,wall.jfr" |
	jq .time.running_ns)" 'BEGIN {
		print cpu / 1e9, wall / 1e9
		exit !(cpu > 0) || (cpu > wall ? cpu - wall : wall - cpu) > 8 * 0.06e9 }'
show "$work/check.out"
finish
