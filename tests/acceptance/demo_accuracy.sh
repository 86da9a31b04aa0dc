#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demo server under load: do the samples carry the right request, and do the routes'
# shares agree with what the server measures of itself? The number of requests is chosen for
# about twenty seconds of CPU time, which keeps the sampling error of a share below one point.
#
# What chance may do is told by the number of samples: 4.5 standard errors of each share, and half a
# point for what a request does before its span is set, on a busy machine or not. Where perf is
# refused samples are taken at ticks of the kernel, which requests fall in with where programs
# compete for the machine (docs/accuracy.md): then six points are the limit.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"

requests=${WEFT_TEST_REQUESTS:-48000}
record=$work/demo.jfr
port=

start_server() {
	"$weft" record -F 240 -o "$record" -- "$BUILD/examples/shop-server" -p 0 \
		-P "$work/port" -l "$work/requests" >"$work/server.out" 2>"$work/weft.err" &
	weft_pid=$!
	started+=("$weft_pid")
	await 100 test -s "$work/port" || return 1
	port=$(cat "$work/port")
}

drive() {
	timeout -k 5 120 "$BUILD/examples/shop-load" -p "$port" -n "$requests" -t 90
}

fetch_stats() {
	exec 3<>"/dev/tcp/127.0.0.1/$port" &&
		printf 'GET /stats HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3 &&
		sed '1,/^\r*$/d' <&3 >"$work/stats.json"
	exec 3>&-
	[ "$(jq -r '.routes | type' "$work/stats.json")" = array ]
}

stop_server() {
	kill -TERM "$weft_pid" && wait "$weft_pid"
}

clock() {
	"$weft" print --json --events weft.Clock "$record" |
		jq -r '[.recording.events[].values.clock] | last'
}

# Shares of the routes by `weft report` against /stats.
shares_agree() {
	bounded "$weft" report "$record" --by tag:route --json >"$work/report.json" || return 1
	jq -n -r --slurpfile own "$work/stats.json" --slurpfile weft "$work/report.json" '
		($own[0].routes | map(.cpu_ns) | add) as $cpu
		| ($weft[0].rows | map(select(.key | startswith("/")))) as $rows
		| ($rows | map(.samples) | add) as $samples
		| $own[0].routes[]
		| .route as $route
		| (100 * .cpu_ns / $cpu) as $a
		| (100 * (([$rows[] | select(.key == $route) | .samples] | add) // 0) / $samples) as $b
		| ($a * (100 - $a) / $samples | sqrt) as $error
		| [$route, $a, $b, $b - $a, 4.5 * $error + 0.5] | @tsv' >"$work/shares" || return 1
	cat "$work/shares"
	awk -v points="$points" '{ d = $4 < 0 ? -$4 : $4; most = points ? points : $5; if (d > most) bad = 1 }
		END { exit bad || NR < 5 }' "$work/shares"
}

check "the server starts under weft record" start_server || { show "$work/weft.err"; finish; }
check "the load generator gets only good answers" drive
check "the server tells its own CPU time by route" fetch_stats
check "SIGTERM to weft ends the server; its status is passed on" stop_server
show "$work/weft.err"
points=
[ "$(clock)" = hrtimer ] || points=6
note "the clock: $(clock)"
check "99 % of the samples below a handler carry the right span; shares within ${points:-5} points" \
	"$tools/check-demo" "$record" "$work/requests" 1000 "${points:-5}"
show "$work/check.out"
check "weft report --by tag:route agrees with /stats, chance left aside" shares_agree
show "$work/check.out"
finish
